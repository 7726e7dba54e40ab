//! What other programs took from the machine: a claim that this may have decided is open, a clear one is not.

use super::*;
use crate::analyse::Open;

/// Claims about a run in which the pool has this many times the throughput of threads, and other programs
/// took this share of the processors in each trial.
fn judged(claims: &str, factor: f64, taken: f64) -> Vec<Judgement> {
    let mut noise = noise(11);
    let mut record = record(plan_with(claims, &[]), |treatment, _| {
        let is_pool = treatment.levels["server"] == "pool";
        (if is_pool { 10_000.0 * factor } else { 10_000.0 }) * (1.0 + 0.01 * noise.normal())
    });
    record.machine.cpus = 4;
    for trial in &mut record.trials {
        let TrialOutcome::Measured { doubts, .. } = &mut trial.outcome else { panic!("measured") };
        if taken > 0.0 {
            *doubts = vec![Doubt::new(Level::Suspicious, What::OtherLoad { processors: 4.0 * taken })];
        }
        let at = record.plan.warm_up + Duration::from_secs(1);
        let idle = 4.0 * (0.3 - taken).max(0.01) * (1.0 + 0.01 * noise.normal());
        let values = [
            ("machine/cpu_idle", idle),
            ("machine/cpu_user", 4.0 - idle),
            ("node/server/process/cpu_user", 1.0),
        ];
        let values = values.map(|(path, value)| (path.to_owned(), value)).into();
        trial.readings = vec![Reading { at, length: Duration::from_secs(1), values }].into();
    }
    analyse(&record).claims
}

#[test]
fn a_ratio_that_others_may_have_made_is_open_and_a_plain_one_is_not() {
    let claim =
        "[[claim]]\nsays = \"it\"\nof.server = \"pool\"\nover.server = \"threads\"\nratio = \">= 1\"\n";
    let of = |factor, taken| {
        let judgement = judged(claim, factor, taken).remove(0);
        assert!((judgement.parts[0].taken - taken).abs() < 1e-9, "{judgement:#?}");
        (judgement.verdict, judgement.open)
    };
    for factor in [0.8, 1.25] {
        let quiet = if factor < 1.0 { ClaimVerdict::Refuted } else { ClaimVerdict::Supported };
        assert_eq!(of(factor, 0.0), (quiet, None));
        assert_eq!(of(factor, 0.05), (quiet, None), "a twentieth does not explain a fifth");
        assert_eq!(of(factor, 0.4), (ClaimVerdict::Open, Some(Open::Disturbed)));
    }
    assert_eq!(of(0.2, 0.4), (ClaimVerdict::Refuted, None), "others took less than what is missing");
    assert_eq!(of(5.0, 0.4), (ClaimVerdict::Supported, None));
}

#[test]
fn idle_time_that_others_used_does_not_refute() {
    let claim = |value: &str| {
        format!("[[claim]]\nsays = \"it\"\nmetric = \"cpu_idle\"\nof.connections = 8\nvalue = \"{value}\"\n")
    };
    let claims = claim(">= 20%") + &claim("< 20%") + &claim(">= 60%");
    let of = |taken| judged(&claims, 1.0, taken).iter().map(|one| one.verdict).collect::<Vec<_>>();
    use ClaimVerdict::{Open, Refuted, Supported};
    assert_eq!(of(0.0), [Supported, Refuted, Refuted], "30 % were idle");
    assert_eq!(of(0.25), [Open, Open, Refuted], "5 % were, and 30 % with what others used");
}
