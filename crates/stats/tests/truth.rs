//! Whether comparisons keep what they promise, from seconds to verdicts, by simulation: two servers that are
//! the same are called different no more often than stated, intervals hold the truth as often as stated, and
//! a difference of twice the one that is stated as detectable is found. The rates are printed
//! (`--nocapture`); docs/statistics.md has those of the long tests.

#![expect(clippy::print_stdout, reason = "the rates, for who looks at the test's output")]

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};
use stats::{Call, Difference, Judged, Rule, judge, moderate};

/// As a study has it without a word: differences up to 3 % do not matter.
const RULE: Rule = Rule { level: 0.95, power: 0.9, relevant: 0.03 };
/// The bare test, which calls whatever is significant.
const BARE: Rule = Rule { relevant: 1e-9, ..RULE };
const RUNGS: usize = 8;
const SECONDS: usize = 20;

/// What makes trials of the same server differ.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Noise {
    /// Nothing but the seconds, each of which depends on the last one.
    Seconds,
    /// Each trial has a level of its own.
    Trials,
    /// The machine wanders, and trials that follow each other share where it is.
    Drift,
    /// One trial in five loses a twentieth to a neighbour on the machine.
    Neighbours,
    /// Levels of trials have heavy tails.
    Tails,
    /// Servers are started anew in every block, and each start has a level of its own, at all rungs.
    Restarts,
    /// Noise grows tenfold from the first rung to the last.
    Rungs,
    /// Each server is started once, with a level of its own: no repeat of the run can show it.
    OneStart,
}

const ALL: [Noise; 7] = [
    Noise::Seconds,
    Noise::Trials,
    Noise::Drift,
    Noise::Neighbours,
    Noise::Tails,
    Noise::Restarts,
    Noise::Rungs,
];

struct Random(Xoshiro256PlusPlus);

impl Random {
    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Student's t with three degrees of freedom, scaled to a standard deviation of 1.
    fn heavy(&mut self) -> f64 {
        let chi: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (chi / 3.0).sqrt() / 3.0_f64.sqrt()
    }

    /// Mean of the seconds of a trial: a first-order autoregressive series around 1.
    fn trial(&mut self, deviation: f64) -> f64 {
        let correlation: f64 = 0.6;
        let mut state = self.normal();
        let mut sum = 0.0;
        for _ in 0..SECONDS {
            sum += 1.0 + deviation * state;
            state = correlation * state + (1.0 - correlation * correlation).sqrt() * self.normal();
        }
        sum / SECONDS as f64
    }
}

/// One run: for each rung the logarithms of both servers' throughput, block by block. The second one is
/// `ratio` times as fast.
fn run(noise: Noise, repeats: usize, ratio: f64, random: &mut Random) -> Vec<Vec<[f64; 2]>> {
    let mut drift = 0.0;
    let once = [random.normal(), random.normal()].map(|start| 0.01 * start);
    let mut rungs = vec![Vec::new(); RUNGS];
    for block in 0..repeats {
        let starts = [random.normal(), random.normal()].map(|start| 0.02 * start);
        for (number, rung) in rungs.iter_mut().enumerate() {
            let mut logs = [0.0; 2];
            // A B in one block, B A in the next
            for place in 0..2 {
                let server = (place + block) % 2;
                drift += 0.005 * random.normal();
                let deviation = match noise {
                    Noise::Rungs => 0.02 * 10_f64.powf(number as f64 / (RUNGS - 1) as f64),
                    _ => 0.05,
                };
                let level = match noise {
                    Noise::Seconds | Noise::Rungs => 0.0,
                    Noise::Trials => 0.03 * random.normal(),
                    Noise::Drift => drift,
                    Noise::Neighbours if random.uniform() < 0.2 => -0.05,
                    Noise::Neighbours => 0.01 * random.normal(),
                    Noise::Tails => 0.03 * random.heavy(),
                    Noise::Restarts => starts[server] + 0.01 * random.normal(),
                    Noise::OneStart => once[server] + 0.01 * random.normal(),
                };
                let gain = if server == 1 { ratio.ln() } else { 0.0 };
                logs[server] = random.trial(deviation).ln() + level + gain;
            }
            rung.push(logs);
        }
    }
    rungs
}

/// All rungs of a run, judged as one family.
fn judged(run: &[Vec<[f64; 2]>], rule: Rule) -> Vec<Judged> {
    let groups: Vec<Vec<f64>> =
        run.iter().map(|rung| rung.iter().map(|logs| logs[1] - logs[0]).collect()).collect();
    let mean = |group: &Vec<f64>| group.iter().sum::<f64>() / group.len() as f64;
    let differences: Vec<Difference> = groups
        .iter()
        .zip(moderate(&groups))
        .map(|(group, spread)| Difference::paired(mean(group), spread, group.len() as u32))
        .collect();
    judge(&differences, rule)
}

fn differs(judged: &Judged) -> bool {
    matches!(judged.call, Call::Higher | Call::Lower)
}

/// Share of comparisons of a server with itself that are called different, of runs in which any is, and of
/// intervals that hold the truth.
fn rates(noise: Noise, repeats: usize, runs: u64, rule: Rule) -> [f64; 3] {
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(97 + repeats as u64));
    let (mut different, mut any, mut held) = (0, 0, 0);
    for _ in 0..runs {
        let judged = judged(&run(noise, repeats, 1.0, &mut random), rule);
        let called = judged.iter().filter(|one| differs(one)).count() as u64;
        different += called;
        any += u64::from(called > 0);
        let holds = |one: &&Judged| one.ratio.interval().is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high);
        held += judged.iter().filter(holds).count() as u64;
    }
    let all = (runs * RUNGS as u64) as f64;
    [different as f64 / all, any as f64 / runs as f64, held as f64 / all]
}

fn check_rates(runs: u64) {
    for (noise, repeats) in ALL.into_iter().flat_map(|noise| [2, 3, 5].map(|repeats| (noise, repeats))) {
        let [bare, any, coverage] = rates(noise, repeats, runs, BARE);
        let [different, ..] = rates(noise, repeats, runs, RULE);
        println!(
            "{noise:?}, {repeats} repeats: coverage {coverage:.3}; the same called different {bare:.4} (in \
             {any:.3} of the runs), with 3 % that do not matter {different:.4}"
        );
        assert!((0.92..=0.98).contains(&coverage), "{noise:?}, {repeats}: coverage {coverage}");
        assert!(bare <= 0.05 && different <= bare, "{noise:?}, {repeats}: {bare} {different} different");
    }
    let [different, any, _] = rates(Noise::OneStart, 3, runs, RULE);
    println!("{:?}: the same called different {different:.4} (in {any:.3} of the runs)", Noise::OneStart);
    assert!(different <= 0.05, "{different}");
}

/// Share of runs that find twice the difference that a run of the same kind stated as detectable.
fn power(noise: Noise, repeats: usize, runs: u64) -> f64 {
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(11));
    let (mut found, mut all) = (0, 0);
    for _ in 0..runs {
        let stated = judged(&run(noise, repeats, 1.0, &mut random), RULE);
        for (rung, stated) in stated.iter().enumerate() {
            let ratio = 1.0 + 2.0 * stated.detectable.expect("known of several trials");
            let one = judged(&run(noise, repeats, ratio, &mut random), RULE)[rung];
            found += u64::from(one.call == Call::Higher);
            all += 1;
        }
    }
    found as f64 / all as f64
}

fn check_power(runs: u64) {
    for (noise, repeats) in ALL.into_iter().flat_map(|noise| [3, 5].map(|repeats| (noise, repeats))) {
        let found = power(noise, repeats, runs);
        println!("{noise:?}, {repeats} repeats: twice the detectable difference found in {found:.3}");
        assert!(found >= 0.9, "{noise:?}, {repeats}: found in {found}");
    }
}

#[test]
fn the_same_is_not_called_different_and_intervals_hold_the_truth() {
    check_rates(150);
}

#[test]
#[ignore = "long: twenty times as many runs"]
fn the_same_is_not_called_different_and_intervals_hold_the_truth_long() {
    check_rates(3000);
}

#[test]
fn twice_the_detectable_difference_is_found() {
    check_power(8);
}

#[test]
#[ignore = "long: thirty times as many runs"]
fn twice_the_detectable_difference_is_found_long() {
    check_power(250);
}
