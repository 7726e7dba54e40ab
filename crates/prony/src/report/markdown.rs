//! A report as Markdown, to be pasted into a ticket or a wiki.

use super::{
    block::{Block, Item, List, Marks, Reach, Report, Section, Table, Tone},
    chart::Numbers,
    svg::Picture,
};
use crate::escape::markdown;
use std::fmt::Write as _;

/// The text, with a picture for each chart that has one.
pub(super) fn render(report: &Report, pictures: &[Picture]) -> String {
    let mut text = String::new();
    if report.titled <= Reach::Paper {
        let _ = writeln!(text, "# {}", markdown(&report.title));
    }
    report.sections.iter().for_each(|section| put_section(&mut text, section, Reach::Paper, "##", pictures));
    text.trim_start().to_owned()
}

/// The summary beside a pipeline's result: the findings, with the figures folded.
pub(super) fn summary(report: &Report, figures: &str) -> String {
    let mut text = format!("## {}\n", markdown(&report.title));
    let (answers, others): (Vec<&Section>, Vec<&Section>) =
        report.sections.iter().partition(|section| section.is_answer);
    for section in answers {
        let mark = if section.id == "answer" { "" } else { "###" };
        put_section(&mut text, section, Reach::Everywhere, mark, &[]);
    }
    let _ = writeln!(text, "\n<details><summary>{}</summary>", crate::escape::html(figures));
    others.into_iter().for_each(|section| put_section(&mut text, section, Reach::Everywhere, "####", &[]));
    text.push_str("\n</details>\n");
    text
}

fn put_section(text: &mut String, section: &Section, reach: Reach, mark: &str, pictures: &[Picture]) {
    let mut blocks = section.shown(reach).peekable();
    let heading = section.heading(reach).filter(|_| !mark.is_empty() && blocks.peek().is_some());
    if let Some(heading) = heading {
        let _ = writeln!(text, "\n{mark} {}", markdown(heading));
    }
    blocks.for_each(|block| put(text, block, pictures));
}

/// A block, preceded by an empty line.
fn put(text: &mut String, block: &Block, pictures: &[Picture]) {
    match block {
        Block::Heading(heading) => text.push_str(&format!("\n### {}\n", markdown(heading))),
        Block::Text(sentence) => text.push_str(&format!("\n{}\n", markdown(sentence))),
        Block::List(list) => put_list(text, list),
        Block::Table(table) => put_table(text, table),
        Block::Charts(charts) => {
            for chart in charts {
                if let Some(picture) = pictures.iter().find(|picture| picture.chart == chart.id) {
                    let _ = writeln!(text, "\n![{}]({})", markdown(&chart.title), picture.file);
                }
                if let Numbers::Table(table) = &chart.numbers {
                    put_table(text, table);
                }
            }
        }
        Block::Code(code) => {
            text.push('\n');
            code.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
        }
        Block::Folded(line, blocks) => {
            let _ = writeln!(text, "\n<details><summary>{}</summary>", crate::escape::html(line));
            blocks.iter().for_each(|block| put(text, block, pictures));
            text.push_str("\n</details>\n");
        }
    }
}

fn put_list(text: &mut String, list: &List) {
    text.push('\n');
    for (place, item) in list.items.iter().enumerate() {
        let mark = if list.marks == Marks::Numbers { format!("[{}] ", place + 1) } else { String::new() };
        put_item(text, item, &format!("- {mark}"));
    }
}

fn put_item(text: &mut String, item: &Item, mark: &str) {
    // a sign shows the verdict at a glance
    let sign = match item.tone {
        _ if item.title.is_empty() => "",
        Tone::Good => "✅ ",
        Tone::Bad => "❌ ",
        Tone::Faint => "❔ ",
        Tone::Plain => "",
    };
    let lead = if item.lead.is_empty() {
        String::new()
    } else {
        format!("**{}**{}", markdown(&item.lead), item.colon())
    };
    let said = [item.title.as_str(), item.text.as_str()].map(markdown);
    let said = said.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    let _ = writeln!(text, "{mark}{sign}{lead}{}", said.join(" "));
    item.under.iter().for_each(|item| put_item(text, item, "  - "));
}

fn put_table(text: &mut String, table: &Table) {
    if !table.title.is_empty() {
        let _ = write!(text, "\n{}\n", markdown(&table.title));
    }
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    text.push('\n');
    text.push_str(&line(table.heads.iter().map(|head| markdown(head)).collect()));
    let rule = (0..table.heads.len()).map(|column| if table.is_numeric(column) { "---:" } else { "---" });
    text.push_str(&line(rule.map(str::to_owned).collect()));
    for row in &table.rows {
        text.push_str(&line(row.iter().map(|cell| markdown(&cell.text)).collect()));
    }
}
