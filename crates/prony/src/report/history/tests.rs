use super::*;
use crate::{
    analyse::{Between, Place, RunDifference, Series, Value},
    escape::wrap::columns,
    report::Language,
};
use std::collections::BTreeMap;

/// Twelve runs of a server whose throughput falls at the seventh run, when the kernel changes.
fn history() -> History {
    let mut history = History::new("nightly");
    history.runs = (0..12)
        .map(|place| Place {
            run: 100 + place,
            started: format!("2026-03-{:02}T01:00:00Z", place + 1).parse().unwrap(),
            scale: None,
            labels: if place == 6 { vec!["v2.1".to_owned()] } else { Vec::new() },
            note: if place == 6 { "new <kernel>".to_owned() } else { String::new() },
            versions: [("pool".to_owned(), "10.11.6".to_owned())].into(),
        })
        .collect();
    let series = |connections: &str, metric: &str, values: [f64; 12]| {
        let mut levels = BTreeMap::from([("connections".to_owned(), connections.to_owned())]);
        levels.insert("workload".to_owned(), "oltp_read_only".to_owned());
        let value = |(place, value): (usize, f64)| Value {
            place,
            estimate: stats::Estimate::between(value, 0.98 * value, 1.02 * value, 0.95, 3),
            doubtful: place == 3,
        };
        let values = values.into_iter().enumerate().map(value).collect();
        let (server, metric) = ("pool".to_owned(), metric.parse().expect("a metric"));
        Series { server, levels, metric, values, changes: Vec::new() }
    };
    let falls = [1010.0, 1002.0, 998.0, 1005.0, 1001.0, 999.0, 901.0, 905.0, 899.0, 902.0, 897.0, 903.0];
    let rises = falls.map(|value| 10_000.0 / value);
    history.series = vec![
        series("64", "throughput", falls.map(|value| 2.0 * value)),
        series("64", "p99", rises),
        series("8", "throughput", falls),
        series("8", "p99", [5.0; 12]),
    ];
    history.find_changes();
    for series in &history.series {
        for change in &series.changes {
            assert_eq!((change.after, change.place), (5, 6));
        }
    }
    history.between = vec![Between {
        after: 5,
        place: 6,
        is_known: true,
        differences: vec![RunDifference {
            of: "machine".to_owned(),
            what: "kernel".to_owned(),
            base: Some("6.1".to_owned()),
            run: Some("6.12".to_owned()),
        }],
    }];
    history
}

#[test]
fn a_change_is_told_once_with_its_series_and_what_else_differs() {
    let history = history();
    let text = render(&history, Form::Terminal, &Options::default()).unwrap().text;
    let expected = "\
History of nightly
12 runs, from run 100 of 2026-03-01 to run 111 of 2026-03-12
Common to all: oltp_read_only

pool, 8 connections
  transactions/s  ██▇█▇▇▁▁▁▁▁▁  903 ± 18
  p99, ms         ▅▅▅▅▅▅▅▅▅▅▅▅  5.00 ± 0.10

pool, 64 connections
  transactions/s  ██▇█▇▇▁▁▁▁▁▁  1,806 ± 36
  p99, ms         ▁▁▂▁▁▂█▇████  11.1 ± 0.2

What changed
• Since run 106 of 2026-03-07 (v2.1), compared with run 105:
  pool, 64 connections: p99, ms +11.2 % (9.98 to 11.1)
  pool, 64 connections: transactions/s -10.1 % (2,005 to 1,802)
  pool, 8 connections: transactions/s -10.1 % (1,002 to 901)
  Also different since then: machine kernel 6.12 (was 6.1).
  Note of run 106: new <kernel>
Each series is tested on its own (E-divisive). Of series that did not change, one in a hundred is
flagged by chance.
";
    assert_eq!(text, expected);
}

#[test]
fn a_history_is_no_wider_than_the_terminal() {
    for language in [Language::English, Language::Chinese] {
        let options = Options { language, width: 50, ..Options::default() };
        let text = render(&history(), Form::Terminal, &options).unwrap().text;
        let widest = text.lines().map(columns).max();
        assert!(widest <= Some(50), "{text}");
    }
}

#[test]
fn the_page_shows_units_changes_and_doubts_and_escapes_what_people_wrote() {
    let page = render(&history(), Form::Html, &Options::default()).unwrap().text;
    for wanted in [
        r#"<span lang="en">transactions/s</span><span lang="zh-CN">每秒事务数</span></span></figcaption>"#,
        r#"<span lang="en">p99, ms</span>"#,
        r#""text":"-10.1 %""#,
        "new &lt;kernel&gt;",
        r#""hollow":{"3":{"in":{"en":"doubtful","zh-CN":"存疑"}}}"#,
        "<span lang=\"en\">Hollow marks",
        "<td class=\"plain\">111</td>",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    let before_viewer = &page[..page.rfind("<script>").unwrap()];
    assert!(!before_viewer.contains("new <kernel>") && !before_viewer.contains("NaN"));
}

#[test]
fn pictures_show_runs_levels_and_changes() {
    let options = Options { pictures: Some(String::new()), ..Options::default() };
    let written = render(&history(), Form::Markdown, &options).unwrap();
    let names: Vec<&str> = written.pictures.iter().map(|picture| picture.file.as_str()).collect();
    assert_eq!(names[..2], ["series-1-throughput.svg", "series-1-p99.svg"]);
    assert!(written.text.contains("![transactions/s](series-1-throughput.svg)"), "{}", written.text);
    // the first point's throughput falls; with it, the other one's p99 rises
    let [falls, rises] = [0, 3].map(|place: usize| written.pictures[place].svg.as_str());
    assert!(falls.contains(">-10.1 %</text>") && falls.contains(">111</text>"), "{falls}");
    assert!(rises.contains(">+11.2 %</text>"), "{rises}");
}
