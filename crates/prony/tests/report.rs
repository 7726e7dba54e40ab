//! Reports as their readers get them, made from a run that the store gave back.

#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is the right answer")]

#[path = "support/findings.rs"]
#[expect(unreachable_pub, reason = "shared by several test programs")]
mod findings;
#[path = "support/synthetic.rs"]
#[expect(unreachable_pub, dead_code, reason = "shared by several test programs, each of which needs a part")]
mod synthetic;
#[path = "support/synthetic_load.rs"]
#[expect(unreachable_pub, reason = "shared by several test programs")]
mod synthetic_load;

use load::sample::Tally;
use prony::{
    analyse::{Axis, AxisKind, Comparison, Findings, Point, Verdict, analyse},
    report::{Format, Language, Options, render, rendered, schema},
    run::TrialOutcome,
    store::RunRecord,
};
use std::{env, fs, sync::LazyLock};

static RUN: LazyLock<(RunRecord, Findings)> = LazyLock::new(|| {
    let record = synthetic::record();
    let findings = findings::findings(&record);
    (record, findings)
});

/// A run of every kind of load, with what the analysis itself makes of it.
static LOADS: LazyLock<(RunRecord, Findings)> = LazyLock::new(|| {
    let record = synthetic_load::record();
    let findings = analyse(&record);
    (record, findings)
});

fn report_of_loads(format: Format, options: &Options) -> String {
    render(&LOADS.0, &LOADS.1, format, options).unwrap()
}

#[test]
fn streams_schedules_limits_and_connections_are_told() {
    insta::assert_snapshot!(report_of_loads(Format::Terminal, &Options::default()));
}

#[test]
fn streams_schedules_limits_and_connections_are_told_in_chinese() {
    let options = Options { language: Language::Chinese, width: 100, ..Options::default() };
    insta::assert_snapshot!(report_of_loads(Format::Terminal, &options));
}

/// The quickstart's made-up run, in which every workload is a mix of two.
fn with_mixes() -> RunRecord {
    let mut record = RUN.0.clone();
    for trial in &mut record.trials {
        let TrialOutcome::Measured { outcome, .. } = &mut trial.outcome else { continue };
        let stream = &mut outcome.streams[0];
        let whole = stream.transactions.clone();
        let part = |name: &str, share: f64, errors| Tally {
            name: name.to_owned(),
            count: (whole.count as f64 * share) as u64,
            errors,
            ..whole.clone()
        };
        stream.by_transaction = vec![part("<buy>", 0.25, 1), part("look|up", 0.75, 0)];
    }
    record
}

#[test]
fn each_transaction_of_a_mix_has_its_row_in_every_format() {
    let record = with_mixes();
    let findings = analyse(&record);
    let make = |format, language| {
        let options = Options { language, width: 140, ..Options::default() };
        render(&record, &findings, format, &options).unwrap()
    };
    let terminal = make(Format::Terminal, Language::English);
    assert!(terminal.contains("Each transaction of the mix, over the whole interval"), "{terminal}");
    let row = terminal.lines().find(|line| line.contains("<buy>")).unwrap();
    assert!(row.contains(" 25 "), "share: {row}");
    assert!(terminal.lines().any(|line| line.contains("look|up") && line.contains(" 75 ")), "{terminal}");
    let chinese = make(Format::Terminal, Language::Chinese);
    assert!(chinese.contains("混合负载中的各个事务") && chinese.contains("占比，%"), "{chinese}");
    let html = make(Format::Html, Language::English);
    assert!(html.contains("&lt;buy&gt;</td>") && !html.contains("<buy>"));
    let markdown = make(Format::Markdown, Language::English);
    assert!(markdown.contains(r"look\|up"), "{markdown}");
    let json: serde_json::Value = serde_json::from_str(&make(Format::Json, Language::English)).unwrap();
    let mix = json["points"][0]["mix"].as_array().unwrap();
    assert_eq!((mix.len(), &mix[1]["name"]), (2, &serde_json::json!("look|up")));
    assert!((mix[1]["share"].as_f64().unwrap() - 0.75).abs() < 0.001);
    assert!(mix[0]["latency_ms"]["p95"].as_f64().unwrap() > 0.0 && mix[0]["errors"].as_u64() > Some(0));
    // where each workload has one transaction there is nothing to tell apart
    let (record, findings) = &*RUN;
    let plain = render(record, findings, Format::Json, &Options::default()).unwrap();
    assert!(!plain.contains("\"mix\""));
}

#[test]
fn what_cannot_keep_up_is_marked_and_not_compared() {
    let (_, findings) = &*LOADS;
    assert_eq!(findings.axis.kind, AxisKind::Rate);
    let of = |server: &str, rate: &str| {
        let wanted = |point: &Point| {
            (&*point.server, &*point.stream, &*point.levels["orders.rate"]) == (server, "orders", rate)
        };
        findings.points.iter().position(wanted).unwrap()
    };
    let compared = |rate: &str| {
        let point = of("pool", rate);
        let of_point = |each: &&Comparison| each.point == point && each.metric == "throughput";
        findings.comparisons.iter().find(of_point).unwrap().verdict
    };
    assert_eq!(findings.points[of("threads", "2000")].overloaded, 3);
    assert_eq!(findings.points[of("pool", "2000")].overloaded, 0);
    assert_eq!((compared("1000"), compared("2000")), (Verdict::Same, Verdict::Overloaded));
    let json: serde_json::Value =
        serde_json::from_str(&report_of_loads(Format::Json, &Options::default())).unwrap();
    let point = &json["points"][of("threads", "2000")];
    assert_eq!(point["verdict"], "invalid");
    assert_eq!(point["doubts"][0]["id"], "overloaded");
    assert!(point["schedule"]["never_sent"].as_u64().unwrap() > 1000);
    assert!(point["service_ms"]["p99"].as_f64() < point["latency_ms"]["p99"]["value"].as_f64());
    let export = json["points"].as_array().unwrap().iter().find(|point| point["stream"] == "export").unwrap();
    assert_eq!(export["limit"]["reached"], 3);
    assert!(export["schedule"].is_null());
    let trial = &json["trials"][5];
    assert_eq!(trial["streams"].as_array().unwrap().len(), 3);
    assert_eq!(trial["streams"][1]["seconds"]["offered"].as_array().unwrap().len(), 10);
    let page = report_of_loads(Format::Html, &Options::default());
    assert!(page.contains("<h3>What became of the schedule</h3>"));
}

fn report(format: Format) -> String {
    report_as(format, &Options::default())
}

fn report_as(format: Format, options: &Options) -> String {
    render(&RUN.0, &RUN.1, format, options).unwrap()
}

#[test]
fn a_report_in_chinese_is_chinese() {
    let options = Options { language: "zh_CN.UTF-8".parse().unwrap(), width: 80, ..Options::default() };
    let text = report_as(Format::Terminal, &options);
    assert!(text.contains("oltp_read_only: 自 256 个连接起，pool 的吞吐量是 threads 的 1.36 倍"), "{text}");
    for line in text.lines() {
        let columns = line.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum::<usize>();
        assert!(columns <= 80, "{columns}: {line}");
    }
    let page = report_as(Format::Html, &options);
    assert!(page.contains("<html lang=\"zh-CN\">") && page.contains("如何阅读"));
    assert!("de".parse::<prony::report::Language>().is_err());
}

fn is_wide(character: char) -> bool {
    character > '\u{2e7f}'
}

#[test]
fn the_terminal_report_is_the_recorded_one() {
    insta::assert_snapshot!(report(Format::Terminal));
}

#[test]
fn the_markdown_report_is_the_recorded_one() {
    insta::assert_snapshot!(report(Format::Markdown));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [72, 80, 100, 132, 200] {
        let text = report_as(Format::Terminal, &Options { width, ..Options::default() });
        for line in text.lines() {
            let columns = line.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum::<usize>();
            assert!(columns <= usize::from(width), "{width}: {line}");
        }
        assert!(text.contains("1,109 ± 22"), "at {width} columns a number is torn");
    }
}

#[test]
fn colour_only_where_asked() {
    let plain = report(Format::Terminal);
    assert!(!plain.contains('\u{1b}'));
    let coloured = report_as(Format::Terminal, &Options { colour: true, ..Options::default() });
    assert!(coloured.contains('\u{1b}'));
}

#[test]
fn the_page_needs_no_network_and_nothing_escapes_into_it() {
    let page = report(Format::Html);
    let without_viewer = &page[..page.rfind("<script>").unwrap()];
    for outside in ["src=", "@import", "url(", "<link rel=\"stylesheet"] {
        assert!(!without_viewer.contains(outside), "{outside}");
    }
    // The study's text holds `</script><b>&amp;`: shown as it is, and harmless inside the data.
    assert!(!without_viewer.contains("</script><b>"));
    assert!(without_viewer.contains("&lt;/script&gt;&lt;b&gt;&amp;amp;"));
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script>").count(), 2);
    assert_eq!(without_viewer.matches("<div class=\"chart\"").count(), 9);
    assert!(!page.contains("prony-report"), "what charts do not need is not in it twice");
    assert!(!page.contains("hunter2"));
}

/// The charts of a page, as values.
fn charts_of(page: &str) -> serde_json::Value {
    let begin = "<script type=\"application/json\" id=\"prony-charts\">";
    let data = &page[page.find(begin).unwrap() + begin.len()..];
    serde_json::from_str(&data[..data.find("</script>").unwrap()]).unwrap()
}

#[test]
fn charts_are_drawn_from_the_figures_of_the_report() {
    let data = charts_of(&report(Format::Html));
    let json: serde_json::Value = serde_json::from_str(&report(Format::Json)).unwrap();
    assert_eq!((&data["format"], &json["format"]), (&serde_json::json!(1), &serde_json::json!(2)));
    assert_eq!(json["trials"].as_array().unwrap().len(), 60);
    let differing = &json["settings_that_differ"];
    assert_eq!(differing[0]["variable"], "thread_handling");
    assert_eq!(differing[0]["values"][1], "pool-of-threads");
    let charts = data["charts"].as_array().unwrap();
    let ids: Vec<&str> = charts.iter().map(|chart| chart["id"].as_str().unwrap()).collect();
    let kinds = ["throughput", "latency", "distribution", "timeline"];
    let groups = ["oltp-read-only", "oltp-update-non-index"];
    let wanted: Vec<String> =
        groups.iter().flat_map(|group| kinds.map(|kind| format!("{kind}-{group}"))).collect();
    assert_eq!(ids[..8], wanted);
    assert_eq!(ids[8..], ["course"]);
    let group = &json["groups"][0];
    for (place, series) in group["series"].as_array().unwrap().iter().enumerate() {
        let points: Vec<&serde_json::Value> = series["points"]
            .as_array()
            .unwrap()
            .iter()
            .map(|at| &json["points"][at.as_u64().unwrap() as usize])
            .collect();
        let line = &charts[0]["drawing"]["panels"][0]["lines"][place];
        assert_eq!((&line["name"], &line["look"]), (&series["name"], &serde_json::json!(place)));
        for (rung, point) in points.iter().enumerate() {
            let drawn = [&line["values"][rung], &line["low"][rung], &line["high"][rung]];
            assert_eq!(drawn, ["value", "low", "high"].map(|end| &point["throughput"][end]));
            // the third choice of percentiles is p99
            let p99 = &charts[1]["drawing"]["panels"][2]["lines"][place];
            assert_eq!(p99["values"][rung], point["latency_ms"]["p99"]["value"]);
        }
    }
    // of the last place, all trials second by second: rates, then response times
    let panels = charts[3]["drawing"]["panels"].as_array().unwrap();
    let rates = panels[panels.len() - 2]["lines"].as_array().unwrap();
    let trial = json["trials"].as_array().unwrap().iter().find(|trial| {
        (&trial["levels"]["workload"], &trial["levels"]["connections"])
            == (&"oltp_read_only".into(), &"1024".into())
    });
    assert_eq!(rates[0]["values"], trial.unwrap()["streams"][0]["seconds"]["throughput"]);
    assert_eq!(rates.len(), 6, "three repeats of two servers");
}

#[test]
fn markdown_that_is_written_to_a_file_has_its_charts_beside_it() {
    let options = Options { pictures: Some("pool-".to_owned()), ..Options::default() };
    let written = rendered(&RUN.0, &RUN.1, Format::Markdown, &options).unwrap();
    assert_eq!(written.pictures.len(), 8);
    for picture in &written.pictures {
        assert!(written.text.contains(&format!("]({})", picture.file)), "{}", picture.file);
        assert!(picture.svg.starts_with("<svg") && picture.svg.ends_with("</svg>\n"), "{}", picture.file);
        assert!(
            picture.svg.contains(">threads</text>") && picture.svg.contains(">pool</text>"),
            "{}",
            picture.file
        );
    }
    assert_eq!(written.pictures[0].file, "pool-throughput-oltp-read-only.svg");
    for text in [">Connections</text>", ">1,024</text>", ">transactions per second</text>"] {
        assert!(written.pictures[0].svg.contains(text), "{text}");
    }
    let plain = rendered(&RUN.0, &RUN.1, Format::Markdown, &Options::default()).unwrap();
    assert!(plain.pictures.is_empty() && !plain.text.contains("!["));
}

/// Every heading of a page can be linked to, by the same name in both languages.
#[test]
fn sections_have_names_that_stay() {
    let ids = |language| {
        let page = report_as(Format::Html, &Options { language, ..Options::default() });
        let sections = page.split("<section ").skip(1);
        let id = |section: &str| section.split("id=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        sections.map(id).collect::<Vec<_>>()
    };
    let english = ids(Language::English);
    let known =
        ["found", "compared", "results-oltp-read-only", "results-oltp-update-non-index", "course", "cost"];
    assert_eq!(english[..6], known);
    assert_eq!(english, ids(Language::Chinese));
}

#[test]
fn csv_has_a_line_for_each_point() {
    let text = report(Format::Csv);
    let mut lines = text.split_terminator("\r\n");
    let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(heads[..6], ["workload", "server", "stream", "connections", "idle", "trials"]);
    let column = |name: &str| heads.iter().position(|head| *head == name).unwrap();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 20);
    let pool = rows.iter().find(|row| row[..4] == ["oltp_read_only", "pool", "main", "1024"]).unwrap();
    let number = |name: &str| pool[column(name)].parse::<f64>().unwrap();
    assert!(
        number("throughput_low") < number("throughput") && number("throughput") < number("throughput_high")
    );
    assert!(number("latency_p95_ms") < number("latency_p99_ms"));
}

#[test]
fn an_unfinished_run_without_a_trial_still_has_a_report() {
    let mut record = RUN.0.clone();
    record.trials.clear();
    record.servers.clear();
    record.complete = false;
    let axis = Axis::of(&record.plan);
    let nothing = Findings {
        axis,
        points: Vec::new(),
        comparisons: Vec::new(),
        effects: Vec::new(),
        rates: Vec::new(),
        crashes: Vec::new(),
        published: None,
        unscaled: Vec::new(),
        scalings: Vec::new(),
        claims: Vec::new(),
        findings: Vec::new(),
    };
    for (_, format) in Format::ALL {
        let text = render(&record, &nothing, format, &Options::default()).unwrap();
        assert!(
            format == Format::Csv || text.contains("The run was not finished: 0 of 60 trials are in it.")
        );
    }
}

#[test]
fn what_people_wrote_and_how_the_run_went_on_is_told_in_both_languages_and_once() {
    let mut record = RUN.0.clone();
    record.labels = vec!["baseline".to_owned(), "nightly".to_owned()];
    record.note = "new kernel".to_owned();
    let resumed = |differences: &[&str]| prony::store::Resumed {
        at: synthetic::started(),
        prony_version: "1.2.3".to_owned(),
        differences: differences.iter().map(|one| (*one).to_owned()).collect(),
    };
    record.resumed = vec![resumed(&[]), resumed(&["machine: kernel was 6.1, is 6.6"])];
    let noted = |read: &str| prony::run::Note::Machine {
        id: "governor".to_owned(),
        read: read.to_owned(),
        effect: "the clock follows the load".to_owned(),
        remedy: "set another one".to_owned(),
    };
    // each start of the run has looked at the machine
    record.notes = vec![noted("powersave"), noted("powersave"), noted("ondemand")];
    for (language, wanted, remark) in [
        (
            Language::English,
            ["labels: baseline, nightly", "note: new kernel", "kernel was 6.1"],
            "the clock follows",
        ),
        (
            Language::Chinese,
            ["标签：baseline, nightly", "备注：new kernel", "kernel was 6.1"],
            "时钟随负载变化",
        ),
    ] {
        for format in [Format::Terminal, Format::Html, Format::Markdown] {
            let text =
                render(&record, &RUN.1, format, &Options { language, width: 200, ..Options::default() });
            let text = text.unwrap();
            let shown = text.split("id=\"prony-charts\"").next().unwrap();
            for words in wanted {
                assert!(shown.contains(words), "{format:?} does not say {words}");
            }
            assert_eq!(
                shown.matches(remark).count(),
                1,
                "{format:?}: a remark of the machine stands there once"
            );
            assert_eq!(shown.matches("powersave; ondemand").count(), 1, "{format:?}: with all that was read");
            let english = language == Language::English;
            assert_eq!(shown.contains("the clock follows the load"), english, "{format:?}");
        }
    }
    let json: serde_json::Value =
        serde_json::from_str(&render(&record, &RUN.1, Format::Json, &Options::default()).unwrap()).unwrap();
    assert_eq!(json["run"]["labels"][1], "nightly");
    assert_eq!(json["run"]["note"], "new kernel");
}

#[test]
fn the_committed_schema_is_that_of_the_report() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/report.json");
    if env::var_os("PRONY_UPDATE").is_some() {
        fs::write(path, schema()).unwrap();
    }
    let committed = fs::read_to_string(path).unwrap();
    assert!(committed == schema(), "the form of the report changed: run this test with PRONY_UPDATE=1");
}
