//! What is asked of the outcome of a load that met faults.

use crate::support::{ms, select, spec};
use load::{
    Outcome, Spec,
    null::NullServer,
    sample::{End, ErrorCount, StreamOutcome},
    spec::Stream,
};
use std::time::Duration;

/// What a busy machine may add to a time.
pub(crate) const SLACK: Duration = Duration::from_secs(3);
/// CR_SERVER_LOST: the connection broke, or was given up.
pub(crate) const LOST: u16 = 2013;

/// A closed loop of SELECTs over a few connections.
pub(crate) fn load_of(server: &NullServer, connections: u32, interval: Duration) -> Spec {
    let mut spec = spec(server.address(), Stream::new("main", select(), connections), interval);
    spec.connect_timeout = ms(300);
    spec
}

/// The only stream of a load that went on to its end, and whose books balance.
pub(crate) fn completed(outcome: &Outcome) -> &StreamOutcome {
    assert_eq!(outcome.end, End::Completed);
    let stream = &outcome.streams[0];
    let select = &stream.statements[0];
    assert_eq!(select.service.count(), select.count, "what failed has no latency");
    assert_eq!(stream.transactions.count, select.count);
    assert_eq!(stream.transactions_by_connection.iter().sum::<u64>(), select.count);
    for error in &stream.errors {
        assert!(error.first <= error.last && error.last <= outcome.interval + SLACK, "{error:?}");
        assert!(error.count > 0 && !error.message.is_empty(), "{error:?}");
    }
    stream
}

pub(crate) fn with_code(stream: &StreamOutcome, code: u16) -> Option<&ErrorCount> {
    stream.errors.iter().find(|error| error.code == code)
}

pub(crate) fn only_code(stream: &StreamOutcome, code: u16) -> &ErrorCount {
    let [error] = &stream.errors[..] else { panic!("one code: {:?}", stream.errors) };
    assert_eq!(error.code, code, "{error:?}");
    error
}
