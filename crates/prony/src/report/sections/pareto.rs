//! Cost against response time: a server that is both cheaper and faster than another one is better, whatever
//! matters more. The line joins those that none beats in both (V. Pareto, *Manuale di economia politica*,
//! 1906).

use super::curves::look;
use crate::report::{
    chart::{Axis, Chart, Choice, Drawing, Line, Lines, Numbers, Panel, Scale, Stroke},
    document::{Document, Estimate, Point},
    words::Words,
};

/// The percentile that costs are compared with.
const PERCENTILE: &str = "p99";

/// A point of the chart.
struct Spot<'a> {
    series: &'a str,
    label: String,
    point: &'a Point,
    cost: Estimate,
    time: &'a Estimate,
}

/// The points of one load.
struct Load<'a> {
    about: String,
    spots: Vec<Spot<'a>>,
}

/// The chart; `None`: fewer than two points have a known cost.
pub(super) fn chart(document: &Document, words: Words) -> Option<Chart> {
    let money = in_money(document, words);
    let (title, loads) = match money {
        Some((currency, loads)) => (words.fill("html", "cost_money", &[("currency", &currency)]), loads),
        None => (words.get("html", "cost_cpu").to_owned(), in_processors(document)),
    };
    let loads: Vec<Load<'_>> = loads.into_iter().filter(|load| load.spots.len() > 1).collect();
    if loads.is_empty() {
        return None;
    }
    let (mut places, mut panels) = (Vec::new(), Vec::new());
    for (place, Load { spots, .. }) in loads.iter().enumerate() {
        let mut y = Axis { unit: "ms".to_owned(), scale: Scale::Logarithmic, ..Axis::default() };
        y.title = format!("{PERCENTILE} – {}", words.get("text", "unit_latency"));
        let mut lines = vec![front(spots, words, &mut places)];
        let mut names: Vec<&str> = spots.iter().map(|spot| spot.series).collect();
        names.dedup();
        lines.extend(names.into_iter().map(|name| line(document, name, spots, words, &mut places)));
        panels.push(Panel { y, lines, when: vec![(0, place)], ..Panel::default() });
    }
    let heading = words.get("html", "chart_pareto");
    let options = loads.into_iter().map(|load| load.about).collect();
    let choices = vec![Choice { title: words.get("head", "combination").to_owned(), options, first: 0 }];
    let x = Axis { title, scale: Scale::FromZero, ..Axis::default() };
    Some(Chart {
        id: "pareto".to_owned(),
        title: heading.to_owned(),
        about: words.get("html", "pareto_note").to_owned(),
        drawing: Drawing::Lines(Lines { choices, x, places, panels, ..Lines::default() }),
        numbers: Numbers::In(words.get("text", "cost").to_owned()),
    })
}

/// What a million transactions cost where each server sustains most, load by load; `None`: there are not two
/// prices in one currency.
fn in_money(document: &Document, words: Words) -> Option<(String, Vec<Load<'_>>)> {
    let offers = &document.buying.as_ref()?.offers;
    let currency = offers.iter().find_map(|offer| offer.currency.clone())?;
    let mut loads = Vec::new();
    for offer in offers.iter().filter(|offer| offer.currency.as_ref() == Some(&currency)) {
        let point = &document.points[offer.point];
        let known = offer.cost_per_million.zip(point.latency_ms.get(PERCENTILE));
        let Some((cost, time)) = known else { continue };
        let (series, label) = (document.shown(&offer.server), document.shown(&offer.server).to_owned());
        put(&mut loads, words.subject(&offer.levels), Spot { series, label, point, cost, time });
    }
    loads.iter().any(|load: &Load<'_>| load.spots.len() > 1).then_some((currency, loads))
}

/// Processor time that servers take for a transaction, table by table. With several streams, the time of each
/// stream is unknown.
fn in_processors(document: &Document) -> Vec<Load<'_>> {
    let mut loads = Vec::new();
    for group in &document.groups {
        for series in &group.series {
            for (rung, point) in group.rungs.iter().zip(&series.points) {
                let Some(point) = point.map(|index| &document.points[index]) else { continue };
                let is_own = |one: &&crate::report::resources::Resources| {
                    one.server == point.server && one.levels == point.levels
                };
                let own = document.resources.iter().find(is_own);
                let cost = own.and_then(|own| own.cost.server_cpu_us);
                let known = cost.zip(point.latency_ms.get(PERCENTILE)).filter(|_| point.trials > 0);
                let Some((cost, time)) = known else { continue };
                let cost = Estimate::bare(cost, 0.0, own.map_or(0, |own| own.trials));
                let (series, label) = (series.name.as_str(), rung.label.clone());
                put(&mut loads, group.title.clone(), Spot { series, label, point, cost, time });
            }
        }
    }
    loads
}

fn put<'a>(loads: &mut Vec<Load<'a>>, about: String, spot: Spot<'a>) {
    match loads.iter_mut().find(|load| load.about == about) {
        Some(load) => load.spots.push(spot),
        None => loads.push(Load { about, spots: vec![spot] }),
    }
}

/// The points that no other one beats in both, the cheapest first.
fn unbeaten<'a, 'b>(spots: &'b [Spot<'a>]) -> Vec<&'b Spot<'a>> {
    let mut sorted: Vec<&Spot<'_>> = spots.iter().filter(|spot| spot.point.overloaded == 0).collect();
    sorted.sort_by(|one, other| {
        one.cost.value.total_cmp(&other.cost.value).then(one.time.value.total_cmp(&other.time.value))
    });
    let mut fastest = f64::INFINITY;
    sorted.retain(|spot| {
        let is_faster = spot.time.value < fastest;
        fastest = fastest.min(spot.time.value);
        is_faster
    });
    sorted
}

fn front(spots: &[Spot<'_>], words: Words, places: &mut Vec<Vec<f64>>) -> Line {
    let unbeaten = unbeaten(spots);
    places.push(unbeaten.iter().map(|spot| spot.cost.value).collect());
    Line {
        name: words.get("html", "front").to_owned(),
        stroke: Stroke::Dashed,
        at: places.len() - 1,
        values: unbeaten.iter().map(|spot| Some(spot.time.value)).collect(),
        ..Line::default()
    }
}

/// The points of one series; no line joins them.
fn line(
    document: &Document,
    name: &str,
    spots: &[Spot<'_>],
    words: Words,
    places: &mut Vec<Vec<f64>>,
) -> Line {
    let own: Vec<&Spot<'_>> = spots.iter().filter(|spot| spot.series == name).collect();
    places.push(own.iter().map(|spot| spot.cost.value).collect());
    let overloaded = words.get("html", "overloaded");
    let hollow = own.iter().enumerate().filter(|(_, spot)| spot.point.overloaded > 0);
    Line {
        name: name.to_owned(),
        look: Some(look(document, name)),
        stroke: Stroke::None,
        has_points: true,
        at: places.len() - 1,
        values: own.iter().map(|spot| Some(spot.time.value)).collect(),
        low: own.iter().map(|spot| spot.time.low).collect(),
        high: own.iter().map(|spot| spot.time.high).collect(),
        left: own.iter().map(|spot| spot.cost.low).collect(),
        right: own.iter().map(|spot| spot.cost.high).collect(),
        labels: own.iter().map(|spot| spot.label.clone()).collect(),
        hollow: hollow.map(|(place, _)| (place, overloaded.to_owned())).collect(),
        ..Line::default()
    }
}
