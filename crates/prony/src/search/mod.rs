//! The highest rate that keeps an objective, found with as few and short loads as the noise allows. Pure
//! logic over a function that offers a rate and tells what came of it, so that it is tested with simulated
//! servers. It knows neither engine nor clock.
//!
//! 1. *Bracket*: from a first guess up or down by a factor, until one rate keeps the objective and one does
//!    not.
//! 2. *Narrow*: halve the bracket (in logarithms) until its ends are `RESOLUTION` apart. A result so close to
//!    its limit that noise may have decided is asked again, and the majority counts.
//! 3. *Confirm*: longer loads at the lower end must all keep it; otherwise a step down, each longer than the
//!    last.
//! 4. *Above*: at `ABOVE` times that rate most loads must break it; otherwise that rate is to be confirmed.

mod objective;

pub use objective::{Error as ObjectiveError, Objective, Objectives};

use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// The bracket's ends when narrowing stops.
const RESOLUTION: f64 = 1.05;
/// Where it is shown that more is too much.
const ABOVE: f64 = 1.1;
/// Step of the bracket's search upwards, and downwards.
const WIDEN: (f64, f64) = (1.5, 0.5);
/// Value over limit between which a result may be luck: the 99th percentile of some thousand requests varies
/// by about a fifth near saturation.
const UNSURE: std::ops::Range<f64> = 0.8..1.25;
/// Times that an unsure rate is asked; odd, so that there is a majority.
const ASKED: usize = 3;
/// Longer loads that must keep the objective, and longer ones above of which most must break it.
const CONFIRMATIONS: usize = 3;
/// Loads after which a search has failed: nearly twice what most need where noise is large.
const PROBES_MAX: usize = 40;
/// Times that a rate above is raised where one that was known to break the objective has kept it by luck.
const RAISED_MAX: usize = 3;

/// A load to be offered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// Starts in a second.
    pub rate: f64,
    /// What for; the last two are to be longer.
    pub purpose: Purpose,
}

/// What a load is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// What came of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// One for each objective, in their order and unit.
    pub values: Vec<f64>,
    /// More was offered than could start: no latency of it means anything.
    pub overloaded: bool,
    /// The client itself was at its limit.
    pub client_limited: bool,
    /// What was not kept would have been without the wait for a free connection.
    pub waited: bool,
}

/// A load and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// What was offered.
    pub probe: Probe,
    /// What came of it.
    pub observation: Observation,
    /// Whether every objective was kept.
    pub kept: bool,
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
    /// The highest rate that was allowed keeps it still.
    NothingBreaks {
        /// Starts in a second.
        highest: f64,
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

    /// The loads that show where the limit is: those above what was found, without those far beyond.
    fn breaking(&self) -> impl Iterator<Item = &Tried> {
        let highest = match self.ending {
            Ending::Found { above, .. } => above * RESOLUTION,
            _ => f64::INFINITY,
        };
        self.tried.iter().filter(move |tried| !tried.kept && tried.probe.rate <= highest)
    }
}

/// Between which rates is searched, and where to begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Where to begin: a share of what a closed loop reached.
    pub first: f64,
    /// Lowest rate worth trying.
    pub lowest: f64,
    /// Highest rate worth trying.
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

/// Searches for the highest rate that keeps `objectives`. `offer` carries a load out.
///
/// # Errors
/// Those of `offer`, as they are.
pub fn search<E>(
    bounds: Bounds,
    objectives: &Objectives,
    offer: &mut dyn FnMut(Probe, Outlook) -> Result<Observation, E>,
) -> Result<Report, E> {
    let mut search = Search { bounds, objectives, offer, low: None, high: None, tried: Vec::new() };
    let ending = search.conduct()?;
    Ok(Report { ending, tried: search.tried })
}

struct Search<'a, E> {
    bounds: Bounds,
    objectives: &'a Objectives,
    offer: &'a mut dyn FnMut(Probe, Outlook) -> Result<Observation, E>,
    /// Highest rate that has kept the objective.
    low: Option<f64>,
    /// Lowest rate above it that has not.
    high: Option<f64>,
    tried: Vec<Tried>,
}

impl<E> Search<'_, E> {
    fn conduct(&mut self) -> Result<Ending, E> {
        if let Some(ending) = self.bracket()? {
            return Ok(ending);
        }
        self.narrow()?;
        self.settle()
    }

    /// Finds both ends, or says that there is only one.
    fn bracket(&mut self) -> Result<Option<Ending>, E> {
        let Bounds { first, lowest, highest } = self.bounds;
        let mut rate = round(first).clamp(lowest, highest);
        loop {
            // that the highest keeps it is an answer, and is confirmed as such
            let kept = self.keeps(rate, Purpose::Bracket)?
                && (rate < highest || self.count_kept(rate, Purpose::Confirm, 1)? == CONFIRMATIONS);
            if kept {
                self.low = Some(rate)
            } else {
                self.high = Some(rate)
            }
            if self.low.is_some() && self.high.is_some() {
                return Ok(None);
            }
            if kept && rate >= highest {
                return Ok(Some(Ending::NothingBreaks { highest }));
            }
            if !kept && rate <= lowest {
                return Ok(Some(Ending::NothingKeeps { lowest }));
            }
            let step = if kept { WIDEN.0 } else { WIDEN.1 };
            rate = round(rate * step).clamp(lowest, highest);
        }
    }

    fn narrow(&mut self) -> Result<(), E> {
        while let (Some(low), Some(high)) = (self.low, self.high) {
            if high / low <= RESOLUTION || self.tried.len() >= PROBES_MAX {
                break;
            }
            let middle = round((low * high).sqrt());
            if middle <= low || middle >= high {
                break;
            }
            if self.keeps(middle, Purpose::Narrow)? {
                self.low = Some(middle)
            } else {
                self.high = Some(middle)
            }
        }
        Ok(())
    }

    /// Confirms the lower end and shows that more is too much, moving up or down as long as either fails.
    fn settle(&mut self) -> Result<Ending, E> {
        let mut rate = self.low.unwrap_or(self.bounds.lowest);
        let mut steps_down = 0;
        while self.tried.len() < PROBES_MAX {
            let confirmed = self.count_kept(rate, Purpose::Confirm, 1)? == CONFIRMATIONS;
            if !confirmed {
                if rate <= self.bounds.lowest {
                    return Ok(Ending::NothingKeeps { lowest: rate });
                }
                self.high = Some(rate);
                // where the latency hardly depends on the rate, small steps would need many loads
                steps_down += 1;
                rate = round(rate / RESOLUTION.powi(steps_down)).max(self.bounds.lowest);
                self.low = Some(rate);
                continue;
            }
            match self.above(rate)? {
                ControlFlow::Break(ending) => return Ok(ending),
                ControlFlow::Continue(kept) => (self.low, self.high, rate) = (Some(kept), None, kept),
            }
        }
        Ok(Ending::Unsteady { rate })
    }

    /// Shows that more than `rate` is too much; otherwise the higher rate that most loads kept.
    fn above(&mut self, rate: f64) -> Result<ControlFlow<Ending, f64>, E> {
        let mut above = rate;
        for _ in 0..RAISED_MAX {
            above = round((above * ABOVE).max(above + 1.0));
            if above > self.bounds.highest {
                return Ok(ControlFlow::Break(Ending::NothingBreaks { highest: rate }));
            }
            let majority = CONFIRMATIONS / 2 + 1;
            if self.count_kept(above, Purpose::Above, majority)? < majority {
                return Ok(ControlFlow::Break(Ending::Found { rate, above }));
            }
            // what a long load has broken already was kept by luck, and is not to be confirmed again
            let has_broken = self.tried.iter().any(|tried| {
                tried.probe.purpose == Purpose::Confirm && !tried.kept && tried.probe.rate <= above
            });
            if !has_broken {
                return Ok(ControlFlow::Continue(above));
            }
        }
        Ok(ControlFlow::Break(Ending::Unsteady { rate }))
    }

    /// How many of [`CONFIRMATIONS`] long loads keep the objective; no more are tried once `broken` of them
    /// do not.
    fn count_kept(&mut self, rate: f64, purpose: Purpose, broken: usize) -> Result<usize, E> {
        let mut kept = 0;
        for done in 1..=CONFIRMATIONS {
            kept += usize::from(self.ask(Probe { rate, purpose })?.kept);
            if done - kept >= broken {
                break;
            }
        }
        Ok(kept)
    }

    /// Whether a rate keeps the objective, by majority where one load cannot tell.
    fn keeps(&mut self, rate: f64, purpose: Purpose) -> Result<bool, E> {
        let (mut kept, mut asked) = (0, 0);
        loop {
            let objectives = self.objectives;
            let tried = self.ask(Probe { rate, purpose })?;
            asked += 1;
            kept += usize::from(tried.kept);
            let unsure = !tried.observation.overloaded && is_unsure(objectives, &tried.observation);
            if asked == 1 && !unsure {
                return Ok(kept == 1);
            }
            if kept * 2 > ASKED || (asked - kept) * 2 > ASKED {
                return Ok(kept * 2 > ASKED);
            }
        }
    }

    fn ask(&mut self, probe: Probe) -> Result<&Tried, E> {
        let outlook = self.outlook(probe);
        let observation = (self.offer)(probe, outlook)?;
        let kept = !observation.overloaded
            && self
                .objectives
                .iter()
                .zip(&observation.values)
                .all(|(objective, value)| *value < objective.limit());
        self.tried.push(Tried { probe, observation, kept });
        Ok(self.tried.last().expect("it was just added"))
    }

    /// What probably comes, if nothing is unsure and nothing has to be repeated.
    fn outlook(&self, probe: Probe) -> Outlook {
        let halvings =
            |low: f64, high: f64| ((high / low).ln() / RESOLUTION.ln()).max(1.0).log2().ceil() as usize;
        let long = 2 * CONFIRMATIONS - 1;
        let same = self.tried.iter().rev().take_while(|tried| tried.probe.purpose == probe.purpose).count();
        let (short_left, long_left) = match (probe.purpose, self.low, self.high) {
            (Purpose::Bracket, ..) => (2 + halvings(1.0, WIDEN.0), long),
            (Purpose::Narrow, Some(low), Some(high)) => (halvings(low, high), long),
            (Purpose::Narrow, ..) => (1, long),
            (Purpose::Confirm, ..) => (0, long.saturating_sub(same).max(1)),
            (Purpose::Above, ..) => (0, (CONFIRMATIONS - 1).saturating_sub(same).max(1)),
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
