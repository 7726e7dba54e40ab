//! The highest rate that keeps an objective, found with as few and short loads as the noise allows. Pure
//! logic over a function that runs a rate and reports what came of it, so that simulated servers can test it.
//! It knows neither engine nor clock.
//!
//! 1. *Bracket*: from a first guess up or down by a factor, until one rate keeps the objective and one does
//!    not. The only upper bound is `Bounds::highest`, which no server reaches: what a closed loop did says
//!    little about a server that was cold, or that does less the more is under way.
//! 2. *Narrow*: halve the bracket (in logarithms) until its ends are `RESOLUTION` apart. A result so close to
//!    its limit that noise may have decided, or one that other virtual machines disturbed, is repeated, and
//!    the majority counts.
//! 3. *Confirm*: longer loads at the lower end must all keep it; otherwise a step down, each longer than the
//!    last.
//! 4. *Above*: at `ABOVE` times that rate, most loads must break it. Otherwise the earlier breaks came from
//!    the server's past (it was cold), and the bracket opens upwards again, in growing steps.
//! 5. *Beyond*: after a gentle load, clearly more is offered once. A server that sustains it has two states:
//!    the rate that was found is what it sustains after an overload, and both are reported.

mod objective;

pub use objective::{Error as ObjectiveError, Objective, Objectives};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The bracket's ends when narrowing stops.
const RESOLUTION: f64 = 1.05;
/// Where it is shown that more is too much.
const ABOVE: f64 = 1.1;
/// Step of the bracket's search upwards, and downwards.
const WIDEN: (f64, f64) = (1.5, 0.5);
/// Value divided by limit between which a result may be luck: the 99th percentile of some thousand requests
/// varies by about a fifth near saturation.
const UNSURE: std::ops::Range<f64> = 0.8..1.25;
/// Times that an unsure rate is asked; odd, so that there is a majority.
const ASKED: usize = 3;
/// Longer loads that must keep the objective, and longer loads above it of which most must break it.
const CONFIRMATIONS: usize = 3;
/// Loads after which a search has failed: twice what most need where noise is large.
const PROBES_MAX: usize = 60;
/// Times that a rate above is raised where one that was known to break the objective has kept it by luck.
const RAISED_MAX: usize = 3;
/// Largest step of a bracket that opens upwards again.
const STEP_MAX: f64 = 2.0;
/// Share of the rate that was found which lets a server recover.
const GENTLE: f64 = 0.1;

/// A load to be offered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// Starts in a second.
    pub rate: f64,
    /// What for.
    pub purpose: Purpose,
    /// Whether it must have as many transactions as needed, however long that takes: a shorter one has told
    /// nothing, or must be the last word.
    pub patient: bool,
}

/// What a load is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To find a rate that keeps the objective and one that does not.
    Bracket,
    /// To bring the two together.
    Narrow,
    /// To confirm the rate that was found.
    Confirm,
    /// To show that more is too much.
    Above,
    /// To let the server recover from what it was offered before.
    Rest,
    /// To see whether it bears clearly more after that.
    Beyond,
}

impl Purpose {
    /// As results have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bracket => "bracket",
            Self::Narrow => "narrow",
            Self::Confirm => "confirm",
            Self::Above => "above",
            Self::Rest => "rest",
            Self::Beyond => "beyond",
        }
    }

    /// Whether its loads are longer.
    #[must_use]
    pub fn is_long(self) -> bool {
        matches!(self, Self::Confirm | Self::Above)
    }

    /// Whether a search can do without it where time is short.
    #[must_use]
    pub fn can_be_skipped(self) -> bool {
        matches!(self, Self::Narrow | Self::Rest | Self::Beyond)
    }
}

/// What a load says of the objectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All are kept.
    Kept,
    /// One is not.
    Broken,
    /// It held too few transactions to say.
    CannotTell,
}

/// What the function that offers a load answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Offered {
    /// It was carried out.
    Seen(Observation),
    /// There is no time for it; only for what [`Purpose::can_be_skipped`].
    Skipped,
    /// The search is to end here.
    Ended(Why),
}

/// Why a search did not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The user asked for it.
    Interrupted,
    /// Its time was over.
    OutOfTime,
}

/// What came of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// What it says.
    pub verdict: Verdict,
    /// One for each objective, in their order and unit.
    pub values: Vec<f64>,
    /// More was offered than could start: none of its latencies means anything.
    pub overloaded: bool,
    /// The client itself was at its limit.
    pub client_limited: bool,
    /// Without the wait for a free connection, the objective would have been kept.
    pub waited: bool,
    /// Neighbours took processors away.
    pub disturbed: bool,
}

/// A load and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// What was offered.
    pub probe: Probe,
    /// What came of it.
    pub observation: Observation,
}

impl Tried {
    /// Whether every objective was kept.
    #[must_use]
    pub fn kept(&self) -> bool {
        self.observation.verdict == Verdict::Kept
    }

    fn broken(&self) -> bool {
        self.observation.verdict == Verdict::Broken
    }
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// `rate` was kept by all confirming loads, `above` broken by most.
    Found {
        /// Starts in a second.
        rate: f64,
        /// Starts in a second.
        above: f64,
    },
    /// Even this rate, the lowest that was allowed, does not keep the objective.
    NothingKeeps {
        /// Starts in a second.
        lowest: f64,
    },
    /// Even the highest rate allowed keeps it, and no load broke it.
    NothingBreaks {
        /// Starts in a second.
        highest: f64,
    },
    /// Loads at this rate, as long as they may be, hold too few transactions to say anything.
    CannotTell {
        /// Starts in a second.
        rate: f64,
    },
    /// It was ended before.
    Unfinished {
        /// Why.
        why: Why,
        /// Highest rate that all confirming loads kept, starts in a second; `None`: none was confirmed yet.
        confirmed: Option<f64>,
    },
    /// Noise: no rate was confirmed within the loads that were allowed.
    Unsteady {
        /// The best guess, starts in a second.
        rate: f64,
    },
}

/// A search from its first load to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// How it ended.
    pub ending: Ending,
    /// Every load, in order.
    pub tried: Vec<Tried>,
    /// Rate that it sustained after a gentle load although the result is clearly lower: it has two states.
    pub from_rest: Option<f64>,
}

impl Report {
    /// Whether what broke the objective was (also) the client: then the rate is the client's limit, not the
    /// server's.
    #[must_use]
    pub fn client_limited(&self) -> bool {
        self.breaking().any(|tried| tried.observation.client_limited)
    }

    /// Whether most of what broke the objective was the wait for a free connection.
    #[must_use]
    pub fn waited(&self) -> bool {
        let (all, waited) = self
            .breaking()
            .fold((0, 0), |(all, waited), tried| (all + 1, waited + usize::from(tried.observation.waited)));
        waited * 2 > all
    }

    /// Whether neighbours disturbed most of the loads that broke the objective.
    #[must_use]
    pub fn disturbed(&self) -> bool {
        let (all, disturbed) = self.breaking().fold((0, 0), |(all, disturbed), tried| {
            (all + 1, disturbed + usize::from(tried.observation.disturbed))
        });
        disturbed * 2 > all
    }

    /// The loads that show where the limit is: those above what was found, without those far beyond.
    fn breaking(&self) -> impl Iterator<Item = &Tried> {
        let (found, highest) = match self.ending {
            Ending::Found { rate, above } => (rate, above * RESOLUTION),
            _ => (0.0, f64::INFINITY),
        };
        let is_near = move |rate: f64| rate > found && rate <= highest;
        self.tried.iter().filter(move |tried| tried.broken() && is_near(tried.probe.rate))
    }
}

/// Between which rates is searched, and where to begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Where to begin: a share of what a closed loop reached.
    pub first: f64,
    /// Lowest rate worth trying.
    pub lowest: f64,
    /// Highest rate worth trying: more than any server sustains, since a search that ends there says little.
    pub highest: f64,
}

/// How far a search is, told before each load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlook {
    /// Loads that are over.
    pub done: usize,
    /// Shorter loads that probably come, this one included.
    pub short_left: usize,
    /// Longer ones, this one included.
    pub long_left: usize,
    /// Highest rate that has kept the objective, and lowest that has not, as far as known.
    pub between: (Option<f64>, Option<f64>),
}

/// Searches for the highest rate that keeps `objectives`. `offer` runs a load.
///
/// # Errors
/// Those of `offer`, as they are.
pub fn search<E>(
    bounds: Bounds,
    objectives: &Objectives,
    offer: &mut dyn FnMut(Probe, Outlook) -> Result<Offered, E>,
) -> Result<Report, E> {
    let mut search = Search { bounds, objectives, offer, low: None, high: None, tried: Vec::new() };
    let (ending, from_rest) = match search.conduct() {
        Ok(never) => match never {},
        Err(Halt::Failed(error)) => return Err(error),
        Err(Halt::Ended(ending)) => (ending, None),
        Err(Halt::Found { rate, above }) => (Ending::Found { rate, above }, search.beyond(rate, above)?),
        // only what can do without it is told so
        Err(Halt::Skipped) => (search.unfinished(Why::OutOfTime), None),
    };
    Ok(Report { ending, tried: search.tried, from_rest })
}

/// What ends a search, or a part of it.
enum Halt<E> {
    Failed(E),
    Ended(Ending),
    Found { rate: f64, above: f64 },
    Skipped,
}

/// A search goes on until something halts it.
enum Never {}

struct Search<'a, E> {
    bounds: Bounds,
    objectives: &'a Objectives,
    offer: &'a mut dyn FnMut(Probe, Outlook) -> Result<Offered, E>,
    /// Highest rate that has kept the objective.
    low: Option<f64>,
    /// Lowest rate above it that has not.
    high: Option<f64>,
    tried: Vec<Tried>,
}

impl<E> Search<'_, E> {
    fn conduct(&mut self) -> Result<Never, Halt<E>> {
        let Bounds { first, lowest, highest } = self.bounds;
        let (mut rate, mut step) = (round(first).clamp(lowest, highest), WIDEN.0);
        loop {
            self.bracket(rate, step)?;
            self.narrow()?;
            let confirmed = self.settle()?;
            let kept = self.above(confirmed)?;
            (self.low, self.high) = (Some(kept), None);
            (rate, step) = (round((kept * ABOVE).max(kept + 1.0)).min(highest), ABOVE);
        }
    }

    /// Finds both ends, from a rate up in growing steps or down.
    fn bracket(&mut self, from: f64, step: f64) -> Result<(), Halt<E>> {
        let Bounds { lowest, highest, .. } = self.bounds;
        let (mut rate, mut step, mut has_returned) = (from, step, false);
        loop {
            // that the highest keeps it is an answer, and is confirmed as such
            let kept = self.keeps(rate, Purpose::Bracket)?
                && (rate < highest || self.count_kept(rate, Purpose::Confirm, 1)? == CONFIRMATIONS);
            if kept {
                self.low = Some(rate);
                // what was broken at a lower rate before has been disproved
                self.high = self.high.filter(|high| *high > rate);
            } else {
                self.high = Some(rate);
            }
            if self.low.is_some() && self.high.is_some() {
                return Ok(());
            }
            if kept && rate >= highest {
                let has_broken = self.tried.iter().any(Tried::broken);
                let ending = Ending::NothingBreaks { highest };
                return Err(Halt::Ended(if has_broken { Ending::Unsteady { rate } } else { ending }));
            }
            rate = if kept {
                let next = round((rate * step).max(rate + 1.0));
                step = (step * step).clamp(step, STEP_MAX.max(step));
                next.min(highest)
            } else if rate > lowest {
                round(rate * WIDEN.1).max(lowest)
            } else if !has_returned && from > lowest {
                // a server that was cold when the search began is not any more
                has_returned = true;
                from
            } else {
                return Err(Halt::Ended(Ending::NothingKeeps { lowest }));
            };
        }
    }

    fn narrow(&mut self) -> Result<(), Halt<E>> {
        while let (Some(low), Some(high)) = (self.low, self.high) {
            let middle = round((low * high).sqrt());
            if high / low <= RESOLUTION || middle <= low || middle >= high {
                break;
            }
            match self.keeps(middle, Purpose::Narrow) {
                Ok(true) => self.low = Some(middle),
                Ok(false) => self.high = Some(middle),
                Err(Halt::Skipped) => break,
                Err(halt) => return Err(halt),
            }
        }
        Ok(())
    }

    /// Confirms the lower end, moving down as long as that fails.
    fn settle(&mut self) -> Result<f64, Halt<E>> {
        let lowest = self.bounds.lowest;
        let mut rate = self.low.unwrap_or(lowest);
        let mut steps_down = 0;
        while self.count_kept(rate, Purpose::Confirm, 1)? < CONFIRMATIONS {
            if rate <= lowest {
                return Err(Halt::Ended(Ending::NothingKeeps { lowest: rate }));
            }
            self.high = Some(rate);
            // where the latency hardly depends on the rate, small steps would need many loads
            steps_down += 1;
            rate = round(rate / RESOLUTION.powi(steps_down)).max(lowest);
            self.low = Some(rate);
        }
        Ok(rate)
    }

    /// Shows that more than `rate` is too much, which halts; otherwise the higher rate that loads kept.
    fn above(&mut self, rate: f64) -> Result<f64, Halt<E>> {
        let mut above = rate;
        for _ in 0..RAISED_MAX {
            above = round((above * ABOVE).max(above + 1.0));
            if above > self.bounds.highest {
                break;
            }
            let majority = CONFIRMATIONS / 2 + 1;
            let kept = self.count_kept(above, Purpose::Above, majority)?;
            if kept < majority {
                return Err(Halt::Found { rate, above });
            }
            // what a long load has broken already was kept by luck, unless every load keeps it now
            let has_broken = self.tried.iter().any(|tried| {
                tried.probe.purpose == Purpose::Confirm && tried.broken() && tried.probe.rate <= above
            });
            if !has_broken || kept == CONFIRMATIONS {
                break;
            }
        }
        Ok(above.min(self.bounds.highest))
    }

    /// Whether the server sustains clearly more once it has recovered: the highest rate of a few.
    fn beyond(&mut self, rate: f64, above: f64) -> Result<Option<f64>, E> {
        let mut kept = None;
        let mut next = round(above * WIDEN.0);
        let probe = |rate: f64, purpose: Purpose| Probe { rate, purpose, patient: false };
        let gentle = round(rate * GENTLE).max(self.bounds.lowest);
        let mut answer = self.ask(probe(gentle, Purpose::Rest)).map(|_| ());
        while answer.is_ok() && next <= self.bounds.highest {
            answer = match self.ask(probe(next, Purpose::Beyond)) {
                Ok(tried) if tried.kept() => {
                    kept = Some(next);
                    next = round(next * WIDEN.0);
                    Ok(())
                }
                Ok(_) => break,
                Err(halt) => Err(halt),
            };
        }
        match answer {
            Err(Halt::Failed(error)) => Err(error),
            // what was found is found
            _ => Ok(kept),
        }
    }

    /// How many of [`CONFIRMATIONS`] long loads keep the objective; no more are tried once `broken` of them
    /// do not.
    fn count_kept(&mut self, rate: f64, purpose: Purpose, broken: usize) -> Result<usize, Halt<E>> {
        let mut kept = 0;
        for done in 1..=CONFIRMATIONS {
            kept += usize::from(self.decide(rate, purpose)?.kept());
            if done - kept >= broken {
                break;
            }
        }
        Ok(kept)
    }

    /// Whether a rate keeps the objective, by majority where one load cannot tell.
    fn keeps(&mut self, rate: f64, purpose: Purpose) -> Result<bool, Halt<E>> {
        let (mut kept, mut asked) = (0, 0);
        loop {
            let objectives = self.objectives;
            let tried = self.decide(rate, purpose)?;
            asked += 1;
            kept += usize::from(tried.kept());
            let disturbed = tried.broken() && tried.observation.disturbed;
            let unsure = !tried.observation.overloaded && is_unsure(objectives, &tried.observation);
            if asked == 1 && !unsure && !disturbed {
                return Ok(kept == 1);
            }
            if kept * 2 > ASKED || (asked - kept) * 2 > ASKED {
                return Ok(kept * 2 > ASKED);
            }
        }
    }

    /// A load that says something. A rate that is far too high shows it within a short load; one that held
    /// too few transactions to say anything is offered again for longer.
    fn decide(&mut self, rate: f64, purpose: Purpose) -> Result<&Tried, Halt<E>> {
        for asked in 0..=ASKED {
            let patient = asked > 0 || purpose.is_long();
            if self.ask(Probe { rate, purpose, patient })?.observation.verdict != Verdict::CannotTell {
                return Ok(self.tried.last().expect("it was just added"));
            }
        }
        Err(Halt::Ended(Ending::CannotTell { rate }))
    }

    fn ask(&mut self, probe: Probe) -> Result<&Tried, Halt<E>> {
        if self.tried.len() >= PROBES_MAX {
            let rate = self.confirmed().or(self.low).unwrap_or(probe.rate);
            return Err(Halt::Ended(Ending::Unsteady { rate }));
        }
        let outlook = self.outlook(probe);
        let observation = match (self.offer)(probe, outlook).map_err(Halt::Failed)? {
            Offered::Seen(observation) => observation,
            Offered::Skipped => return Err(Halt::Skipped),
            Offered::Ended(why) => return Err(Halt::Ended(self.unfinished(why))),
        };
        self.tried.push(Tried { probe, observation });
        Ok(self.tried.last().expect("it was just added"))
    }

    fn unfinished(&self, why: Why) -> Ending {
        Ending::Unfinished { why, confirmed: self.confirmed() }
    }

    /// The highest rate that as many long loads as confirm one have kept, and none has broken.
    fn confirmed(&self) -> Option<f64> {
        let at = |rate: f64| {
            self.tried.iter().filter(move |tried| tried.probe.purpose.is_long() && tried.probe.rate == rate)
        };
        let is_confirmed = |rate: &f64| at(*rate).all(Tried::kept) && at(*rate).count() >= CONFIRMATIONS;
        let rates = self.tried.iter().map(|tried| tried.probe.rate);
        rates.filter(is_confirmed).max_by(f64::total_cmp)
    }

    /// What probably comes, if nothing is unsure and nothing has to be repeated.
    fn outlook(&self, probe: Probe) -> Outlook {
        let halvings =
            |low: f64, high: f64| ((high / low).ln() / RESOLUTION.ln()).max(1.0).log2().ceil() as usize;
        let long = 2 * CONFIRMATIONS - 1;
        // at the end: one that lets it recover, and one that offers clearly more
        let last = 2;
        let same = self.tried.iter().rev().take_while(|tried| tried.probe.purpose == probe.purpose).count();
        let (short_left, long_left) = match (probe.purpose, self.low, self.high) {
            (Purpose::Bracket, ..) => (2 + halvings(1.0, WIDEN.0) + last, long),
            (Purpose::Narrow, Some(low), Some(high)) => (halvings(low, high) + last, long),
            (Purpose::Narrow, ..) => (1 + last, long),
            (Purpose::Confirm, ..) => (last, long.saturating_sub(same).max(1)),
            (Purpose::Above, ..) => (last, (CONFIRMATIONS - 1).saturating_sub(same).max(1)),
            (Purpose::Rest, ..) => (last, 0),
            (Purpose::Beyond, ..) => (1, 0),
        };
        Outlook { done: self.tried.len(), short_left, long_left, between: (self.low, self.high) }
    }
}

fn is_unsure(objectives: &Objectives, observation: &Observation) -> bool {
    let ratios =
        objectives.iter().zip(&observation.values).map(|(objective, value)| value / objective.limit());
    UNSURE.contains(&ratios.fold(0.0, f64::max))
}

/// Three significant digits: rates that people can say, well within the resolution.
fn round(rate: f64) -> f64 {
    let scale = 10_f64.powf(rate.log10().floor() - 2.0);
    (rate / scale).round() * scale
}

#[cfg(test)]
mod tests;
