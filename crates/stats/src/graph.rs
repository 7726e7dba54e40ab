//! Hypotheses that hand on what they may risk: each has a share of the risk, and once it is rejected, its
//! share goes to others along weighted arrows. Bonferroni's, Holm's, fixed-sequence and gatekeeping
//! procedures are graphs of this kind. All of them keep the risk of any false rejection, however the
//! hypotheses depend on each other.
//!
//! Source: F. Bretz, W. Maurer, W. Brannath, M. Posch, *A graphical approach to sequentially rejective
//! multiple test procedures*, Statistics in Medicine 28, 2009, algorithms 1 and 2.

/// Hypotheses, by number.
#[derive(Debug, Clone)]
pub(crate) struct Graph {
    /// Share of the risk that each has at first; together 1 at most.
    shares: Vec<f64>,
    /// Which part of its share each hands on to each other, row by row; a row sums to 1 at most.
    arrows: Vec<Vec<f64>>,
}

impl Graph {
    /// `count` hypotheses without shares and arrows.
    pub(crate) fn new(count: usize) -> Self {
        Self { shares: vec![0.0; count], arrows: vec![vec![0.0; count]; count] }
    }

    pub(crate) fn share(&mut self, of: usize, share: f64) {
        self.shares[of] = share;
    }

    /// What `from` hands on: `part` of it to `to`, in equal parts.
    pub(crate) fn hands_on(&mut self, from: usize, to: Vec<usize>, part: f64) {
        let each = part / to.len().max(1) as f64;
        for one in to {
            self.arrows[from][one] = each;
        }
    }

    /// The smallest risk at which each is rejected.
    pub(crate) fn adjusted(mut self, p_values: &[f64]) -> Vec<f64> {
        assert_eq!(p_values.len(), self.shares.len(), "a p-value for each hypothesis");
        let mut adjusted = vec![1.0; p_values.len()];
        let mut left: Vec<usize> = (0..p_values.len()).collect();
        let mut highest = 0.0_f64;
        while let Some(next) = self.first(&left, p_values) {
            highest = highest.max(self.asks(next, p_values)).min(1.0);
            adjusted[next] = highest;
            left.retain(|&other| other != next);
            self.remove(next, &left);
        }
        adjusted
    }

    /// The risk at which a hypothesis would be rejected now.
    fn asks(&self, one: usize, p_values: &[f64]) -> f64 {
        if self.shares[one] > 0.0 { p_values[one] / self.shares[one] } else { f64::INFINITY }
    }

    fn first(&self, left: &[usize], p_values: &[f64]) -> Option<usize> {
        let asks = |one: &usize| self.asks(*one, p_values);
        left.iter().copied().min_by(|a, b| asks(a).total_cmp(&asks(b))).filter(|one| asks(one) <= 1.0)
    }

    /// Takes a hypothesis out: who would have got from it gets what it would have handed on.
    fn remove(&mut self, gone: usize, left: &[usize]) {
        for &one in left {
            self.shares[one] += self.shares[gone] * self.arrows[gone][one];
        }
        let old = self.arrows.clone();
        for &from in left {
            let back = old[from][gone] * old[gone][from];
            for &to in left {
                self.arrows[from][to] = if from == to || back >= 1.0 {
                    0.0
                } else {
                    (old[from][to] + old[from][gone] * old[gone][to]) / (1.0 - back)
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::holm;

    fn of_holm(count: usize) -> Graph {
        let mut graph = Graph::new(count);
        for one in 0..count {
            graph.share(one, 1.0 / count as f64);
            graph.hands_on(one, (0..count).filter(|&other| other != one).collect(), 1.0);
        }
        graph
    }

    #[test]
    fn equals_that_hand_on_to_all_others_are_holms() {
        for p_values in [vec![0.01, 0.04, 0.03, 0.005, 0.5], vec![0.02], vec![0.9, 0.1], vec![]] {
            let (ours, theirs) = (of_holm(p_values.len()).adjusted(&p_values), holm(&p_values));
            for (one, other) in ours.iter().zip(&theirs) {
                assert!((one - other).abs() < 1e-12, "{ours:?} {theirs:?}");
            }
        }
    }

    /// The source's example of two doses and two outcomes, worked by hand: H1 at 0.02; then H2 has 0.75 and
    /// asks for 0.0267, H3 has 0.25 and asks for 0.02; then H2 has all and asks for 0.02; then H4 for 0.5.
    #[test]
    fn a_gatekeeper_agrees_with_what_is_worked_by_hand() {
        let mut graph = Graph::new(4);
        graph.share(0, 0.5);
        graph.share(1, 0.5);
        graph.hands_on(0, vec![1, 2], 1.0);
        graph.hands_on(1, vec![0, 3], 1.0);
        graph.hands_on(2, vec![1], 1.0);
        graph.hands_on(3, vec![0], 1.0);
        let adjusted = graph.adjusted(&[0.01, 0.02, 0.005, 0.5]);
        for (ours, theirs) in adjusted.iter().zip([0.02, 0.02, 0.02, 0.5]) {
            assert!((ours - theirs).abs() < 1e-12, "{adjusted:?}");
        }
    }

    #[test]
    fn a_sequence_stops_at_the_first_that_is_not_rejected() {
        let mut graph = Graph::new(3);
        graph.share(0, 1.0);
        graph.hands_on(0, vec![1], 1.0);
        graph.hands_on(1, vec![2], 1.0);
        assert_eq!(graph.clone().adjusted(&[0.01, 0.2, 0.001]), [0.01, 0.2, 0.2]);
        assert_eq!(graph.adjusted(&[0.03, 0.01, 0.02]), [0.03, 0.03, 0.03]);
    }
}
