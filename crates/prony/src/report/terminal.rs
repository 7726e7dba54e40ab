//! The report as text for a terminal of a given width.

use super::{
    Options,
    detail::details,
    document::{Document, Server},
    number, rates,
    resources::{LEFT_OUT, cost_table_on_terminal},
    table::{Layout, Remarks, Table, Tone, table},
    words::Words,
};
use crate::{analyse::Verdict, escape, plan};
use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, TableComponent, Width,
    presets,
};
use std::{collections::BTreeMap, fmt::Write as _};

/// Narrower terminals get this width: below it nothing can be read anyway.
pub(super) const WIDTH_MIN: usize = 40;

/// Where no line may break inside a cell: with spaces that do not break, until the table is drawn.
const PLUS_MINUS: &str = "\u{a0}±\u{a0}";
const PER_CENT: &str = "\u{a0}%";

/// The report.
pub(super) fn render(document: &Document, words: Words, options: &Options) -> String {
    let width = usize::from(options.width).max(WIDTH_MIN);
    let mut text = String::new();
    put_wrapped(&mut text, &bold(&document.run.title, options), "", width);
    for line in summary(document, words) {
        put_wrapped(&mut text, &line, "  ", width);
    }
    let remarks = Remarks::of(document, words);
    for group in &document.groups {
        text.push('\n');
        let beside = table(document, group, Layout::Beside, &remarks, words);
        let stacked = table(document, group, Layout::Stacked, &remarks, words);
        let drawn = fit(&beside, &stacked, options.colour, width);
        if !group.title.is_empty() {
            let _ = writeln!(text, "{}", bold(&group.title, options));
        }
        text.push_str(&drawn);
        text.push('\n');
        for detail in details(document, group, words) {
            let _ = writeln!(text, "\n{}", detail.title);
            text.push_str(&fit(&detail, &detail, options.colour, width));
            text.push('\n');
        }
    }
    if let Some(table) = rates::table(document, words) {
        let _ = writeln!(text, "\n{}", bold(&table.title, options));
        text.push_str(&fit(&table, &table, options.colour, width));
        text.push('\n');
        put_wrapped(&mut text, words.get("text", "rates_note"), "", width);
    }
    if let Some(table) = cost_table(document, words, width) {
        let _ = writeln!(text, "\n{}", table.title);
        text.push_str(&fit(&table, &table, options.colour, width));
        text.push('\n');
    }
    text.push('\n');
    for (number, remark) in remarks.texts().enumerate() {
        put_wrapped(&mut text, &format!("[{}] {remark}", number + 1), "    ", width);
    }
    if !document.points.is_empty() {
        for note in notes(document, words) {
            put_wrapped(&mut text, &note, "", width);
        }
    }
    if !document.claims.is_empty() {
        let _ = writeln!(text, "\n{}", bold(words.get("head", "claims"), options));
    }
    for claim in &document.claims {
        let says = claim.says.trim_end();
        let stop = if says.ends_with(['.', '!', '?', '。', '！', '？']) { "" } else { "." };
        let line = format!("• {}: {says}{stop} {}", claim.verdict_words, claim.text);
        put_wrapped(&mut text, &line, "  ", width);
    }
    if !document.findings.is_empty() {
        let _ = writeln!(text, "\n{}", bold(&words.found_head(document), options));
    }
    for finding in &document.findings {
        let about = if finding.about.is_empty() { String::new() } else { format!("{}: ", finding.about) };
        put_wrapped(&mut text, &format!("• {about}{}", finding.text), "  ", width);
    }
    if !document.conduct.is_empty() {
        let _ = writeln!(text, "\n{}", bold(words.get("head", "conduct"), options));
    }
    for sentence in &document.conduct {
        put_wrapped(&mut text, &format!("• {sentence}"), "  ", width);
    }
    text
}

/// What is to be said below the tables: whether there are intervals at all, what unclear and overloaded mean.
pub(super) fn notes(document: &Document, words: Words) -> Vec<String> {
    let measured = || document.points.iter().filter(|point| point.trials > 0);
    let is_known = measured().any(|point| point.throughput.low.is_some());
    // an interval is from within a trial only where no point has two
    let key = match (is_known, measured().any(|point| point.trials > 1)) {
        (true, true) => Some("plus_minus"),
        (true, false) => Some("plus_minus_within"),
        (false, _) => measured().next().map(|_| "plus_minus_none"),
    };
    let mut notes: Vec<String> = key.map(|key| words.get("text", key).to_owned()).into_iter().collect();
    let repeats: Vec<u32> = document
        .comparisons
        .iter()
        .filter(|one| one.metric == "throughput" && one.verdict == Verdict::Undecided)
        .filter_map(|one| one.repeats_needed)
        .collect();
    if let (Some(fewest), Some(most)) = (repeats.iter().min(), repeats.iter().max()) {
        let both = [("fewest", &*fewest.to_string()), ("most", &most.to_string())];
        let key = if fewest == most { "undecided_note_one" } else { "undecided_note" };
        notes.push(words.fill("text", key, &both));
    }
    if document.points.iter().any(|point| point.overloaded > 0) {
        notes.push(words.get("text", "overloaded_note").to_owned());
    }
    notes
}

/// What was compared, on what, how: one line each.
pub(super) fn summary(document: &Document, words: Words) -> Vec<String> {
    let common = plan::common_settings(document.servers.iter().map(|server| &server.settings));
    let mut lines: Vec<String> = document.servers.iter().map(|one| server(one, &common)).collect();
    if !common.is_empty() {
        let settings: Vec<String> = common.iter().map(|(key, value)| format!("{key}={value}")).collect();
        lines.push(words.fill("text", "of_all_servers", &[("settings", &settings.join(", "))]));
    }
    let machine = &document.machine;
    let text = if machine.cpus == 0 { "of_unknown_machine" } else { "of_machine" };
    lines.push(words.fill(
        "text",
        text,
        &[
            ("cpus", &machine.cpus.to_string()),
            ("model", &machine.cpu_model),
            ("memory", &number::ratio(machine.memory_bytes as f64 / f64::from(1 << 30))),
            ("distribution", &machine.distribution),
            ("kernel", &machine.kernel),
        ],
    ));
    let run = &document.run;
    lines.push(words.fill(
        "text",
        if machine.cpus == 0 { "results_count" } else { "trials_count" },
        &[
            ("done", &(run.trials_measured + run.trials_failed).to_string()),
            ("planned", &run.trials_planned.to_string()),
            ("repeats", &repeats(document, words)),
            ("interval", &run.interval_s.to_string()),
            ("warm_up", &format!("{}{}", if run.warm_up_auto { "≤ " } else { "" }, run.warm_up_s)),
            ("seed", &run.seed.to_string()),
        ],
    ));
    if !run.labels.is_empty() {
        lines.push(words.fill("text", "labels", &[("labels", &run.labels.join(", "))]));
    }
    if !run.note.is_empty() {
        lines.push(words.fill("text", "note", &[("note", &run.note)]));
    }
    lines
}

/// Trials of each combination that were asked for, and where some were added for a precision, to the most
/// that there are.
fn repeats(document: &Document, words: Words) -> String {
    let fewest = document.run.repeats;
    match document.trials.iter().map(|trial| trial.block + 1).max() {
        Some(most) if most > fewest => format!("{fewest}{}{most}", words.get("sentence", "to")),
        _ => fewest.to_string(),
    }
}

/// `pool: mariadb 10.11.6, thread_handling=pool-of-threads`, without what is `common` to all servers.
fn server(server: &Server, common: &BTreeMap<&String, &String>) -> String {
    let what = [server.product.as_str(), server.version.as_str()];
    let what = what.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let mut parts = vec![if what.is_empty() { "?".to_owned() } else { what }];
    parts.extend(server.topology.clone());
    let own = server.settings.iter().filter(|(key, _)| !common.contains_key(key));
    parts.extend(own.map(|(key, value)| format!("{key}={value}")));
    parts.extend(server.limits.iter().chain(&server.networks).cloned());
    format!("{}: {}", server.shown, parts.join(", "))
}

/// The first drawing that is not too wide: servers side by side, else below each other, else with broken
/// lines.
pub(super) fn fit(beside: &Table, stacked: &Table, colour: bool, width: usize) -> String {
    let fits = |drawn: &String| drawn.lines().all(|line| width_of(line) <= width);
    [(beside, 3), (beside, 2), (stacked, 3), (stacked, 2), (stacked, 1)]
        .into_iter()
        .map(|(table, gap)| draw(table, colour, gap, None))
        .find(fits)
        .or_else(|| {
            let narrow = narrowed(stacked);
            [2, 1].into_iter().map(|gap| draw(&narrow, colour, gap, None)).find(fits)
        })
        .unwrap_or_else(|| draw(stacked, colour, 1, u16::try_from(width).ok()))
}

/// What a transaction costs, with as many columns as there is room for.
fn cost_table(document: &Document, words: Words, width: usize) -> Option<Table> {
    let tables = || (0..=LEFT_OUT.len()).map_while(|left| cost_table_on_terminal(document, left, words));
    let fits =
        |table: &Table| draw(&narrowed(table), false, 1, None).lines().all(|line| width_of(line) <= width);
    tables().find(fits).or_else(|| tables().last())
}

/// The same with heads in as many lines as keep them from being wider than what stands below.
fn narrowed(table: &Table) -> Table {
    let narrow = |(column, head): (usize, &String)| {
        let cells = table.rows.iter().filter_map(|row| row.get(column)).map(|cell| width_of(&cell.text));
        let words = head.split_whitespace().map(width_of);
        let width = cells.chain(words).max().unwrap_or(0);
        let (mut lines, mut line) = (Vec::new(), String::new());
        for word in head.split_whitespace() {
            if !line.is_empty() && width_of(&line) + 1 + width_of(word) > width {
                lines.push(std::mem::take(&mut line));
            }
            line = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        }
        lines.push(line);
        lines.join("\n")
    };
    Table { heads: table.heads.iter().enumerate().map(narrow).collect(), ..table.clone() }
}

/// The longest piece of a column that no line break may divide.
fn unbroken(table: &Table, column: usize) -> usize {
    let cells = table.rows.iter().filter_map(|row| Some(&row.get(column)?.text));
    let kept = |text: &String| text.replace(" ± ", PLUS_MINUS).replace(" %", PER_CENT);
    let texts = cells.chain(table.heads.get(column)).map(kept);
    texts.flat_map(|text| text.split([' ', '\n']).map(width_of).collect::<Vec<_>>()).max().unwrap_or(0)
}

/// Draws a table with a gap between columns; with a width, lines are broken so that it is no wider.
fn draw(table: &Table, colour: bool, gap: u16, width: Option<u16>) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn.load_preset(presets::NOTHING);
    drawn.set_style(TableComponent::HeaderLines, '─');
    drawn.force_no_tty();
    if colour {
        drawn.enforce_styling();
    }
    if let Some(width) = width {
        drawn.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    drawn.set_header(table.heads.iter().map(|head| {
        let cell = Cell::new(head);
        if colour { cell.add_attribute(Attribute::Bold) } else { cell }
    }));
    for row in &table.rows {
        drawn.add_row(row.iter().map(|cell| {
            let drawn = Cell::new(cell.text.replace(" ± ", PLUS_MINUS).replace(" %", PER_CENT));
            match cell.tone {
                Tone::Good if colour => drawn.fg(Color::Green),
                Tone::Bad if colour => drawn.fg(Color::Red),
                Tone::Faint if colour => drawn.add_attribute(Attribute::Dim),
                _ => drawn,
            }
        }));
    }
    for (number, column) in drawn.column_iter_mut().enumerate() {
        let is_number = table.rows.first().and_then(|row| row.get(number)).is_some_and(|cell| cell.numeric);
        column.set_padding((0, gap));
        column.set_cell_alignment(if is_number { CellAlignment::Right } else { CellAlignment::Left });
    }
    if let Some(width) = width {
        let least: Vec<usize> =
            (0..table.heads.len()).map(|column| unbroken(table, column) + usize::from(gap)).collect();
        // where even that is too wide, words are broken
        if least.iter().sum::<usize>() <= usize::from(width) {
            for (column, least) in drawn.column_iter_mut().zip(least) {
                let least = Width::Fixed(u16::try_from(least).unwrap_or(width));
                column.set_constraint(ColumnConstraint::LowerBoundary(least));
            }
        }
    }
    let lines: Vec<String> = drawn.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n").replace('\u{a0}', " ")
}

/// What was written for a terminal, as it may go there.
pub(super) fn shown(text: &str, options: &Options) -> String {
    if options.colour { escape::styled(text) } else { escape::plain(text) }
}

pub(super) fn bold(text: &str, options: &Options) -> String {
    if options.colour { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// Adds text in lines of at most `width`; lines after the first begin with `indent`.
pub(super) fn put_wrapped(into: &mut String, text: &str, indent: &str, width: usize) {
    // Where a line must not break, as between a number and its sign, stands a space that does not break.
    let text = text.replace(" %", PER_CENT).replace('\n', " ");
    let mut put = |line: &str| {
        let _ = writeln!(into, "{}", line.replace('\u{a0}', " "));
    };
    let (mut line, mut is_empty) = (String::new(), true);
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        // Chinese has no spaces and may break after any character.
        for (number, piece) in pieces(word).into_iter().enumerate() {
            let gap = if number == 0 && !is_empty { " " } else { "" };
            if !is_empty && width_of(&line) + gap.len() + width_of(piece) > width {
                put(&line);
                (line, is_empty) = (format!("{indent}{piece}"), false);
            } else {
                line.push_str(gap);
                line.push_str(piece);
                is_empty = false;
            }
        }
    }
    put(&line);
}

/// A word in pieces that a line may break between: wide characters, each with the punctuation behind it.
fn pieces(word: &str) -> Vec<&str> {
    let is_stop = |c: char| "，。；：、）”？！".contains(c);
    let mut pieces = Vec::new();
    let mut begin = 0;
    let mut before = None;
    for (at, character) in word.char_indices() {
        let wide = |c: char| width_of(c.encode_utf8(&mut [0; 4])) == 2;
        let may_break = before.is_some_and(|before| (wide(character) || wide(before)) && before != '（');
        if may_break && !is_stop(character) {
            pieces.push(&word[begin..at]);
            begin = at;
        }
        before = Some(character);
    }
    pieces.push(&word[begin..]);
    pieces
}

/// Columns that a text takes on a terminal: escape sequences none, wide characters (Chinese, Japanese,
/// Korean) two.
pub(super) fn width_of(text: &str) -> usize {
    let mut width = 0;
    let mut in_escape = false;
    for character in text.chars() {
        match character {
            '\u{1b}' => in_escape = true,
            'm' if in_escape => in_escape = false,
            _ if in_escape => {}
            '\u{1100}'..='\u{115f}'
            | '\u{2e80}'..='\u{a4cf}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}'
            | '\u{fe30}'..='\u{fe6f}'
            | '\u{ff00}'..='\u{ff60}' => width += 2,
            _ => width += 1,
        }
    }
    width
}
