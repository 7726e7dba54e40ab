//! How servers execute the statements, beginning with those that they execute in different ways.

use super::cost;
use crate::{
    analyse::{ServersPlan, StatementPlans},
    report::{
        block::{Block, Cell, Reach, Section, Table},
        document::Document,
        number, plans,
        words::Words,
    },
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let all = &document.plans;
    if all.is_empty() {
        return Vec::new();
    }
    let different: Vec<&StatementPlans> = all.iter().filter(|one| one.differ()).collect();
    let reach = if different.is_empty() { Reach::Paper } else { Reach::Everywhere };
    let mut section = Section::new("plans", words.get("text", "plans"));
    section.titled = reach;
    if document.servers.len() > 1 {
        section.add(reach, Block::Text(plans::sentence(all, words)));
    }
    if !different.is_empty() {
        section.add(reach, table(&different, document, words));
        section.add(Reach::Paper, Block::Text(words.get("text", "plans_note").to_owned()));
    }
    let same: Vec<&StatementPlans> = all.iter().filter(|one| !one.differ()).collect();
    let mut others: Vec<Block> = Vec::new();
    if !same.is_empty() {
        others.push(table(&same, document, words).into());
    }
    for one in all {
        others.push(Block::Heading(name(one, document)));
        others.push(Block::Code(one.sql.clone()));
        for plan in &one.plans {
            others.push(Block::Text(servers(plan, document)));
            others.push(Block::Code(plan.text.clone()));
        }
    }
    section.extend(Reach::Paper, cost::work_each(document, words));
    section.add(Reach::Page, Block::Folded(words.get("text", "plans_all").to_owned(), others));
    vec![section]
}

/// A row for each plan of each statement.
fn table(all: &[&StatementPlans], document: &Document, words: Words) -> Table {
    let row = |one: &StatementPlans, place: usize, plan: &ServersPlan| {
        let rows: Vec<u64> = plan.accesses.iter().filter_map(|access| access.rows).collect();
        vec![
            Cell::name(&if place == 0 { name(one, document) } else { String::new() }),
            Cell::name(&servers(plan, document)),
            Cell::code(&plans::way(&plan.accesses, words)),
            match &rows[..] {
                [] => Cell::empty(),
                // a join reads them for each row of the table before
                _ => Cell::number(number::count(rows.iter().fold(1, |all, &rows| all.saturating_mul(rows)))),
            },
        ]
    };
    let rows = all.iter().flat_map(|one| {
        one.plans.iter().enumerate().map(|(place, plan)| row(one, place, plan)).collect::<Vec<_>>()
    });
    let heads = ["statement", "server", "plan", "rows_expected"];
    let heads = heads.map(|head| words.get("head", head).to_owned()).into();
    Table::new("", heads, rows.collect())
}

/// A statement, with what distinguishes it from others of the same name.
fn name(one: &StatementPlans, document: &Document) -> String {
    let mut name = plans::name(one);
    let of_name = |other: &&StatementPlans| plans::name(other) == name;
    if document.plans.iter().filter(of_name).any(|other| other.rows != one.rows) {
        name = format!("{name} ({})", number::count(one.rows));
    }
    name
}

fn servers(plan: &ServersPlan, document: &Document) -> String {
    plan.servers.iter().map(|server| document.shown(server)).collect::<Vec<_>>().join(", ")
}
