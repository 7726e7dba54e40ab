//! A section of the page: heats, the comparisons that are drawn from them, and what is promised of each.

use crate::{
    entrant::Figures,
    goals::Goals,
    heat::{Heat, Measure, Spread},
    table::{Table, whole},
};
use serde::Serialize;

/// Two participants of each heat, by index, and what is promised of the first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comparison {
    pub(crate) ours: usize,
    pub(crate) theirs: usize,
    pub(crate) goals: fn(u32) -> Goals,
}

impl Comparison {
    /// Whether both took part in a heat.
    fn has_both(self, heat: &Heat) -> bool {
        self.ours.max(self.theirs) < heat.results.len()
    }
}

/// Heats of one kind.
#[derive(Debug, Serialize)]
pub(crate) struct Section {
    pub(crate) title: String,
    /// What is to be known before the tables are read.
    pub(crate) remarks: Vec<String>,
    pub(crate) heats: Vec<Heat>,
    /// None: all participants are compared with the first, and nothing is promised.
    #[serde(skip)]
    pub(crate) comparisons: Vec<Comparison>,
}

/// A promise and what was measured.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Verdict {
    pub(crate) what: String,
    pub(crate) at: u32,
    pub(crate) target: String,
    pub(crate) measured: Spread,
    pub(crate) is_met: bool,
}

const THROUGHPUT: Measure = |figures: &Figures| figures.queries_per_second;
const CPU: Measure = |figures: &Figures| figures.cpu_us_per_query;
const MEMORY: Measure = |figures: &Figures| figures.memory_mb;

impl Section {
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n", self.title);
        for remark in &self.remarks {
            text.push_str(&format!("{remark}\n"));
        }
        for table in self.tables() {
            text.push_str(&format!("\n{}", table.markdown()));
        }
        for heat in &self.heats {
            for results in &heat.results {
                if let Some(failure) = &results.failure {
                    let rounds = results.rounds.len();
                    let line = format!(
                        "\n{} at {} failed in round {}: {failure}\n",
                        results.label,
                        heat.at,
                        rounds + 1
                    );
                    text.push_str(&line);
                }
            }
        }
        text
    }

    fn tables(&self) -> Vec<Table> {
        match &self.comparisons[..] {
            [] => self.heats.iter().map(|heat| self.by_participant(heat)).collect(),
            comparisons => comparisons.iter().map(|comparison| self.table(*comparison)).collect(),
        }
    }

    /// All participants of a heat, compared with the first.
    fn by_participant(&self, heat: &Heat) -> Table {
        let first = format!("ratio to {} (rounds)", self.label(0));
        let mut table = Table::new(&[
            "",
            "queries/s",
            &first,
            "CPU us/query",
            &first,
            "MB",
            "threads",
            "response p50 ms",
            "p99 ms",
            "own delay p50 ms",
            "p99 ms",
        ]);
        for (index, results) in heat.results.iter().enumerate() {
            let median = |measure, digits: usize| {
                heat.spread(index, measure)
                    .map_or("-".to_owned(), |spread| format!("{:.digits$}", spread.median))
            };
            let ratio = |measure| heat.ratio(index, 0, measure).map_or("-".to_owned(), shown);
            let throughput =
                heat.spread(index, THROUGHPUT).map_or("-".to_owned(), |spread| whole(spread.median));
            let mut row = vec![
                results.label.clone(),
                throughput,
                ratio(THROUGHPUT),
                median(CPU, 2),
                ratio(CPU),
                median(MEMORY, 1),
                results.workers(),
            ];
            row.extend((0..4).map(|place| {
                let of_rounds = results.rounds.iter().filter_map(|figures| Some(figures.schedule_ms?[place]));
                Spread::of(of_rounds.collect())
                    .map_or(String::new(), |spread| format!("{:.3}", spread.median))
            }));
            table.add(row);
        }
        table.without_empty_columns()
    }

    fn label(&self, index: usize) -> &str {
        self.heats.iter().find_map(|heat| heat.results.get(index)).map_or("", |results| &results.label)
    }

    fn table(&self, comparison: Comparison) -> Table {
        let Comparison { ours, theirs, .. } = comparison;
        let (us, them) = (self.label(ours), self.label(theirs));
        let (per_second, cpu, memory) = ("queries/s", "CPU us/query", "MB");
        let mut table = Table::new(&[
            "connections",
            &format!("{them} {per_second}"),
            &format!("{us} {per_second}"),
            "ratio (rounds)",
            "target",
            &format!("{them} {cpu}"),
            &format!("{us} {cpu}"),
            "ratio (rounds)",
            "target",
            &format!("{them} {memory}"),
            &format!("{us} {memory}"),
            "target",
        ]);
        for heat in self.heats.iter().filter(|heat| comparison.has_both(heat)) {
            let median = |index, measure, show: fn(f64) -> String| {
                heat.spread(index, measure).map_or("-".to_owned(), |spread| show(spread.median))
            };
            let ratio = |measure| heat.ratio(ours, theirs, measure).map_or("-".to_owned(), shown);
            let verdicts = verdicts(heat, comparison);
            let target = |index: usize| match &verdicts[index] {
                Some(verdict) if verdict.is_met => format!("{} met", verdict.target),
                Some(verdict) => format!("{} MISSED", verdict.target),
                None => String::new(),
            };
            table.add(vec![
                whole(f64::from(heat.at)),
                median(theirs, THROUGHPUT, whole),
                median(ours, THROUGHPUT, whole),
                ratio(THROUGHPUT),
                target(0),
                median(theirs, CPU, |value| format!("{value:.2}")),
                median(ours, CPU, |value| format!("{value:.2}")),
                ratio(CPU),
                target(1),
                median(theirs, MEMORY, |value| format!("{value:.1}")),
                median(ours, MEMORY, |value| format!("{value:.1}")),
                target(2),
            ]);
        }
        table.without_empty_columns()
    }

    /// Whether a participant failed.
    pub(crate) fn has_failures(&self) -> bool {
        self.heats.iter().flat_map(|heat| &heat.results).any(|results| results.failure.is_some())
    }

    /// Everything that is promised and was measured.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        let each = self.comparisons.iter().flat_map(|comparison| {
            let heats = self.heats.iter().filter(|heat| comparison.has_both(heat));
            heats.flat_map(|heat| verdicts(heat, *comparison).into_iter().flatten())
        });
        each.map(|verdict| Verdict { what: format!("{}: {}", self.title, verdict.what), ..verdict }).collect()
    }
}

/// Of throughput, CPU time and memory.
fn verdicts(heat: &Heat, comparison: Comparison) -> [Option<Verdict>; 3] {
    let Comparison { ours, theirs, goals } = comparison;
    let goals = goals(heat.at);
    let (us, them) = (&heat.results[ours].label, &heat.results[theirs].label);
    let verdict = |what: String, measured: Option<Spread>, target: Option<f64>, least: bool| {
        let (measured, target) = (measured?, target?);
        let sign = if least { ">=" } else { "<=" };
        let is_met = if least { measured.median >= target } else { measured.median <= target };
        Some(Verdict { what, at: heat.at, target: format!("{sign} {target}"), measured, is_met })
    };
    [
        verdict(
            format!("throughput, {us} / {them}"),
            heat.ratio(ours, theirs, THROUGHPUT),
            goals.throughput_min,
            true,
        ),
        verdict(format!("CPU per query, {us} / {them}"), heat.ratio(ours, theirs, CPU), goals.cpu_max, false),
        verdict(format!("memory of {us}, MB"), heat.spread(ours, MEMORY), goals.memory_mb_max, false),
    ]
}

/// 1.71 (1.65 to 1.80)
pub(crate) fn shown(spread: Spread) -> String {
    format!("{:.2} ({:.2} to {:.2})", spread.median, spread.min, spread.max)
}
