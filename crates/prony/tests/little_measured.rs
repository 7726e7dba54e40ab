//! Reports of runs that measured little or nothing: they claim no more than there is.

#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is the right answer")]

#[path = "support/synthetic.rs"]
#[expect(unreachable_pub, dead_code, reason = "shared by several test programs, each of which needs a part")]
mod synthetic;

use prony::{
    analyse::analyse,
    report::{Format, Language, Options, render},
    run::{TrialFailure, TrialOutcome},
    store::RunRecord,
};

fn rendered(record: &RunRecord, format: Format, language: Language) -> String {
    let options = Options { language, width: 500, ..Options::default() };
    let text = render(record, &analyse(record), format, &options).unwrap();
    text.split("<script").next().unwrap().to_owned()
}

#[test]
fn where_every_trial_failed_the_report_says_that_nothing_was_measured_and_why() {
    let mut record = synthetic::record();
    let reasons = ["Table 'shop.orders' doesn't exist (error 1146, state 42S02)", "the server went away"];
    for trial in &mut record.trials {
        let reason = reasons[usize::from(trial.trial.number > 10)];
        trial.outcome = TrialOutcome::Failed(TrialFailure::told(reason));
        trial.seconds.clear();
    }
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let text = rendered(&record, format, Language::English).replace("&#x27;", "'");
        for words in ["Nothing was measured: every trial failed.", "shop.orders", "The server went away."] {
            assert!(text.contains(words), "{format:?}: {words}");
        }
        for false_words in ["No difference", "half-width", "the report says why"] {
            assert!(!text.contains(false_words), "{format:?}: {false_words}");
        }
        // the page has variables of servers as well
        assert!(format == Format::Html || !text.contains("0.000"), "{format:?}: {text}");
    }
    assert!(rendered(&record, Format::Terminal, Language::Chinese).contains("没有测得任何结果"));
    let csv = rendered(&record, Format::Csv, Language::English);
    let heads: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let throughput = heads.iter().position(|head| *head == "throughput").unwrap();
    assert!(csv.lines().skip(1).all(|line| line.split(',').nth(throughput) == Some("")), "{csv}");
}

#[test]
fn the_footnote_says_where_intervals_come_from() {
    let record = synthetic::record();
    let text = rendered(&record, Format::Terminal, Language::English);
    assert!(text.contains("95 % interval over the trials of a combination"), "{text}");
    let mut one = record.clone();
    one.trials.retain(|trial| trial.trial.block == 0);
    // long enough for batches
    for trial in &mut one.trials {
        let seconds = trial.seconds.clone();
        for round in 1..4 {
            trial.seconds.extend(seconds.iter().cloned().map(|mut second| {
                second.second += round * seconds.len() as u32;
                second
            }));
        }
    }
    let text = rendered(&one, Format::Terminal, Language::English);
    assert!(text.contains("±") && text.contains("batches of seconds of the only trial"), "{text}");
    assert!(!text.contains("over the trials"), "{text}");
}
