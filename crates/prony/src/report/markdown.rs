//! The report as Markdown, to be pasted into a ticket or a wiki.

use super::{
    conditions,
    detail::details,
    document::Document,
    rates,
    resources::{cost_table, evidence},
    table::{Layout, Remarks, Table, table},
    terminal::{notes, summary},
    words::Words,
};
use crate::escape::markdown;
use std::fmt::Write as _;

/// The report.
pub(super) fn render(document: &Document, words: Words) -> String {
    let mut text = format!("# {}\n\n", markdown(&document.run.title));
    if !document.claims.is_empty() {
        let _ = writeln!(text, "## {}\n", words.get("head", "claims"));
        for claim in &document.claims {
            let says = format!("{} {}", claim.says, claim.text);
            let _ = writeln!(text, "- **{}**: {}", claim.verdict_words, markdown(&says));
        }
        let _ = writeln!(text, "\n{}\n", words.get("claim", "level"));
    }
    if !document.findings.is_empty() {
        let _ = writeln!(text, "## {}\n", markdown(&words.found_head(document)));
    }
    for finding in &document.findings {
        let about = if finding.about.is_empty() {
            String::new()
        } else {
            format!("**{}**: ", markdown(&finding.about))
        };
        let _ = writeln!(text, "- {about}{}", markdown(&finding.text));
    }
    let _ = writeln!(text, "\n## {}", words.get("html", "results"));
    let remarks = Remarks::of(document, words);
    for group in &document.groups {
        let table = table(document, group, Layout::Stacked, &remarks, words);
        if !table.title.is_empty() {
            let _ = write!(text, "\n### {}\n", markdown(&table.title));
        }
        put_table(&mut text, &table);
        for detail in details(document, group, words) {
            let _ = write!(text, "\n{}\n", markdown(&detail.title));
            put_table(&mut text, &detail);
        }
    }
    text.push('\n');
    for (number, remark) in remarks.texts().enumerate() {
        let _ = writeln!(text, "- [{}] {}", number + 1, markdown(remark));
    }
    if let Some(table) = rates::table(document, words) {
        let _ = writeln!(text, "\n## {}", markdown(&table.title));
        put_table(&mut text, &table);
        let _ = writeln!(text, "\n{}", words.get("text", "rates_note"));
    }
    if let Some(table) = cost_table(document, words) {
        let _ = writeln!(text, "\n## {}", markdown(&table.title));
        put_table(&mut text, &table);
        text.push('\n');
        for (about, sentence) in evidence(document, words) {
            let _ = writeln!(text, "- **{}**: {}", markdown(&about), markdown(&sentence));
        }
    }
    for note in notes(document, words) {
        let _ = writeln!(text, "\n{}", markdown(&note));
    }
    if !document.conduct.is_empty() {
        let _ = writeln!(text, "\n## {}\n", words.get("head", "conduct"));
        for sentence in &document.conduct {
            let _ = writeln!(text, "- {}", markdown(sentence));
        }
    }
    let _ = writeln!(text, "\n## {}\n", words.get("text", "compared"));
    for line in summary(document, words) {
        let _ = writeln!(text, "- {}", markdown(&line));
    }
    if let Some(table) = conditions::table(document, words) {
        let _ = write!(text, "\n{}\n", markdown(&table.title));
        put_table(&mut text, &table);
    }
    text
}

pub(super) fn put_table(text: &mut String, table: &Table) {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    text.push('\n');
    text.push_str(&line(table.heads.iter().map(|head| markdown(head)).collect()));
    let is_numeric =
        |column: usize| table.rows.first().and_then(|row| row.get(column)).is_some_and(|cell| cell.numeric);
    let rule =
        (0..table.heads.len()).map(|column| if is_numeric(column) { "---:" } else { "---" }.to_owned());
    text.push_str(&line(rule.collect()));
    for row in &table.rows {
        text.push_str(&line(row.iter().map(|cell| markdown(&cell.text)).collect()));
    }
}
