//! Whether comparisons keep what they promise, from seconds to verdicts, by simulation: two servers that are
//! the same are called different no more often than stated, intervals hold the truth as often as stated, a
//! difference of twice the one that is stated as detectable is found, and whole ladders find more than rungs
//! alone. The rates are printed (`--nocapture`); docs/statistics.md has those of the long tests.

#![expect(clippy::print_stdout, reason = "the rates, for who looks at the test's output")]

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};
use stats::{Call, Judged, JudgedLadder, Ladder, Rule, judge, judge_ladders, knee, paired};

/// As a study has it silently: differences up to 3 % do not matter.
const RULE: Rule = Rule { level: 0.95, power: 0.9, relevant: 0.03 };
/// The bare test, which calls whatever is significant.
const BARE: Rule = Rule { relevant: 1e-9, ..RULE };
const RUNGS: usize = 8;
const SECONDS: usize = 20;
/// Throughput of the rungs, both servers alike: it is nearly flat from the fourth on, where the knee is found
/// now here, now there.
const LEVELS: [f64; RUNGS] = [1.0, 2.0, 5.0, 8.9, 9.4, 10.0, 9.9, 9.5];

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
    /// Servers are restarted in every block, and each start has a level of its own, at all rungs.
    Restarts,
    /// Noise grows tenfold from the first rung to the last.
    Rungs,
    /// What differs between servers differs from block to block, at all rungs alike, and little else does.
    Blocks,
    /// Each server is started once, with a level of its own: no repeat of the run can show it.
    OneStart,
}

const ALL: [Noise; 8] = [
    Noise::Seconds,
    Noise::Trials,
    Noise::Drift,
    Noise::Neighbours,
    Noise::Tails,
    Noise::Restarts,
    Noise::Rungs,
    Noise::Blocks,
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
/// `ratios` times as fast.
fn run(noise: Noise, repeats: usize, ratios: [f64; RUNGS], random: &mut Random) -> Vec<Vec<[f64; 2]>> {
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
                    Noise::Blocks => 0.02,
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
                    Noise::Blocks => 1.5 * starts[server] + 0.005 * random.normal(),
                    Noise::OneStart => once[server] + 0.01 * random.normal(),
                };
                let gain = if server == 1 { ratios[number].ln() } else { 0.0 };
                logs[server] = LEVELS[number].ln() + random.trial(deviation).ln() + level + gain;
            }
            rung.push(logs);
        }
    }
    rungs
}

/// Logarithms of the ratios, rung by rung.
fn ratios(run: &[Vec<[f64; 2]>]) -> Vec<Vec<f64>> {
    run.iter().map(|rung| rung.iter().map(|logs| logs[1] - logs[0]).collect()).collect()
}

/// All rungs of a run, judged as one family by Holm's correction alone.
fn by_holm(run: &[Vec<[f64; 2]>], rule: Rule) -> Vec<Judged> {
    judge(&paired(&ratios(run)), rule)
}

/// All rungs of a run as so many ladders of equal length, judged as one family.
fn judged(run: &[Vec<[f64; 2]>], ladders: usize, rule: Rule) -> Vec<JudgedLadder> {
    let ladder = |rungs: &[Vec<[f64; 2]>]| {
        let of_both = |rung: &Vec<[f64; 2]>| rung.iter().flatten().sum::<f64>() / rung.len() as f64 / 2.0;
        Ladder {
            rungs: ratios(rungs).into_iter().map(|logs| (0..).zip(logs).collect()).collect(),
            places: Some((0..rungs.len()).map(|place| place as f64).collect()),
            knee: knee(&rungs.iter().map(of_both).collect::<Vec<_>>()),
        }
    };
    judge_ladders(&run.chunks(RUNGS / ladders).map(ladder).collect::<Vec<_>>(), rule)
}

fn differs(judged: &Judged) -> bool {
    matches!(judged.call, Call::Higher | Call::Lower)
}

fn means(ladder: &JudgedLadder) -> impl Iterator<Item = &Judged> {
    ladder.whole.iter().chain(ladder.beyond.iter().map(|(_, mean)| mean))
}

/// Whether anything at all is called.
fn says_anything(ladders: &[JudgedLadder]) -> bool {
    let changes = |ladder: &JudgedLadder| ladder.change.is_some_and(|change| change.is_called);
    ladders.iter().any(|one| changes(one) || means(one).chain(&one.rungs).any(differs))
}

const SAME: [f64; RUNGS] = [1.0; RUNGS];

/// How often a server differs from itself.
#[derive(Debug, Default)]
struct Rates {
    /// Comparisons of rungs that are called different.
    rungs: f64,
    /// Runs in which anything is called, the run as one ladder and as two.
    any: [f64; 2],
    /// The same by Holm's correction of the rungs alone.
    any_by_holm: f64,
    /// Intervals that hold the truth: of rungs, of means.
    held: [f64; 2],
}

fn rates(noise: Noise, repeats: usize, runs: u64, rule: Rule) -> Rates {
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(97 + repeats as u64));
    let mut rates = Rates::default();
    let holds = |one: &&Judged| one.ratio.interval().is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high);
    for _ in 0..runs {
        let run = run(noise, repeats, SAME, &mut random);
        let [one, two] = [1, 2].map(|ladders| judged(&run, ladders, rule));
        let run_share = 1.0 / runs as f64;
        rates.rungs +=
            one[0].rungs.iter().filter(|one| differs(one)).count() as f64 * run_share / RUNGS as f64;
        for (any, said) in rates.any.iter_mut().zip([&one, &two]) {
            *any += f64::from(u8::from(says_anything(said))) * run_share;
        }
        let holm = by_holm(&run, rule);
        rates.any_by_holm += f64::from(u8::from(holm.iter().any(differs))) * run_share;
        rates.held[0] += one[0].rungs.iter().filter(holds).count() as f64 * run_share / RUNGS as f64;
        rates.held[1] += one[0].whole.iter().filter(holds).count() as f64 * run_share;
    }
    rates
}

/// Checks the promises; `chance` is what so few runs may miss them by.
fn check_rates(runs: u64, chance: f64) {
    for (noise, repeats) in ALL.into_iter().flat_map(|noise| [2, 3, 5].map(|repeats| (noise, repeats))) {
        let bare = rates(noise, repeats, runs, BARE);
        let ruled = rates(noise, repeats, runs, RULE);
        println!(
            "{noise:?}, {repeats} repeats: coverage of rungs {:.3}, of means {:.3}; the same called \
             different: rungs {:.4}, with 3 % that do not matter {:.4}; runs with any {:.3}, as two \
             ladders {:.3}, by Holm {:.3}; with 3 % that do not matter {:.3}, {:.3}, {:.3}",
            bare.held[0],
            bare.held[1],
            bare.rungs,
            ruled.rungs,
            bare.any[0],
            bare.any[1],
            bare.any_by_holm,
            ruled.any[0],
            ruled.any[1],
            ruled.any_by_holm,
        );
        let [rungs, means] = bare.held;
        if noise != Noise::Blocks {
            assert!((0.92..=0.98).contains(&rungs), "{noise:?}, {repeats}: coverage {rungs}");
        }
        assert!(means >= 0.94 - chance, "{noise:?}, {repeats}: coverage of means {means}");
        for any in bare.any {
            assert!(any <= 0.055 + chance, "{noise:?}, {repeats}: {any} of the runs call something");
        }
        assert!(ruled.rungs <= bare.rungs, "{noise:?}, {repeats}: {ruled:?} {bare:?}");
    }
    let one_start = rates(Noise::OneStart, 3, runs, RULE);
    println!("{:?}: the same called different {one_start:?}", Noise::OneStart);
    assert!(one_start.rungs <= 0.05, "{one_start:?}");
}

/// Where a true difference is.
struct Shape {
    name: &'static str,
    /// The true ratio at a rung, of the ratio that is asked for.
    at: fn(usize, f64) -> f64,
}

const SHAPES: [Shape; 4] = [
    Shape { name: "at all rungs", at: |_, ratio| ratio },
    Shape { name: "from the fifth rung on", at: |rung, ratio| if rung < 4 { 1.0 } else { ratio } },
    Shape { name: "at the last rung", at: |rung, ratio| if rung < RUNGS - 1 { 1.0 } else { ratio } },
    Shape {
        name: "one way below the fifth rung, the other way above",
        at: |rung, ratio| if rung < 4 { 1.0 / ratio } else { ratio },
    },
];

/// Share of runs that call a difference in the right direction anywhere, and of rungs with a difference that
/// are called: by Holm's correction alone, and by whole ladders first.
fn found(shape: fn(usize, f64) -> f64, ratio: f64, repeats: usize, runs: u64) -> [[f64; 2]; 2] {
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(23));
    let truth: [f64; RUNGS] = std::array::from_fn(|rung| shape(rung, ratio));
    let different = truth.iter().filter(|ratio| **ratio != 1.0).count() as f64;
    let mut found = [[0.0; 2]; 2];
    let right =
        |one: &Judged, truth: f64| differs(one) && truth != 1.0 && (one.ratio.value > 1.0) == (truth > 1.0);
    for _ in 0..runs {
        let run = run(Noise::Trials, repeats, truth, &mut random);
        let holm = by_holm(&run, RULE);
        let ladder = &judged(&run, 1, RULE)[0];
        let called = |rungs: &[Judged]| {
            rungs.iter().zip(truth).filter(|(one, truth)| right(one, *truth)).count() as f64
        };
        let mean = means(ladder).any(|one| differs(one) && one.ratio.value > 1.0);
        let any = [called(&holm) > 0.0, called(&ladder.rungs) > 0.0 || mean];
        for (place, rungs) in [&holm, &ladder.rungs].into_iter().enumerate() {
            found[place][0] += f64::from(u8::from(any[place])) / runs as f64;
            found[place][1] += called(rungs) / different / runs as f64;
        }
    }
    found
}

fn check_ladders(runs: u64) {
    for repeats in [2, 3, 5] {
        for Shape { name, at: shape } in SHAPES {
            for ratio in [1.05, 1.1, 1.2] {
                let [[holm, of_holm], [ladder, of_ladder]] = found(shape, ratio, repeats, runs);
                println!(
                    "{repeats} repeats, {ratio} times {name}: found by rungs alone {holm:.3} ({of_holm:.3} \
                     of the rungs), by ladders {ladder:.3} ({of_ladder:.3})"
                );
                if name == "at all rungs" && repeats > 2 {
                    assert!(
                        ladder >= holm - 0.02,
                        "{repeats}, {ratio}: {ladder} of ladders, {holm} of rungs"
                    );
                }
            }
        }
    }
}

/// Share of runs that find twice the difference that a run of the same kind stated as detectable: of rungs,
/// and of the means of whole ladders.
fn power(noise: Noise, repeats: usize, runs: u64) -> [f64; 2] {
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(11));
    let (mut found, mut all) = ([0.0; 2], [0.0; 2]);
    for _ in 0..runs {
        let stated = &judged(&run(noise, repeats, SAME, &mut random), 1, RULE)[0];
        let twice = |one: &Judged| 1.0 + 2.0 * one.detectable.expect("known of several trials");
        for rung in 0..RUNGS {
            let mut truth = SAME;
            truth[rung] = twice(&stated.rungs[rung]);
            let one = judged(&run(noise, repeats, truth, &mut random), 1, RULE)[0].rungs[rung];
            found[0] += f64::from(u8::from(one.call == Call::Higher));
            all[0] += 1.0;
        }
        let whole = twice(&stated.beyond.map(|(_, mean)| mean).or(stated.whole).expect("several rungs"));
        let again = &judged(&run(noise, repeats, [whole; RUNGS], &mut random), 1, RULE)[0];
        found[1] += f64::from(u8::from(means(again).any(|one| one.call == Call::Higher)));
        all[1] += 1.0;
    }
    [found[0] / all[0], found[1] / all[1]]
}

fn check_power(runs: u64, chance: f64) {
    for (noise, repeats) in ALL.into_iter().flat_map(|noise| [3, 5].map(|repeats| (noise, repeats))) {
        let [rungs, means] = power(noise, repeats, runs);
        println!(
            "{noise:?}, {repeats} repeats: twice the detectable difference found in {rungs:.3}, of means in \
             {means:.3}"
        );
        assert!(rungs >= 0.9 - chance, "{noise:?}, {repeats}: found in {rungs}");
        assert!(means >= 0.9 - chance, "{noise:?}, {repeats}: means found in {means}");
    }
}

#[test]
fn the_same_is_not_called_different_and_intervals_hold_the_truth() {
    check_rates(150, 0.05);
}

#[test]
#[ignore = "long: twenty times as many runs"]
fn the_same_is_not_called_different_and_intervals_hold_the_truth_long() {
    check_rates(3000, 0.01);
}

#[test]
fn twice_the_detectable_difference_is_found() {
    check_power(8, 0.2);
}

#[test]
#[ignore = "long: thirty times as many runs"]
fn twice_the_detectable_difference_is_found_long() {
    check_power(250, 0.05);
}

#[test]
fn whole_ladders_find_what_rungs_alone_do_not() {
    check_ladders(60);
}

#[test]
#[ignore = "long: twenty times as many runs"]
fn whole_ladders_find_what_rungs_alone_do_not_long() {
    check_ladders(1200);
}
