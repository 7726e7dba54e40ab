//! Little's law: a free test of a closed loop's numbers.

/// Requests in flight, on average: throughput times response time (J. D. C. Little, *A proof for the queuing
/// formula L = λW*, Operations Research 9(3), 1961). In a closed loop without think time it equals the number
/// of connections; what is missing was spent in the client, or on connections that stood still.
#[must_use]
pub fn in_flight(per_second: f64, response_seconds: f64) -> f64 {
    per_second * response_seconds
}
