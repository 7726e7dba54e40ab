//! What the order of a run promises, without a server.

use super::*;
use crate::study::{self, Adjustments};
use crate::{
    plan::TRIAL_OVERHEAD,
    run::{Level, TrialFailure, counting::LEVEL},
};
use load::sample::{End, StreamOutcome};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

fn plan(measure: &str) -> Plan {
    let text = format!(
        "[server.a]\nproduct = \"mariadb\"\n[server.b]\nproduct = \"mariadb\"\nsettings = {{ back_log = 9 \
         }}\n[[stream]]\nworkload = \"oltp_point_select\"\n[vary]\n\"stream.connections\" = [1, 2, \
         4]\n[measure]\nwarm_up = \"0s\"\ninterval = \"1s\"\n{measure}\n"
    );
    let study = study::parse("test", "test.toml", &text, &Adjustments::default());
    Plan::from_study(&study.unwrap_or_else(|mistakes| panic!("{mistakes}")))
}

fn measured(per_second: f64, doubts: Vec<Doubt>) -> TrialOutcome {
    let mut stream =
        StreamOutcome { active: (Duration::ZERO, Duration::from_secs(1000)), ..Default::default() };
    stream.transactions.count = (per_second * 1000.0) as u64;
    let outcome = Outcome {
        streams: vec![stream],
        client: Default::default(),
        warm_up: None,
        interval: Duration::from_secs(1000),
        end: End::Completed,
        server_version: String::new(),
    };
    TrialOutcome::Measured { outcome: Box::new(outcome), doubts, following: None, sought: None }
}

fn busy() -> Vec<Doubt> {
    vec![Doubt::new(Level::Invalid, What::WorkerBusy { busy: 0.99 })]
}

/// Carries a queue out, `outcome` for a server, `after` trials at most; what ended, and how it ended.
fn carry_out(
    plan: &Plan,
    earlier: &Earlier,
    after: usize,
    outcome: &mut dyn FnMut(&Trial) -> TrialOutcome,
) -> (Vec<(Trial, TrialOutcome)>, Vec<Stop>) {
    let mut queue = TrialQueue::new(plan, earlier);
    let mut ended = earlier.to_vec();
    let each = plan.interval + TRIAL_OVERHEAD;
    while let Some((trial, because)) = queue.next(each * ended.len() as u32) {
        if ended.len() >= after {
            break;
        }
        assert_eq!(because.is_some(), trial.number as usize >= plan.trials.len(), "{trial:?}");
        let outcome = outcome(&trial);
        queue.ended(trial, &outcome);
        ended.push((trial, outcome));
    }
    (ended, queue.stops())
}

/// Noise by the trial's number: about a share of the value.
fn noisy(share: f64, trial: &Trial) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(u64::from(trial.number) + 77);
    normal(&mut random).mul_add(share, 1.0) * 1000.0
}

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let uniform = |random: &mut Xoshiro256PlusPlus| (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    (0..12).map(|_| uniform(random)).sum::<f64>() - 6.0
}

fn numbers(ended: &[(Trial, TrialOutcome)]) -> Vec<u32> {
    ended.iter().map(|(trial, _)| trial.number).collect()
}

#[test]
fn without_a_precision_it_is_the_plan() {
    let plan = plan("repeats = 3");
    let (ended, stops) = carry_out(&plan, &[], 1000, &mut |trial| measured(noisy(0.5, trial), Vec::new()));
    assert_eq!(numbers(&ended), (0..18).collect::<Vec<_>>());
    assert!(stops.is_empty());
}

#[test]
fn blocks_are_added_until_intervals_are_narrow_and_a_run_that_was_broken_off_decides_the_same() {
    let plan = plan("repeats = 3\nprecision = \"3%\"\nrepeats_max = 40");
    let mut outcome = |trial: &Trial| {
        let share = if trial.treatment == 1 { 0.08 } else { 0.01 };
        measured(noisy(share, trial), Vec::new())
    };
    let (whole, stops) = carry_out(&plan, &[], 1000, &mut outcome);
    assert!(whole.len() > 18, "{}", whole.len());
    assert!(
        stops.iter().all(|stop| stop.why == Why::Precise && stop.half_width.unwrap() <= 0.03),
        "{stops:?}"
    );
    let repeats = |treatment: usize| stops[treatment].repeats;
    assert!(repeats(1) > repeats(0) && repeats(0) >= 3, "{stops:?}");
    assert_eq!(repeats(4), repeats(1), "the other server at the same rung runs beside it");
    for after in [5, 18, 20, 23, whole.len() - 1] {
        let (part, _) = carry_out(&plan, &[], after, &mut outcome);
        let (resumed, again) = carry_out(&plan, &part, 1000, &mut outcome);
        assert_eq!(numbers(&resumed), numbers(&whole), "interrupted after {after}");
        assert_eq!(again, stops);
    }
}

#[test]
fn budget_and_most_repeats_end_it_and_say_so() {
    let mut outcome = |trial: &Trial| measured(noisy(0.2, trial), Vec::new());
    let most = plan("repeats = 2\nprecision = \"0.1%\"\nrepeats_max = 4");
    let (ended, stops) = carry_out(&most, &[], 1000, &mut outcome);
    assert_eq!(ended.len(), 4 * 6);
    assert!(stops.iter().all(|stop| stop.why == Why::RepeatsMax && stop.repeats == 4), "{stops:?}");
    // a block takes 6 x 1.3 s: three of them fit
    let budget = plan("repeats = 1\nprecision = \"0.1%\"\nbudget = \"25s\"");
    let (ended, stops) = carry_out(&budget, &[], 1000, &mut outcome);
    assert_eq!(ended.len(), 3 * 6);
    assert!(stops.iter().all(|stop| stop.why == Why::Budget), "{stops:?}");
}

#[test]
fn an_invalid_trial_is_repeated_at_the_end_of_its_block_but_not_what_is_always_invalid() {
    let plan = plan("repeats = 3\nrepeat_invalid = 2");
    let third = plan.trials[2];
    let (ended, _) = carry_out_unchecked(&plan, &mut |trial| {
        let spoilt = trial.number == 2 || trial.number == 18;
        measured(1000.0, if spoilt { busy() } else { Vec::new() })
    });
    // trial 2 and its first repeat are alike: no accident, so that there is no second one
    let again: Vec<&Trial> = ended.iter().filter(|trial| trial.again_of.is_some()).collect();
    assert_eq!(again.len(), 1);
    assert_eq!((again[0].again_of, again[0].treatment, again[0].block), (Some(2), third.treatment, 0));
    assert_eq!(ended[6].number, again[0].number, "at the end of its block");
    let (ended, _) = carry_out_unchecked(&plan, &mut |trial| {
        measured(1000.0, if trial.number == 9 { busy() } else { Vec::new() })
    });
    assert_eq!(ended.len(), 19);
    let (ended, _) = carry_out_unchecked(&plan, &mut |trial| {
        let failed = trial.treatment == 0;
        if failed { TrialOutcome::Failed(TrialFailure::told("no")) } else { measured(1000.0, Vec::new()) }
    });
    assert_eq!(ended.len(), 19, "what always fails is tried again once");
    let overloaded =
        What::Overloaded { offered_per_second: 9.0, started_per_second: 1.0, backlog: 8, skipped: 0 };
    let (ended, _) = carry_out_unchecked(&plan, &mut |_| {
        measured(1000.0, vec![Doubt::new(Level::Invalid, overloaded.clone())])
    });
    assert_eq!(ended.len(), 18, "overload is no accident");
}

fn carry_out_unchecked(
    plan: &Plan,
    outcome: &mut dyn FnMut(&Trial) -> TrialOutcome,
) -> (Vec<Trial>, Vec<Stop>) {
    let mut queue = TrialQueue::new(plan, &[]);
    let mut ended = Vec::new();
    while let Some((trial, _)) = queue.next(Duration::ZERO) {
        queue.ended(trial, &outcome(&trial));
        ended.push(trial);
    }
    (ended, queue.stops())
}

#[test]
fn restarts_are_spread_over_the_repeats() {
    let starts = |measure: &str, blocks: u32| -> Vec<u32> {
        let plan = plan(measure);
        (0..blocks).map(|block| plan.start_of(block)).collect()
    };
    assert_eq!(starts("repeats = 4", 4), [0, 0, 0, 0]);
    assert_eq!(starts("repeats = 4\nrestarts = 2", 6), [0, 0, 1, 1, 2, 2]);
    assert_eq!(starts("repeats = 3\nrestarts = 3", 3), [0, 1, 2]);
}

/// What stopping by width leaves of the intervals' level: studies of 6 treatments with noise between trials
/// of 3 %, stopped when all intervals reach no further than `precision`. Returns the share of intervals that
/// hold the truth, and the mean number of repeats.
fn coverage(precision: f64, least: usize, studies: usize) -> (f64, f64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let (mut held, mut repeats, mut intervals) = (0, 0, 0);
    for _ in 0..studies {
        let mut groups = vec![Vec::new(); 6];
        loop {
            let narrow = groups[0].len() >= least
                && half_widths(&groups).iter().all(|width| width.is_some_and(|width| width <= precision));
            if narrow || groups[0].len() >= 60 {
                break;
            }
            for group in &mut groups {
                group.push(normal(&mut random) * 0.03);
            }
        }
        for (group, spread) in groups.iter().zip(stats::moderate(&groups)) {
            let count = group.len() as u32;
            let centre = group.iter().sum::<f64>() / f64::from(count);
            let (low, high) = spread.unwrap().interval(centre, count, LEVEL).interval().unwrap();
            held += usize::from(low <= 0.0 && 0.0 <= high);
            intervals += 1;
            repeats += group.len();
        }
    }
    (held as f64 / intervals as f64, repeats as f64 / intervals as f64)
}

#[test]
fn stopping_by_width_leaves_the_intervals_their_level() {
    for (precision, least) in [(0.05, 3), (0.03, 3), (0.02, 3), (0.015, 2)] {
        let (held, repeats) = coverage(precision, least, 600);
        println!("precision {precision}, at least {least}: {held:.3} held the truth, {repeats:.1} repeats");
        assert!((0.935..=0.985).contains(&held), "precision {precision}: {held}");
    }
}

#[test]
fn what_failed_is_tried_once_more_when_a_run_is_resumed_and_never_of_a_server_that_is_given_up() {
    let plan = plan("repeats = 2\nrepeat_invalid = 0");
    let failed = |_: &Trial| TrialOutcome::Failed(TrialFailure::told("no server"));
    let well = |trial: &Trial| measured(noisy(0.01, trial), Vec::new());
    let broken = plan.trials[1].treatment;
    let mut some = |trial: &Trial| if trial.treatment == broken { failed(trial) } else { well(trial) };
    let (first, _) = carry_out(&plan, &[], 1000, &mut some);
    assert_eq!(first.len(), 12, "nothing is repeated without being asked");
    let (resumed, _) = carry_out(&plan, &first, 1000, &mut |trial| well(trial));
    let again: Vec<Option<u32>> = resumed[12..].iter().map(|(trial, _)| trial.again_of).collect();
    let missing: Vec<Option<u32>> = plan
        .trials
        .iter()
        .filter(|trial| trial.treatment == broken)
        .map(|trial| Some(trial.number))
        .collect();
    assert_eq!(again, missing);
    let (done, _) = carry_out(&plan, &resumed, 1000, &mut |trial| panic!("{trial:?} is not missing"));
    assert_eq!(done.len(), resumed.len());

    let plan = self::plan("repeats = 2\nrepeat_invalid = 3\nprecision = \"1%\"\nrepeats_max = 6");
    let mut queue = TrialQueue::new(&plan, &[]);
    let mut trials = 0;
    while let Some((trial, _)) = queue.next(Duration::ZERO) {
        // the second block is the first one in which it fails: no fault that lasts
        let is_dead = trial.treatment == broken && trial.block > 0;
        queue.ended(trial, &if is_dead { failed(&trial) } else { well(&trial) });
        if is_dead {
            queue.gives_up(trial.treatment);
            trials += 1;
        }
    }
    assert_eq!(trials, 1);
}
