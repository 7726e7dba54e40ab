//! Machine, client and servers second by second: one trial of each treatment, its figures one below the other
//! on one time axis.

use crate::report::{
    block::{Block, Reach, Section},
    chart::{Axis, Chart, Choice, Drawing, Line, Lines, Numbers, Panel, Scale, Shade, Stroke, When},
    course::Course,
    document::{Document, TrialStream},
    words::Words,
};

/// The server figure that is shown first: how much the servers do at the same time.
const COUNTED_FIRST: &str = "status/threads_running";

/// Panels of figures: key of the title, unit, the factor that values are multiplied by, whether they are
/// stacked.
const PANELS: [(&str, &str, f64, bool); 7] = [
    ("switches", "/s", 1.0, false),
    ("cpu", "CPU", 1.0, true),
    ("processes", "CPU", 1.0, true),
    ("memory", "MB", 1.0, false),
    ("disk", "MB/s", 1.0, false),
    ("network", "MB/s", 1.0, false),
    ("pressure", "%", 100.0, false),
];

/// Figures by panel: their names in a course, the keys of their names in words, colour and stroke.
const FIGURES: [(&str, &str, &str, usize, Stroke); 23] = [
    ("switches", "server/switches_voluntary", "server_voluntary", 0, Stroke::Solid),
    ("switches", "server/switches_involuntary", "server_involuntary", 1, Stroke::Solid),
    ("switches", "machine/switches", "machine", 4, Stroke::Dashed),
    ("cpu", "cpu/user", "user", 0, Stroke::Solid),
    ("cpu", "cpu/system", "system", 1, Stroke::Solid),
    ("cpu", "cpu/iowait", "iowait", 4, Stroke::Solid),
    ("cpu", "cpu/steal", "steal", 5, Stroke::Solid),
    ("processes", "server/cpu_user", "server_user", 0, Stroke::Solid),
    ("processes", "server/cpu_system", "server_system", 1, Stroke::Solid),
    ("processes", "client/cpu_user", "client_user", 2, Stroke::Solid),
    ("processes", "client/cpu_system", "client_system", 3, Stroke::Solid),
    ("processes", "relay/cpu_user", "relay_user", 4, Stroke::Solid),
    ("processes", "relay/cpu_system", "relay_system", 5, Stroke::Solid),
    ("memory", "server/memory_mb", "server", 0, Stroke::Solid),
    ("memory", "client/memory_mb", "client", 2, Stroke::Solid),
    ("disk", "disk/read_mb", "read", 0, Stroke::Solid),
    ("disk", "disk/written_mb", "written", 1, Stroke::Solid),
    ("disk", "server/written_mb", "server_written", 4, Stroke::Dashed),
    ("network", "network/received_mb", "received", 0, Stroke::Solid),
    ("network", "network/sent_mb", "sent", 1, Stroke::Dashed),
    ("pressure", "pressure/cpu_some", "cpu_some", 0, Stroke::Solid),
    ("pressure", "pressure/io_some", "io_some", 1, Stroke::Solid),
    ("pressure", "pressure/memory_some", "memory_some", 2, Stroke::Solid),
];

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    if document.courses.is_empty() {
        return Vec::new();
    }
    let title = words.get("html", "course");
    let mut section = Section::new("course", title);
    section.add(Reach::Page, Block::Text(words.get("html", "course_note").to_owned()));
    let chart = Chart {
        id: "course".to_owned(),
        title: title.to_owned(),
        about: String::new(),
        drawing: Drawing::Lines(lines(document, words)),
        numbers: Numbers::In(words.get("text", "cost").to_owned()),
    };
    section.add(Reach::Page, Block::Charts(vec![chart]));
    vec![section]
}

fn lines(document: &Document, words: Words) -> Lines {
    let mut counted: Vec<&String> = document.courses.iter().flat_map(counted).collect();
    counted.sort();
    counted.dedup();
    let trials = Choice {
        title: words.get("course", "of").to_owned(),
        options: document.courses.iter().map(|course| course.about.clone()).collect(),
        first: 0,
    };
    let figures = Choice {
        title: words.get("course", "counted").to_owned(),
        options: counted.iter().map(|name| name.trim_start_matches("status/").to_owned()).collect(),
        first: counted.iter().position(|name| *name == COUNTED_FIRST).unwrap_or(0),
    };
    let x = Axis { title: words.get("html", "seconds").to_owned(), unit: "s".to_owned(), ..Axis::default() };
    let mut lines = Lines { choices: vec![trials, figures], x, ..Lines::default() };
    for (place, course) in document.courses.iter().enumerate() {
        put(&mut lines, document, course, place, &counted, words);
    }
    lines
}

/// Names of the server counters, as options of a choice.
fn counted(course: &Course) -> impl Iterator<Item = &String> {
    let is_counted =
        |name: &&String| ["status/", "metric/", "state/"].iter().any(|one| name.starts_with(one));
    course.figures.keys().filter(is_counted)
}

/// The panels of one course.
fn put(
    into: &mut Lines,
    document: &Document,
    course: &Course,
    place: usize,
    counted: &[&String],
    words: Words,
) {
    let when = vec![(0, place)];
    let (from, until) = course.interval_s;
    if from > 0.0 {
        let name = words.get("html", "warm_up").to_owned();
        into.shades.push(Shade { from: 0.0, until: Some(from), name, when: when.clone() });
    }
    into.shades.push(Shade { from: until, until: None, name: String::new(), when: when.clone() });
    let streams = document.trials.get(course.trial).map(|trial| trial.streams.as_slice()).unwrap_or_default();
    let first = into.places.len();
    into.places.extend(streams.iter().map(|stream| stream.seconds.end_s.clone()));
    into.panels.extend(of_load(streams, first, &when, words));
    let longest = course.lag_ms.iter().map(Vec::len).max().unwrap_or(0);
    // steps of one second, except in a long trial
    let step = (until / longest.max(1) as f64).max(1.0);
    let lag = |(member, values): (usize, &Vec<Option<f64>>)| Line {
        name: words.fill("course", "member", &[("number", &(member + 1).to_string())]),
        look: Some(member),
        at: into.places.len(),
        values: values.clone(),
        over_gaps: true,
        ..Line::default()
    };
    let lag = course.lag_ms.iter().enumerate().map(lag).collect();
    into.panels.extend(panel(words.get("course", "lag"), "ms", lag, when.clone()));
    into.places.push((1..=longest).map(|end| (end as f64 * step).min(until)).collect());
    let at = into.places.len();
    into.places.push(course.at_s.clone());
    for (option, name) in counted.iter().enumerate() {
        let line = course.figures.get(*name).map(|values| Line {
            name: name.split_once('/').map_or("", |(_, name)| name).to_owned(),
            look: Some(3),
            at,
            values: values.clone(),
            over_gaps: true,
            ..Line::default()
        });
        let when = [&when[..], &[(1, option)]].concat();
        into.panels.extend(panel(words.get("course", "counted"), "", line.into_iter().collect(), when));
    }
    for (title, unit, times, stacked) in PANELS {
        let line = |(_, name, key, look, stroke): &(&str, &str, &str, usize, Stroke)| {
            let values = course.figures.get(*name)?;
            let values = values.iter().map(|value| value.map(|value| value * times)).collect();
            let name = words.get("course", key).to_owned();
            let (look, stroke) = (Some(*look), *stroke);
            Some(Line { name, look, stroke, at, values, over_gaps: true, ..Line::default() })
        };
        let lines = FIGURES.iter().filter(|(panel, ..)| *panel == title).filter_map(line).collect();
        let panel = panel(words.get("course", title), unit, lines, when.clone());
        into.panels.extend(panel.map(|panel| Panel { stacked, ..panel }));
    }
}

/// What the load did: throughput and response times of each stream.
fn of_load(streams: &[TrialStream], first: usize, when: &When, words: Words) -> Vec<Panel> {
    let line = |place: usize, name: &str, look: usize, values: Vec<Option<f64>>| Line {
        name: if streams.len() > 1 {
            format!("{} {name}", streams[place].name).trim().to_owned()
        } else {
            name.to_owned()
        },
        look: Some(look),
        at: first + place,
        values,
        over_gaps: true,
        ..Line::default()
    };
    let throughput = words.get("course", "throughput");
    let (mut rates, mut times) = (Vec::new(), Vec::new());
    for (place, stream) in streams.iter().enumerate() {
        let name = if streams.len() > 1 { "" } else { throughput };
        let seconds = &stream.seconds;
        rates.push(line(place, name, place, seconds.throughput.iter().copied().map(Some).collect()));
        times.push(line(place, "p95", 2 * place, seconds.p95_ms.clone()));
        times.push(line(place, "p99", 2 * place + 1, seconds.p99_ms.clone()));
    }
    let rates = panel(throughput, "/s", rates, when.clone());
    let mut times = panel(words.get("course", "latency"), "ms", times, when.clone());
    if let Some(panel) = &mut times {
        panel.y.scale = Scale::Logarithmic;
    }
    rates.into_iter().chain(times).collect()
}

/// A panel; `None`: there is nothing to show.
fn panel(title: &str, unit: &str, lines: Vec<Line>, when: When) -> Option<Panel> {
    let y = Axis { unit: unit.to_owned(), ..Axis::default() };
    (!lines.is_empty()).then(|| Panel { title: title.to_owned(), y, lines, when, ..Panel::default() })
}
