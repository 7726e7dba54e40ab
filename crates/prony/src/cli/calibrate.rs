//! `prony calibrate`: what this machine's load engine can do, and what that means.

use super::{
    failure::{Failure, chain},
    flags::Wrong,
    interrupt,
    progress::style,
    terminal::print,
};
use crate::{
    calibrate::{self, Calibration, NullProcess},
    loader,
    provision::trampoline,
    report::number,
};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget};
use std::{fmt::Write as _, time::Duration};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony calibrate\n  prony calibrate --seconds 5 --json > \
                        calibration.json\n\nIt loads a server that replies at once, in a separate process on \
                        this machine. Nothing else should run during that time.")]
pub(super) struct CalibrateOptions {
    /// Length of each of the eight measurements, seconds
    #[arg(long, value_name = "N", default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// The length of a measurement; below a tenth of a second it would say nothing.
fn seconds(text: &str) -> Result<f64, Wrong> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds.ok_or_else(|| Wrong::Seconds(text.to_owned()))
}

pub(super) fn calibrate(options: &CalibrateOptions) -> Result<(), Failure> {
    let stop = interrupt::stop_on_signals();
    let open_files = trampoline::raise_open_files();
    let cannot = |error: calibrate::Error| match error {
        calibrate::Error::Interrupted => Failure::interrupted("interrupted"),
        error => Failure::cannot_begin(chain(&error)),
    };
    let program = std::env::current_exe().map_err(|error| cannot(error.into()))?;
    let server = NullProcess::start(&program).map_err(|error| cannot(error.into()))?;
    let loader = loader::in_processes(1, &[], &program);
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(style("{msg}"));
    let each = Duration::from_secs_f64(options.seconds);
    let result = calibrate::calibrate((&server, &*loader), each, open_files, &stop, &mut |what, left| {
        bar.set_message(format!("{what}, about {} s left", left.as_secs()));
        bar.tick();
    });
    bar.finish_and_clear();
    let calibration = result.map_err(cannot)?;
    if options.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&calibration).expect("figures are JSON")))?;
    } else {
        print(&text(&calibration).expect("writing to memory"))?;
    }
    Ok(())
}

fn text(calibration: &Calibration) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    writeln!(out, "{}, {} processors, {}\n", calibration.cpu_model, calibration.cpus, calibration.kernel)?;
    writeln!(out, "Closed loop against a server that replies at once, on the same processors:")?;
    writeln!(
        out,
        "{:>12} {:>14} {:>14} {:>14} {:>10}",
        "connections", "statements/s", "CPU us each", "busiest thread", "memory MB"
    )?;
    for point in &calibration.throughput {
        writeln!(
            out,
            "{:>12} {:>14} {:>14.2} {:>12.0} % {:>10.1}",
            number::count(u64::from(point.connections)),
            number::count(point.statements_per_second as u64),
            point.cpu_us_per_statement,
            point.thread_busy_max * 100.0,
            point.memory_bytes_max as f64 / 1e6
        )?;
    }
    for connections in &calibration.left_out {
        writeln!(out, "{connections:>12} skipped: this process may not open that many files (ulimit -n)")?;
    }
    writeln!(out, "\nOpen loop: how late it sends:")?;
    writeln!(
        out,
        "{:>12} {:>14} {:>10} {:>10} {:>10}",
        "offered/s", "started/s", "p50 us", "p99 us", "max us"
    )?;
    for point in &calibration.send_delay {
        writeln!(
            out,
            "{:>12} {:>14} {:>10.0} {:>10.0} {:>10.0}",
            number::count(point.offered_per_second as u64),
            number::count(point.started_per_second.round() as u64),
            point.delay.p50_us,
            point.delay.p99_us,
            point.delay.max_us
        )?;
    }
    let scheduling = &calibration.scheduling_delay;
    writeln!(
        out,
        "\nscheduling    a sleep of 100 us takes {:.0} us longer (p99 {:.0}, max {:.0})",
        scheduling.p50_us, scheduling.p99_us, scheduling.max_us
    )?;
    writeln!(
        out,
        "timing        histogram step {:.1} %, clock {} ns\n",
        calibration.histogram_step * 100.0,
        calibration.clock_ns
    )?;
    writeln!(
        out,
        "With the server on another machine, this machine's client is not the bottleneck up to about {} \
         statements/s. A server on the same machine has to share: 100,000 statements/s cost it {:.2} of the \
         {} processors.",
        number::count(calibration.statements_per_second_max as u64 / 1000 * 1000),
        calibration.processors_for_100k,
        calibration.cpus
    )?;
    Ok(out)
}
