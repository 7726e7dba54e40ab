//! A report as one HTML page that needs no network: its blocks, and their charts as values for the viewer,
//! whose ready-made script is committed (`viewer/dist`).

use super::{
    block::{Block, Cell, CellKind, Item, List, Marks, Reach, Report, Section, Table},
    chart::{self, Chart, Charts, Numbers, VIEWER},
    words::Words,
};
use crate::escape;

/// The style of pages.
pub const STYLE: &str = include_str!("page.css");
const THIRD_PARTY: &str = include_str!("../../../../viewer/dist/THIRD-PARTY.txt");

/// What the page may do: it may load nothing from outside.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// Folded tables with more rows than this scroll.
const ROWS_MAX: usize = 20;

/// The page: the same report once in each language. Where no script runs, the first one is shown. With
/// `is_asked` it is shown in any case; otherwise the reader's browser decides.
pub(super) fn render(reports: &[(Report, Words)], is_asked: bool) -> String {
    let codes: Vec<&'static str> = reports.iter().map(|(report, _)| report.language).collect();
    let pages: Vec<Page<'_>> = reports.iter().map(|(report, words)| Page::of(report, *words)).collect();
    let mut text = String::from("<!DOCTYPE html>\n<html lang=\"");
    text.push_str(codes[0]);
    text.push_str(if is_asked { "\" data-asked>\n<head>\n" } else { "\">\n<head>\n" });
    text.push_str("<meta charset=\"utf-8\">\n");
    text.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    text.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    text.push_str("<meta name=\"generator\" content=\"Prony\">\n");
    let title = escape::html(&reports[0].0.title);
    text.push_str(&format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n<title>{title}</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    ));
    if pages.iter().all(|page| page.parts.len() == pages[0].parts.len()) {
        for part in 0..pages[0].parts.len() {
            let in_each: Vec<&[Piece]> = pages.iter().map(|page| page.parts[part].as_slice()).collect();
            merge(&mut text, &codes, &in_each);
        }
    } else {
        let whole: Vec<Vec<Piece>> = pages.iter().map(|page| page.parts.concat()).collect();
        merge(&mut text, &codes, &whole.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }
    let charts = pages.iter().map(|page| chart::value(&Charts::of(page.charts.clone())));
    // without `<`, nothing in it can end the element or begin a comment
    let charts = chart::in_languages(&codes, charts.collect()).to_string().replace('<', "\\u003c");
    text.push_str("<script type=\"application/json\" id=\"prony-charts\">");
    text.push_str(&charts);
    text.push_str("</script>\n<script>\n");
    text.push_str(&VIEWER);
    text.push_str("\n</script>\n</body>\n</html>\n");
    text
}

/// A piece of a page in one language.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// Fixed markup, the same in every language.
    Markup(&'static str),
    /// A name or number in markup, the same in every language.
    Name(String),
    /// Text that people read.
    Text(String),
    /// An attribute whose value people read.
    Attribute(&'static str, String),
}

/// Writes what pages in several languages have in the same place: texts that differ stand side by side, and
/// the style shows those of one language. Where the markup of pages differs, everything is written in each
/// language.
fn merge(into: &mut String, codes: &[&str], pages: &[&[Piece]]) {
    let alike = |one: &Piece, other: &Piece| match (one, other) {
        (Piece::Text(_), Piece::Text(_)) => true,
        (Piece::Attribute(one, _), Piece::Attribute(other, _)) => one == other,
        _ => one == other,
    };
    let is_alike = |page: &&[Piece]| {
        page.len() == pages[0].len() && page.iter().zip(pages[0]).all(|(one, other)| alike(one, other))
    };
    if !pages.iter().all(is_alike) {
        for (code, page) in codes.iter().zip(pages) {
            into.push_str(&format!("<div lang=\"{code}\">"));
            merge(into, &[code], &[page]);
            into.push_str("</div>");
        }
        return;
    }
    for (place, piece) in pages[0].iter().enumerate() {
        let said = || codes.iter().zip(pages).map(|(code, page)| (code, &page[place]));
        match piece {
            Piece::Markup(markup) => into.push_str(markup),
            Piece::Name(name) => into.push_str(&escape::html(name)),
            Piece::Text(text) if said().all(|(_, other)| other == piece) => {
                into.push_str(&escape::html(text))
            }
            Piece::Text(_) => said().for_each(|(code, piece)| {
                let Piece::Text(text) = piece else { return };
                into.push_str(&format!("<span lang=\"{code}\">{}</span>", escape::html(text)));
            }),
            Piece::Attribute(name, text) => {
                into.push_str(&format!(" {name}=\"{}\"", escape::html(text)));
                if said().any(|(_, other)| other != piece) {
                    said().for_each(|(code, piece)| {
                        let Piece::Attribute(_, text) = piece else { return };
                        into.push_str(&format!(" data-{name}-{code}=\"{}\"", escape::html(text)));
                    });
                }
            }
        }
    }
}

/// A page in one language under construction, in parts. Markup is written in this file alone; everything else
/// goes through [`Page::text`], [`Page::name`] and [`Page::attribute`].
struct Page<'a> {
    parts: Vec<Vec<Piece>>,
    charts: Vec<&'a Chart>,
    words: Words,
    /// The heading of the section; its only chart need not repeat it.
    heading: &'a str,
    /// Whether the current block is folded.
    is_folded: bool,
}

impl<'a> Page<'a> {
    fn of(report: &'a Report, words: Words) -> Self {
        let parts = vec![Vec::new()];
        let mut page = Self { parts, charts: Vec::new(), words, heading: "", is_folded: false };
        page.head(report);
        page.contents(report);
        page.raw("<main>\n");
        report.sections.iter().for_each(|section| page.section(section));
        page.part();
        page.raw("<noscript><p>").text(words.get("html", "no_script"));
        page.raw("</p></noscript>\n</main>\n\n<footer>\n<p>").text(&report.foot);
        page.raw("</p>\n<details><summary>").text(words.get("html", "licences"));
        page.raw("</summary>\n<pre class=\"licences\" tabindex=\"0\">").name(THIRD_PARTY);
        page.raw("</pre></details>\n</footer>\n");
        page
    }

    /// Begins a part, which is merged across languages separately.
    fn part(&mut self) {
        self.parts.push(Vec::new());
    }

    fn put(&mut self, piece: Piece) -> &mut Self {
        let last = self.parts.len() - 1;
        self.parts[last].push(piece);
        self
    }

    fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.put(Piece::Markup(markup))
    }

    fn name(&mut self, name: &str) -> &mut Self {
        self.put(Piece::Name(name.to_owned()))
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.put(Piece::Text(text.to_owned()))
    }

    fn attribute(&mut self, name: &'static str, text: &str) -> &mut Self {
        self.put(Piece::Attribute(name, text.to_owned()))
    }

    /// Text whose lines stand below each other.
    fn lines(&mut self, text: &str, open: &'static str, close: &'static str) {
        for (place, line) in text.split('\n').enumerate() {
            self.raw(if place > 0 { "<br>" } else { "" }).raw(open).text(line).raw(close);
        }
    }

    fn head(&mut self, report: &Report) {
        self.raw("<header>\n<p class=\"kind\">").text(&report.kind);
        self.raw("</p>\n<h1>").text(&report.title).raw("</h1>\n");
        if !report.meta.is_empty() {
            self.raw("<p class=\"meta\">").text(&report.meta.join(" · ")).raw("</p>\n");
        }
        // the script makes it visible, because nothing can be switched without one
        self.raw("<p class=\"languages\" hidden>");
        for (code, name) in Words::LANGUAGES {
            self.raw("<button type=\"button\" data-language=\"").raw(code).raw("\" lang=\"").raw(code);
            self.raw("\">").raw(name).raw("</button>");
        }
        self.raw("</p>\n</header>\n\n");
    }

    /// Links to all sections that have a heading.
    fn contents(&mut self, report: &Report) {
        let titled = report.sections.iter().filter(|section| section.shown(Reach::Page).next().is_some());
        let titled: Vec<_> =
            titled.filter_map(|section| Some((section, section.heading(Reach::Page)?))).collect();
        if titled.len() < 3 {
            return;
        }
        let label = self.words.get("html", "contents");
        self.raw("<nav class=\"contents\"").attribute("aria-label", label);
        self.raw("><ul>\n");
        for (section, heading) in titled {
            self.raw("<li><a href=\"#").name(&section.id).raw("\">").text(heading).raw("</a></li>\n");
        }
        self.raw("</ul></nav>\n");
    }

    fn section(&mut self, section: &'a Section) {
        let mut blocks = section.shown(Reach::Page).peekable();
        if blocks.peek().is_none() {
            return;
        }
        self.part();
        self.raw("<section class=\"").name(section.id.split('-').next().unwrap_or_default());
        self.raw(if section.is_answer { " answer" } else { "" });
        self.raw("\" id=\"").name(&section.id).raw("\">\n");
        self.heading = section.heading(Reach::Page).unwrap_or_default();
        if let Some(heading) = section.heading(Reach::Page) {
            self.raw("<h2><a href=\"#").name(&section.id).raw("\">").text(heading).raw("</a></h2>\n");
        }
        for block in blocks {
            self.part();
            self.block(block);
        }
        self.part();
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
            let lead = format!("{}{}", item.lead, item.colon().trim_end());
            self.raw("<span class=\"lead\">").text(&lead).raw("</span> ");
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
            self.raw("<figure id=\"").name(&chart.id).raw("\"><figcaption>");
            self.raw("<span class=\"caption\">").text(caption).raw("</span></figcaption>\n");
            self.raw("<div class=\"chart\" data-chart=\"").name(&chart.id).raw("\" role=\"img\"");
            self.attribute("aria-label", &label.join(". ")).raw("></div>\n");
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
