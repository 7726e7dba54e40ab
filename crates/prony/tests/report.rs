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
    analyse::{
        Answer, Axis, AxisKind, ClaimTally, ClaimVerdict, Comparison, Findings, Judgement, Open, Pair, Point,
        Published, Shape, Trust, Verdict, analyse,
    },
    plan::{Bound, Claim, Levels, Metric, Relation, Statement},
    report::{Format, Language, Options, render, rendered, schema},
    run::TrialOutcome,
    store::{RunRecord, TrialRecord},
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
    assert!(terminal.contains("Each transaction of the mix over the whole interval"), "{terminal}");
    let row = terminal.lines().find(|line| line.contains("<buy>")).unwrap();
    assert!(row.contains(" 25 "), "share: {row}");
    assert!(terminal.lines().any(|line| line.contains("look|up") && line.contains(" 75 ")), "{terminal}");
    let chinese = make(Format::Terminal, Language::Chinese);
    assert!(chinese.contains("混合负载中的各类事务") && chinese.contains("占比，%"), "{chinese}");
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
        let of_point = |each: &&Comparison| each.point == point && each.metric == Metric::Throughput;
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
    assert!(in_one(&page, Language::English).contains("<h3>How well the schedule was kept</h3>"));
    assert!(in_one(&page, Language::Chinese).contains("<h3>按计划发起的情况</h3>"));
}

/// What of a page is shown in a language.
fn in_one(page: &str, language: Language) -> String {
    let code = if language == Language::English { "en" } else { "zh-CN" };
    let mut parts = page.split("<span lang=\"");
    let mut shown = parts.next().unwrap().to_owned();
    for part in parts {
        let (said, rest) = part.split_once("</span>").unwrap();
        let (of, text) = said.split_once("\">").unwrap();
        shown.push_str(if of == code { text } else { "" });
        shown.push_str(rest);
    }
    shown
}

#[test]
fn a_buyer_is_told_which_server_is_enough_and_what_it_costs() {
    let mut record = RUN.0.clone();
    let rates_per_second = vec![500.0, 1150.0, 9000.0];
    record.plan.buy = Some(prony::plan::Buy { rates_per_second, objective: "p99 < 1s".to_owned() });
    let price = |per_hour| Some(prony::quantity::Price { per_hour, currency: "EUR".to_owned() });
    (record.plan.servers[0].price, record.plan.servers[1].price) = (price(0.36), price(0.72));
    let findings = analyse(&record);
    let make = |format, language| {
        let options = Options { language, width: 140, ..Options::default() };
        render(&record, &findings, format, &options).unwrap()
    };
    let terminal = make(Format::Terminal, Language::English);
    assert!(terminal.contains("Which server is enough at p99 < 1s"), "{terminal}");
    let said = |text: &str| terminal.split_whitespace().collect::<Vec<_>>().join(" ").contains(text);
    assert!(said(
        "For 500 transactions per second, threads is the first in order that is enough: it sustains"
    ));
    assert!(said("At 0.36 EUR per hour, it is also the cheapest that is enough."), "{terminal}");
    assert!(said("For 9,000 transactions per second, none of these servers is known to be enough."));
    for html in [make(Format::Html, Language::English), make(Format::Markdown, Language::English)] {
        assert!(html.contains("Per million transactions") && html.contains("3 of 3 trials"));
    }
    let chinese = make(Format::Terminal, Language::Chinese);
    assert!(chinese.contains("每百万事务费用") && !chinese.contains('{'), "{chinese}");
    let json: serde_json::Value = serde_json::from_str(&make(Format::Json, Language::English)).unwrap();
    let offers = json["buying"]["offers"].as_array().unwrap();
    assert_eq!((offers.len(), &offers[0]["currency"]), (4, &serde_json::json!("EUR")));
    assert_eq!(json["buying"]["enough"].as_array().unwrap().len(), 6);
}

#[test]
fn published_ratios_are_drawn_beside_the_measured_ones_and_directions_told() {
    let (record, findings) = &*RUN;
    let pair = |connections: &str, published: f64, value: f64, shape| Pair {
        metric: Metric::Throughput,
        levels: [("connections", connections), ("workload", "oltp_read_only")]
            .map(|(factor, level)| (factor.to_owned(), level.to_owned()))
            .into(),
        one: "pool".to_owned(),
        published,
        measured: stats::Estimate::between(value, value * 0.9, value * 1.1, 0.95, 3),
        shape,
    };
    let published = Published {
        source: "An evaluation".to_owned(),
        conditions: Vec::new(),
        stands_for: Default::default(),
        remarks: Vec::new(),
        compared: ("server".to_owned(), "threads".to_owned()),
        pairs: vec![
            pair("1024", 5.75, 1.625, Shape::Agrees),
            pair("4", 1.25, 0.625, Shape::Contradicts),
            pair("64", 1.125, 1.0625, Shape::Open),
        ],
        missing: 2,
    };
    let findings = Findings { published: Some(published), ..findings.clone() };
    let make = |format, language| {
        let options = Options { language, ..Options::default() };
        render(record, &findings, format, &options).unwrap()
    };
    let markdown = make(Format::Markdown, Language::English);
    let told = "same direction: 1024; opposite direction: 4; open: 64";
    assert!(markdown.contains(told), "{markdown}");
    assert!(make(Format::Markdown, Language::Chinese).contains("方向相同：1024；方向相反：4；未定：64"));
    let page = make(Format::Html, Language::English);
    let charts = charts_of(&page);
    let charts = charts["charts"].as_array().unwrap();
    let chart = &charts.iter().find(|chart| chart["id"] == "published").unwrap()["drawing"];
    let lines = chart["panels"][0]["lines"].as_array().unwrap();
    let line = |note: &str| lines.iter().find(|line| line["note"] == note).unwrap();
    // in the order of the axis, whatever the order of the figures
    let json = |values: [f64; 3]| serde_json::json!(values);
    assert_eq!(line("published")["values"], json([1.25, 1.125, 5.75]));
    assert_eq!(line("measured")["values"], json([0.625, 1.0625, 1.625]));
    assert_eq!(
        (&line("published")["low"], &line("measured")["low"][0]),
        (&serde_json::Value::Null, &0.5625.into())
    );
    assert_eq!(
        chart["places"][line("published")["at"].as_u64().unwrap() as usize],
        json([4.0, 64.0, 1024.0])
    );
    assert_eq!(line("published")["look"], line("measured")["look"]);
    let base = lines.iter().find(|line| line["name"] == "threads").unwrap();
    assert_eq!(base["values"], json([1.0, 1.0, 1.0]));
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
    assert!(
        text.contains("oltp_read_only：在并发数不低于 256 时，pool 的吞吐量是 threads 的 1.36 倍"),
        "{text}"
    );
    for line in text.lines() {
        let columns = line.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum::<usize>();
        assert!(columns <= 80, "{columns}: {line}");
    }
    let page = report_as(Format::Html, &options);
    assert!(page.contains("<html lang=\"zh-CN\">") && page.contains("如何阅读"));
    let asked = report_as(Format::Html, &Options { is_language_asked: true, ..options });
    assert!(asked.contains("<html lang=\"zh-CN\" data-asked>"));
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
    assert_eq!(without_viewer.matches("<div class=\"chart\"").count(), 16);
    assert!(!page.contains("prony-report"), "what charts do not need is not in it twice");
    assert!(!page.contains("hunter2"));
}

/// The charts of a page, as values.
fn charts_of(page: &str) -> serde_json::Value {
    let begin = "<script type=\"application/json\" id=\"prony-charts\">";
    let data = &page[page.find(begin).unwrap() + begin.len()..];
    in_english(serde_json::from_str(&data[..data.find("</script>").unwrap()]).unwrap())
}

/// Charts hold every language: what differs is `{"in": {LANGUAGE: ...}}`.
fn in_english(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Array(items) => items.into_iter().map(in_english).collect(),
        serde_json::Value::Object(mut fields) => match fields.remove("in") {
            Some(serde_json::Value::Object(mut said)) => {
                assert!(said.contains_key("zh-CN") && fields.is_empty(), "{said:?}");
                said.remove("en").unwrap()
            }
            _ => fields.into_iter().map(|(name, value)| (name, in_english(value))).collect(),
        },
        value => value,
    }
}

#[test]
fn charts_are_drawn_from_the_figures_of_the_report() {
    let data = charts_of(&report(Format::Html));
    let json: serde_json::Value = serde_json::from_str(&report(Format::Json)).unwrap();
    assert_eq!((&data["format"], &json["format"]), (&serde_json::json!(2), &serde_json::json!(3)));
    assert_eq!(json["trials"].as_array().unwrap().len(), 60);
    let differing = &json["settings_that_differ"];
    assert_eq!(differing[0]["variable"], "thread_handling");
    assert_eq!(differing[0]["values"][1], "pool-of-threads");
    let charts = data["charts"].as_array().unwrap();
    let ids: Vec<&str> = charts.iter().map(|chart| chart["id"].as_str().unwrap()).collect();
    let kinds = ["throughput", "latency", "tradeoff", "distribution", "timeline", "heat"];
    let groups = ["oltp-read-only", "oltp-update-non-index"];
    let wanted: Vec<String> =
        groups.iter().flat_map(|group| kinds.map(|kind| format!("{kind}-{group}"))).collect();
    assert_eq!(
        (ids[0], &ids[1..13]),
        ("picture", &wanted.iter().map(String::as_str).collect::<Vec<_>>()[..])
    );
    assert_eq!(ids[13..], ["comparisons", "course", "pareto"]);
    assert_eq!(charts[0]["drawing"], charts[1]["drawing"], "the first finding is about the first table");
    let group = &json["groups"][0];
    for (place, series) in group["series"].as_array().unwrap().iter().enumerate() {
        let points: Vec<&serde_json::Value> = series["points"]
            .as_array()
            .unwrap()
            .iter()
            .map(|at| &json["points"][at.as_u64().unwrap() as usize])
            .collect();
        let line = &charts[1]["drawing"]["panels"][0]["lines"][place];
        assert_eq!((&line["name"], &line["look"]), (&series["name"], &serde_json::json!(place)));
        for (rung, point) in points.iter().enumerate() {
            let drawn = [&line["values"][rung], &line["low"][rung], &line["high"][rung]];
            assert_eq!(drawn, ["value", "low", "high"].map(|end| &point["throughput"][end]));
            // the third choice of percentiles is p99
            let p99 = &charts[2]["drawing"]["panels"][2]["lines"][place];
            assert_eq!(p99["values"][rung], point["latency_ms"]["p99"]["value"]);
            // the same against throughput, with what it is beside it
            let against = &charts[3]["drawing"]["panels"][2]["lines"][place];
            let places = &charts[3]["drawing"]["places"][against["at"].as_u64().unwrap() as usize];
            assert_eq!(against["values"][rung], point["latency_ms"]["p99"]["value"]);
            assert_eq!(places[rung], point["throughput"]["value"]);
            assert_eq!(against["labels"][rung], group["rungs"][rung]["label"]);
        }
    }
    // of the last place, all trials second by second: rates, then response times
    let panels = charts[5]["drawing"]["panels"].as_array().unwrap();
    let rates = panels[panels.len() - 2]["lines"].as_array().unwrap();
    let trial = json["trials"].as_array().unwrap().iter().find(|trial| {
        (&trial["levels"]["workload"], &trial["levels"]["connections"])
            == (&"oltp_read_only".into(), &"1024".into())
    });
    assert_eq!(rates[0]["values"], trial.unwrap()["streams"][0]["seconds"]["throughput"]);
    assert_eq!(rates.len(), 6, "three repeats of two servers");
    every_comparison_is_a_ratio_with_its_interval(&charts[13], &json);
    every_transaction_of_a_trial_is_in_its_map(&charts[6], &json);
}

/// The cells of a map times the lengths of its columns are the transactions of that trial's seconds.
fn every_transaction_of_a_trial_is_in_its_map(chart: &serde_json::Value, json: &serde_json::Value) {
    let drawn = &chart["drawing"]["panels"][0]["heat"];
    let heats = json["heats"].as_array().unwrap();
    let heat = heats.iter().find(|heat| heat["per_second"] == drawn["values"]).unwrap();
    let numbers = |value: &serde_json::Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let sum = |until: &[f64], rates: &dyn Fn(usize) -> f64| {
        let length = |place: usize| until[place] - if place == 0 { 0.0 } else { until[place - 1] };
        (0..until.len()).map(|place| rates(place) * length(place)).sum::<f64>()
    };
    let until = numbers(&heat["until_s"]);
    let found = sum(&until, &|column| numbers(&heat["per_second"][column]).iter().sum());
    let trial = &RUN.0.trials[heat["trial"].as_u64().unwrap() as usize];
    let ended: u64 = trial.seconds.iter().map(|second| second.transactions.response().count()).sum();
    assert!(ended > 100 && (found / ended as f64 - 1.0).abs() < 0.01, "{found} of {ended}");
    let edges = numbers(&drawn["edges"]);
    assert!(edges.is_sorted() && edges.len() > 2, "{edges:?}");
}

#[test]
fn a_summary_for_a_pipeline_is_short_and_says_what_was_claimed() {
    let (record, findings) = with_claims();
    let text = render(&record, &findings, Format::Github, &Options::default()).unwrap();
    assert!(text.starts_with("## ") && text.len() < 20_000, "{} bytes", text.len());
    let answer = text.split("<details>").next().unwrap();
    for sign in ["✅ ", "❌ ", "❔ "] {
        assert_eq!(answer.matches(sign).count(), 1, "{sign}: {answer}");
    }
    assert!(answer.contains("Trust") && answer.contains("Claims: 1 of 3 supported"), "{answer}");
    assert!(text.contains("| Connections |") && text.ends_with("</details>\n"), "{text}");
}

/// In rows below the names of their tables; filled where it is called better or worse.
fn every_comparison_is_a_ratio_with_its_interval(chart: &serde_json::Value, json: &serde_json::Value) {
    let labels = chart["drawing"]["x"]["ticks"].as_array().unwrap();
    assert_eq!((labels.len(), &labels[0]["label"]), (12, &"oltp_read_only".into()));
    for (place, metric) in ["throughput", "p95", "p99"].into_iter().enumerate() {
        let lines = chart["drawing"]["panels"][place]["lines"].as_array().unwrap();
        assert_eq!((lines.len(), &lines[0]["name"], &lines[0]["look"]), (1, &"pool".into(), &1.into()));
        let drawn: Vec<&serde_json::Value> =
            lines[0]["values"].as_array().unwrap().iter().filter(|value| !value.is_null()).collect();
        let compared = json["comparisons"].as_array().unwrap().iter().filter(|one| one["metric"] == metric);
        let compared: Vec<&serde_json::Value> = compared.collect();
        let ratios: Vec<&serde_json::Value> = compared.iter().map(|one| &one["ratio"]["value"]).collect();
        assert_eq!(drawn, ratios);
        let open = compared.iter().filter(|one| one["verdict"] != "better" && one["verdict"] != "worse");
        assert_eq!(lines[0].get("hollow").map_or(0, |all| all.as_object().unwrap().len()), open.count());
    }
}

#[test]
fn markdown_that_is_written_to_a_file_has_its_charts_beside_it() {
    let options = Options { pictures: Some("pool-".to_owned()), ..Options::default() };
    let written = rendered(&RUN.0, &RUN.1, Format::Markdown, &options).unwrap();
    assert_eq!(written.pictures.len(), 13);
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
    let known = [
        "answer",
        "found",
        "compared",
        "results-oltp-read-only",
        "results-oltp-update-non-index",
        "comparisons",
    ];
    assert_eq!(english[..6], known);
    for id in &english {
        assert!(report(Format::Html).contains(&format!("href=\"#{id}\"")), "{id} is among the contents");
    }
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

/// The run with three claims: one holds, one does not, one is open.
fn with_claims() -> (RunRecord, Findings) {
    let mut findings = RUN.1.clone();
    let statement = Statement::Value(Bound { relation: Relation::Below, value: 1.0 });
    let says = "it is so".to_owned();
    let claim = Claim {
        says,
        says_zh: String::new(),
        conclusion: None,
        metric: Metric::Errors,
        of: Levels::new(),
        statement,
    };
    let verdicts = [
        (ClaimVerdict::Supported, None),
        (ClaimVerdict::Refuted, None),
        (ClaimVerdict::Open, Some(Open::NotMeasured)),
    ];
    findings.claims = verdicts
        .map(|(verdict, open)| Judgement {
            claim: claim.clone(),
            verdict,
            open,
            parts: Vec::new(),
            decisive: None,
        })
        .to_vec();
    findings.answer.claims = ClaimTally { supported: 1, refuted: 1, open: 1 };
    (RUN.0.clone(), findings)
}

#[test]
fn junit_has_a_case_for_each_claim_that_a_reader_of_xml_finds() {
    let (mut record, findings) = with_claims();
    record.plan.title = "</testsuites>&\" \u{1b}[2J\u{0}\u{ffff}\nnew line".to_owned();
    let text = render(&record, &findings, Format::Junit, &Options::default()).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    let suite = document.root_element().first_element_child().unwrap();
    let count = |name: &str| suite.attribute(name).unwrap().parse::<usize>().unwrap();
    assert_eq!(
        (count("tests"), count("failures"), count("skipped"), count("errors")),
        (4, 1, 1, 1),
        "one trial of the run failed"
    );
    let cases: Vec<_> = suite.children().filter(|node| node.has_tag_name("testcase")).collect();
    let result = |case: &roxmltree::Node<'_, '_>| {
        case.first_element_child().map(|child| child.tag_name().name().to_owned())
    };
    let results: Vec<_> = cases.iter().map(result).collect();
    assert_eq!(
        results,
        [None, Some("failure".to_owned()), Some("skipped".to_owned()), Some("error".to_owned())]
    );
    let title = suite.descendants().find(|node| node.attribute("name") == Some("title")).unwrap();
    assert_eq!(
        title.attribute("value"),
        Some("</testsuites>&\" \\u001b[2J\\u0000\u{fffd}\\nnew line"),
        "nothing in a text ends an element, and all of it is there"
    );
}

#[test]
fn junit_has_no_error_where_what_failed_was_repeated_well() {
    let (mut record, findings) = RUN.clone();
    let is_failed = |trial: &TrialRecord| matches!(trial.outcome, TrialOutcome::Failed(_));
    let errors = |record: &RunRecord| {
        let text = render(record, &findings, Format::Junit, &Options::default()).unwrap();
        text.contains(r#" errors="1" "#)
    };
    assert!(errors(&record), "a trial of the run failed");
    let failed = record.trials.iter().find(|trial| is_failed(trial)).unwrap().trial.number;
    let mut again = record.trials.iter().find(|trial| !is_failed(trial)).unwrap().clone();
    again.trial.number = 1000;
    again.trial.again_of = Some(failed);
    record.trials.push(again);
    assert!(!errors(&record));
}

#[test]
fn openmetrics_has_every_point_in_base_units() {
    let text = report(Format::OpenMetrics);
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    let mut families = Vec::new();
    for line in text.lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            families.push(family.split(' ').next().unwrap());
        }
        // samples of a family stand together, under its head
        assert!(line.starts_with('#') || line.starts_with(families.last().unwrap()), "{line}");
    }
    let once: std::collections::BTreeSet<_> = families.iter().collect();
    assert_eq!(once.len(), families.len());
    let of = |name: &str| text.lines().filter(|line| line.starts_with(&format!("{name}{{"))).count();
    assert_eq!(of("prony_transactions_per_second"), 20);
    assert_eq!(of("prony_response_time_seconds"), 100);
    let p95 = |line: &&str| {
        line.starts_with("prony_response_time_seconds{")
            && line.contains("connections=\"1024\"")
            && line.contains("server=\"pool\"")
            && line.contains("statistic=\"p95\"")
            && line.contains("workload=\"oltp_read_only\"")
    };
    let line = text.lines().find(p95).unwrap();
    let seconds: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    let csv = report(Format::Csv);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = rows[0].iter().position(|head| *head == "latency_p95_ms").unwrap();
    let pool = rows.iter().find(|row| row[..4] == ["oltp_read_only", "pool", "main", "1024"]).unwrap();
    let ms: f64 = pool[column].parse().unwrap();
    assert!((seconds * 1e3 / ms - 1.0).abs() < 1e-3, "{seconds} s and {ms} ms");
}

#[test]
fn an_unfinished_run_without_a_trial_still_has_a_report() {
    let mut record = RUN.0.clone();
    record.trials.clear();
    record.servers.clear();
    record.complete = false;
    let axis = Axis::of(&record.plan);
    let nothing = Findings {
        neighbours: Vec::new(),
        answer: Answer::default(),
        trust: Trust::default(),
        axis,
        points: Vec::new(),
        comparisons: Vec::new(),
        effects: Vec::new(),
        rates: Vec::new(),
        buying: None,
        advice: Vec::new(),
        next: None,
        crashes: Vec::new(),
        published: None,
        unscaled: Vec::new(),
        scalings: Vec::new(),
        claims: Vec::new(),
        findings: Vec::new(),
    };
    for (_, format) in Format::ALL {
        let text = render(&record, &nothing, format, &Options::default()).unwrap();
        let told = match format {
            Format::Csv => continue,
            Format::Junit => "60 of 60 trials could not be measured",
            Format::OpenMetrics => "prony_trials_measured{scale=\"quick\",study=\"quickstart\"} 0",
            _ => "The run is incomplete: it has 0 of 60 trials.",
        };
        assert!(text.contains(told), "{text}");
    }
}

#[test]
fn what_people_wrote_and_how_the_run_went_on_is_told_in_both_languages_and_once() {
    let mut record = RUN.0.clone();
    record.labels = vec!["baseline".to_owned(), "nightly".to_owned()];
    record.note = "new kernel".to_owned();
    let resumed = |differences: &[prony::store::Difference]| prony::store::Resumed {
        at: synthetic::started(),
        prony_version: "1.2.3".to_owned(),
        differences: differences.to_vec(),
    };
    let kernel = prony::store::Difference {
        of: prony::store::Of::Machine,
        what: "kernel".to_owned(),
        was: Some("6.1".to_owned()),
        is: Some("6.6".to_owned()),
    };
    record.resumed = vec![resumed(&[]), resumed(&[kernel])];
    let noted = |names: &str| {
        let names = names.to_owned();
        prony::run::Note::Machine(prony::doctor::Reading::Governor { of: 4, slow: 4, names })
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
            ["标签：baseline, nightly", "备注：new kernel", "内核原为 6.1"],
            "时钟频率随负载变化",
        ),
    ] {
        for format in [Format::Terminal, Format::Html, Format::Markdown] {
            let text =
                render(&record, &RUN.1, format, &Options { language, width: 200, ..Options::default() });
            let text = text.unwrap();
            let shown = in_one(text.split("id=\"prony-charts\"").next().unwrap(), language);
            for words in wanted {
                assert!(shown.contains(words), "{format:?} does not say {words}");
            }
            assert_eq!(
                shown.matches(remark).count(),
                1,
                "{format:?}: a remark of the machine stands there once"
            );
            for name in ["powersave", "ondemand"] {
                assert_eq!(shown.matches(name).count(), 1, "{format:?}: with all that was read");
            }
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
