//! Which server is enough for a load, and what it costs.

use crate::{
    analyse::{Buying, Enough, Offer},
    report::{
        block::{Block, Cell, Item, List, Marks, Reach, Section, Table, Tone},
        document::Document,
        number,
        words::Words,
    },
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let Some(buying) = document.buying.as_ref().filter(|buying| !buying.offers.is_empty()) else {
        return Vec::new();
    };
    let title = words.fill("buy", "title", &[("objective", &buying.objective)]);
    let mut section = Section::answer("buy", &title);
    section.add(Reach::Everywhere, table(document, buying, words));
    let items: Vec<Item> = buying
        .enough
        .iter()
        .map(|one| Item::about(&words.subject(&one.levels), enough(document, buying, one, words)))
        .collect();
    if !items.is_empty() {
        section.add(Reach::Everywhere, List { marks: Marks::Points, items });
    }
    if buying.offers.iter().any(|offer| !offer.searched) {
        section.add(Reach::Paper, Block::Text(words.get("buy", "note").to_owned()));
    }
    vec![section]
}

/// What each server sustained; where all costs are in one currency, the cheapest first.
fn table(document: &Document, buying: &Buying, words: Words) -> Table {
    let mut offers: Vec<&Offer> = buying.offers.iter().collect();
    let cost = |offer: &Offer| offer.cost_per_million.map_or(f64::INFINITY, |cost| cost.value);
    let mut currencies: Vec<&String> = offers.iter().filter_map(|offer| offer.currency.as_ref()).collect();
    currencies.dedup();
    if currencies.len() == 1 {
        offers.sort_by(|a, b| a.levels.cmp(&b.levels).then(cost(a).total_cmp(&cost(b))));
    }
    let mut varied: Vec<&str> = Vec::new();
    for name in offers.iter().flat_map(|offer| offer.levels.keys()) {
        if !varied.contains(&name.as_str()) {
            varied.push(name);
        }
    }
    let head = |key: &str| words.get("head", key).to_owned();
    let mut heads = vec![words.server_head(&document.servers_by)];
    heads.extend(varied.iter().map(|name| words.factor(name)));
    heads.extend(["connections", "sustained", "p99_ms", "kept"].map(head));
    if !currencies.is_empty() {
        heads.extend(["price", "per_million"].map(head));
    }
    let row = |offer: &&Offer| {
        let point = &document.points[offer.point];
        let mut cells = vec![Cell::name(document.shown(&offer.server))];
        let levels = varied.iter().map(|name| offer.levels.get(*name));
        cells.extend(levels.map(|level| level.map_or_else(Cell::empty, |level| Cell::name(level))));
        let estimated = |estimate: Option<stats::Estimate>| {
            estimate.map_or_else(Cell::empty, |estimate| Cell::number(number::estimate(&estimate)))
        };
        cells.extend([
            Cell::number(number::count(u64::from(point.connections))),
            estimated(offer.rate_per_second),
            estimated(point.latency_ms.get("p99").copied()),
            kept(offer, words),
        ]);
        if !currencies.is_empty() {
            let price = offer.price_per_hour.zip(offer.currency.as_deref());
            cells.push(price.map_or_else(Cell::empty, |price| Cell::number(money(price))));
            cells.push(estimated(offer.cost_per_million));
        }
        cells
    };
    let mut table = Table::new("", heads, offers.iter().map(row).collect());
    table.has_row_heads = true;
    table
}

fn kept(offer: &Offer, words: Words) -> Cell {
    if offer.doubtful {
        return Cell::toned(words.get("level", "invalid").to_owned(), Tone::Bad);
    }
    let places = [("kept", &*offer.kept.to_string()), ("trials", &*offer.trials.to_string())];
    let told = offer.kept + offer.broken;
    let key = if told == 0 { "kept_unknown" } else { "kept_of" };
    let tone = if offer.kept == offer.trials { Tone::Plain } else { Tone::Bad };
    Cell::toned(words.fill("buy", key, &places), tone)
}

/// `0.42 EUR`.
fn money((amount, currency): (f64, &str)) -> String {
    format!("{} {currency}", number::level(amount))
}

/// Which server is enough for a rate; if none is, what the strongest one reached.
fn enough(document: &Document, buying: &Buying, one: &Enough, words: Words) -> String {
    let wanted = number::rate(one.wanted_per_second);
    let name = |offer: usize| document.shown(&buying.offers[offer].server);
    let say = |key: &str, offer: usize| {
        let rate = buying.offers[offer].rate_per_second;
        let interval = rate.map(|rate| words.confidence(&rate, "ci", number::rate)).unwrap_or_default();
        let places = [
            ("wanted", &*wanted),
            ("objective", &buying.objective),
            ("server", name(offer)),
            ("rate", &rate.map(|rate| number::rate(rate.value)).unwrap_or_default()),
            ("interval", &interval),
        ];
        words.fill("buy", key, &places)
    };
    let mut text = match (one.first, one.most) {
        (Some(first), _) => say("enough", first),
        (None, Some(most)) => say("none", most),
        (None, None) => {
            words.fill("buy", "none_at_all", &[("wanted", &wanted), ("objective", &buying.objective)])
        }
    };
    if !one.open.is_empty() {
        let names: Vec<String> = one.open.iter().map(|&offer| name(offer).to_owned()).collect();
        text += &words.fill("buy", "open", &[("servers", &words.listed(&names))]);
    }
    let price = |offer: usize| {
        let offer = &buying.offers[offer];
        offer.price_per_hour.zip(offer.currency.as_deref()).map(money).unwrap_or_default()
    };
    if let Some(cheapest) = one.cheapest {
        let key = if Some(cheapest) == one.first { "cheapest_too" } else { "cheapest" };
        text += &words.fill("buy", key, &[("server", name(cheapest)), ("price", &price(cheapest))]);
    }
    text
}
