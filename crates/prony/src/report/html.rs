//! A report as one HTML page that needs no network: its blocks, and their charts as values, which the viewer
//! draws; it is committed ready-made (`viewer/dist`).

use super::{
    block::{Block, Cell, CellKind, Item, List, Marks, Reach, Report, Section, Table},
    chart::{self, Chart, Charts, Numbers, VIEWER},
    words::Words,
};
use crate::escape;

const STYLE: &str = include_str!("page.css");
const THIRD_PARTY: &str = include_str!("../../../../viewer/dist/THIRD-PARTY.txt");

/// What the page may do: nothing outside of itself.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// Longer tables that are folded away scroll by themselves.
const ROWS_MAX: usize = 20;

/// The page.
pub(super) fn render(report: &Report, words: Words) -> String {
    let mut page = Page { text: String::new(), charts: Vec::new(), words, heading: "", is_folded: false };
    page.head(report);
    page.raw("<main>\n");
    for section in &report.sections {
        page.section(section);
    }
    page.raw("<noscript><p>")
        .text(words.get("html", "no_script"))
        .raw("</p></noscript>\n</main>\n\n<footer>\n<p>");
    page.text(&report.foot).raw("</p>\n<details><summary>").text(words.get("html", "licences"));
    page.raw("</summary>\n<pre class=\"licences\">").text(THIRD_PARTY).raw("</pre></details>\n</footer>\n");
    // without `<` nothing in it can end the element or begin a comment
    let charts = chart::json(&Charts::of(std::mem::take(&mut page.charts))).replace('<', "\\u003c");
    page.raw("<script type=\"application/json\" id=\"prony-charts\">").text.push_str(&charts);
    page.raw("</script>\n<script>\n").raw(VIEWER).raw("\n</script>\n</body>\n</html>\n");
    page.text
}

/// A page as it grows. Markup is written in this file alone; all else goes through [`Page::text`].
struct Page<'a> {
    text: String,
    charts: Vec<&'a Chart>,
    words: Words,
    /// The heading of the section: its only chart need not repeat it.
    heading: &'a str,
    /// Whether what is written now is behind a line that opens it.
    is_folded: bool,
}

impl<'a> Page<'a> {
    fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.text.push_str(markup);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.text.push_str(&escape::html(text));
        self
    }

    /// Text whose lines stand below each other.
    fn lines(&mut self, text: &str, open: &'static str, close: &'static str) {
        for (place, line) in text.split('\n').enumerate() {
            self.raw(if place > 0 { "<br>" } else { "" }).raw(open).text(line).raw(close);
        }
    }

    fn head(&mut self, report: &Report) {
        self.raw("<!DOCTYPE html>\n<html lang=\"").text(report.language);
        self.raw("\">\n<head>\n<meta charset=\"utf-8\">\n");
        self.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        self.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
        self.raw("<meta name=\"generator\" content=\"Prony\">\n");
        self.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"").raw(POLICY).raw("\">\n<title>");
        self.text(&report.title).raw("</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n").raw(STYLE);
        self.raw("</style>\n</head>\n<body>\n<header>\n<p class=\"kind\">").text(&report.kind);
        self.raw("</p>\n<h1>").text(&report.title).raw("</h1>\n");
        if !report.meta.is_empty() {
            self.raw("<p class=\"meta\">").text(&report.meta.join(" · ")).raw("</p>\n");
        }
        self.raw("</header>\n\n");
    }

    fn section(&mut self, section: &'a Section) {
        let mut blocks = section.shown(Reach::Page).peekable();
        if blocks.peek().is_none() {
            return;
        }
        self.raw("<section class=\"").text(section.id.split('-').next().unwrap_or_default());
        self.raw(if section.is_answer { " answer" } else { "" })
            .raw("\" id=\"")
            .text(&section.id)
            .raw("\">\n");
        self.heading = section.heading(Reach::Page).unwrap_or_default();
        if let Some(heading) = section.heading(Reach::Page) {
            self.raw("<h2>").text(heading).raw("</h2>\n");
        }
        for block in blocks {
            self.block(block);
        }
        self.raw("</section>\n\n");
    }

    fn block(&mut self, block: &'a Block) {
        match block {
            Block::Heading(text) => {
                self.raw("<h3>").text(text).raw("</h3>\n");
            }
            Block::Text(text) => {
                self.raw("<p>").text(text).raw("</p>\n");
            }
            Block::List(list) => self.list(list),
            Block::Table(table) => self.table(table),
            Block::Charts(charts) => self.charts(charts),
            Block::Code(text) => {
                self.raw("<pre><code>").text(text).raw("</code></pre>\n");
            }
            Block::Folded(line, blocks) => {
                self.raw("<details><summary>").text(line).raw("</summary>\n");
                let is_folded = std::mem::replace(&mut self.is_folded, true);
                blocks.iter().for_each(|block| self.block(block));
                self.is_folded = is_folded;
                self.raw("</details>\n");
            }
        }
    }

    fn list(&mut self, list: &List) {
        let (open, close) = match list.marks {
            Marks::Lines => ("<ul class=\"lines\">\n", "</ul>\n"),
            Marks::Points => ("<ul>\n", "</ul>\n"),
            Marks::Numbers => ("<ol class=\"numbers\">\n", "</ol>\n"),
        };
        self.raw(open);
        list.items.iter().for_each(|item| self.item(item));
        self.raw(close);
    }

    fn item(&mut self, item: &Item) {
        self.raw("<li class=\"").raw(item.tone.name()).raw("\">");
        if !item.lead.is_empty() {
            self.raw("<span class=\"lead\">").text(&item.lead).raw(":</span> ");
        }
        if !item.title.is_empty() {
            self.raw("<b>").text(&item.title).raw("</b> ");
        }
        self.text(&item.text);
        if !item.under.is_empty() {
            self.raw("<ul>\n");
            item.under.iter().for_each(|item| self.item(item));
            self.raw("</ul>");
        }
        self.raw("</li>\n");
    }

    fn table(&mut self, table: &Table) {
        if !table.title.is_empty() {
            self.raw("<h3>").text(&table.title).raw("</h3>\n");
        }
        let is_tall = self.is_folded && table.rows.len() > ROWS_MAX;
        self.raw(if is_tall { "<div class=\"scroll tall\">" } else { "<div class=\"scroll\">" });
        self.raw(if table.has_row_heads { "<table class=\"facts\">" } else { "<table class=\"figures\">" });
        if !table.heads.is_empty() {
            self.raw("<thead><tr>");
            for (column, head) in table.heads.iter().enumerate() {
                let is_numeric = table.is_numeric(column);
                self.raw(if is_numeric {
                    "<th scope=\"col\" class=\"number\">"
                } else {
                    "<th scope=\"col\">"
                });
                self.text(head).raw("</th>");
            }
            self.raw("</tr></thead>\n");
        }
        self.raw("<tbody>\n");
        for row in &table.rows {
            let begins = row.first().is_some_and(|first| !first.text.is_empty());
            self.raw(if begins { "<tr class=\"rung\">" } else { "<tr>" });
            for (column, cell) in row.iter().enumerate() {
                self.cell(cell, column == 0 && table.has_row_heads);
            }
            self.raw("</tr>\n");
        }
        self.raw("</tbody></table></div>\n");
    }

    fn cell(&mut self, cell: &Cell, is_head: bool) {
        self.raw(if is_head { "<th scope=\"row\" class=\"" } else { "<td class=\"" });
        self.raw(if cell.kind == CellKind::Number { "number " } else { "" }).raw(cell.tone.name()).raw("\">");
        match cell.kind {
            CellKind::Code => self.lines(&cell.text, "<code>", "</code>"),
            CellKind::Name | CellKind::Number => self.lines(&cell.text, "", ""),
        }
        self.raw(if is_head { "</th>" } else { "</td>" });
    }

    fn charts(&mut self, charts: &'a [Chart]) {
        self.raw(if charts.len() > 1 { "<div class=\"pair\">\n" } else { "<div>\n" });
        for chart in charts {
            let told = match &chart.numbers {
                Numbers::Table(_) => self.words.get("html", "table_of"),
                Numbers::In(place) => place,
            };
            let label = [&*chart.title, &chart.about, told];
            let label: Vec<&str> = label.into_iter().filter(|part| !part.is_empty()).collect();
            let caption = if chart.title == self.heading { "" } else { &chart.title };
            self.raw("<figure id=\"").text(&chart.id).raw("\"><figcaption>").text(caption);
            self.raw("</figcaption>\n<div class=\"chart\" data-chart=\"").text(&chart.id);
            self.raw("\" role=\"img\" aria-label=\"").text(&label.join(". ")).raw("\"></div>\n");
            if let Numbers::Table(table) = &chart.numbers {
                self.raw("<details><summary>").text(told).raw("</summary>\n");
                self.table(table);
                self.raw("</details>\n");
            }
            self.raw("</figure>\n");
            self.charts.push(chart);
        }
        self.raw("</div>\n");
    }
}
