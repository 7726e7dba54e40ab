//! Writes a store of made-up runs: `cargo run --example sample_store -- FILE COUNT`. One run is whole,
//! the others have a few trials each; each tenth has the label `nightly`. The browser test of `prony
//! serve` looks at it.

#[path = "../tests/support/synthetic.rs"]
#[expect(unreachable_pub, dead_code, reason = "shared with test programs, which need more of it")]
mod synthetic;

use prony::{run::Event, store::Store};
use std::path::Path;

/// Trials of runs that are not whole.
const TRIALS: u32 = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("name the file to write")?;
    let count: u32 = arguments.next().ok_or("say how many runs")?.parse()?;
    let (plan, machine, events) = (synthetic::plan(), synthetic::machine(), synthetic::events());
    let mut store = Store::open(Path::new(&file))?;
    for number in 1..=count {
        let is_whole = number == count;
        let id = store.begin(&plan, &machine)?;
        for event in events.iter().filter(|event| is_whole || is_of_few(event)) {
            store.record(id, event)?;
        }
        if number % 10 == 0 {
            store.label(id, &["nightly".to_owned()], &[])?;
        }
    }
    Ok(())
}

/// Whether it is of one of the first trials, or ends the run.
fn is_of_few(event: &Event) -> bool {
    match event {
        Event::TrialStarted { trial }
        | Event::TrialSample { trial, .. }
        | Event::TrialReading { trial, .. }
        | Event::TrialFinished { trial, .. } => *trial < TRIALS,
        Event::RunFinished { .. } => true,
        _ => false,
    }
}
