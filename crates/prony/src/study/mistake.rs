//! What is wrong with a study, shown in its own text. All mistakes are collected before any is shown, so that
//! a file is corrected once.

use super::Server;
use crate::layout::{
    copies,
    files::{self, Use},
};
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use std::{
    fmt,
    ops::Range,
    path::{Path, PathBuf},
};

/// A text that a study is made from: the file, or one `--set`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    /// As it is shown: a path, or `--set`.
    pub(super) name: String,
    /// Its text, passwords masked.
    pub(super) text: String,
}

/// Bytes of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Index in [`Mistakes::sources`].
    pub(super) source: usize,
    /// Bytes of its text.
    pub(super) span: Range<usize>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mistake {
    /// What is wrong, as one line.
    pub(super) title: String,
    /// Where; `None`: something is missing from the whole file.
    pub(super) place: Option<Place>,
    /// Bytes of the text that stands there, quotes not counted, if it is about a part of it.
    pub(super) within: Option<Range<usize>>,
    /// Beside the place: what is expected there.
    pub(super) label: String,
    /// What to do about it.
    pub(super) help: Option<String>,
}

/// Everything that is wrong with a study, in the order of its text.
#[derive(Debug, Clone)]
pub struct Mistakes {
    sources: Vec<Source>,
    list: Vec<Mistake>,
    /// Servers that could be read nevertheless.
    servers: Vec<Server>,
}

impl Mistakes {
    /// Sorted and without repetitions; there is at least one.
    pub(super) fn new(sources: Vec<Source>, mut list: Vec<Mistake>, servers: Vec<Server>) -> Self {
        debug_assert!(!list.is_empty(), "without a mistake there is a study");
        list.sort_by_key(|mistake| match &mistake.place {
            Some(place) => (place.source, place.span.start),
            None => (usize::MAX, 0),
        });
        let mut unique: Vec<Mistake> = Vec::new();
        for mistake in list {
            if !unique.contains(&mistake) {
                unique.push(mistake);
            }
        }
        Self { sources, list: unique, servers }
    }

    /// The servers of the study that could be read, each once. Their settings may be wrong as well, which
    /// only the caller can tell.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Its parts: sources, mistakes, servers.
    pub(super) fn into_parts(self) -> (Vec<Source>, Vec<Mistake>, Vec<Server>) {
        (self.sources, self.list, self.servers)
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// All of them, each with the lines that it is about; with colours where asked for.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let texts: Vec<String> =
            self.list.iter().map(|mistake| renderer.render(&self.report(mistake))).collect();
        let things = if texts.len() == 1 { "1 mistake" } else { &format!("{} mistakes", texts.len()) };
        format!("{}\n\n{things} in {}; nothing was started.", texts.join("\n\n"), self.sources[0].name)
    }

    fn report<'a>(&'a self, mistake: &'a Mistake) -> Vec<Group<'a>> {
        let title = Level::ERROR.primary_title(mistake.title.as_str());
        let mut group = match &mistake.place {
            Some(place) => {
                let source = &self.sources[place.source];
                let span = part(&source.text, &place.span, mistake.within.as_ref());
                let annotation = AnnotationKind::Primary.span(span);
                let annotation = if mistake.label.is_empty() {
                    annotation
                } else {
                    annotation.label(mistake.label.as_str())
                };
                title.element(
                    Snippet::source(source.text.as_str()).path(source.name.as_str()).annotation(annotation),
                )
            }
            None => title.element(Origin::path(self.sources[0].name.as_str())),
        };
        if let Some(help) = &mistake.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        vec![group]
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Mistakes {}

/// Collects mistakes while reading goes on.
#[derive(Debug, Default)]
pub(super) struct Collector {
    list: Vec<Mistake>,
    servers: Vec<Server>,
    /// Where the study's file is, and so the files that it names.
    directory: PathBuf,
    /// What files make, each list of them read once.
    files: Vec<(Vec<(PathBuf, Use)>, files::Data)>,
    /// What is in copies, each looked at once.
    copies: Vec<((PathBuf, Option<String>), copies::Data)>,
}

impl Collector {
    /// Of the study in the file at `path`.
    pub(super) fn of_file(path: &str) -> Self {
        let directory = Path::new(path).parent().map(Path::to_owned).unwrap_or_default();
        Self { directory, ..Self::default() }
    }

    /// Where a file is that the study names.
    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// What these files make, each read once.
    ///
    /// # Errors
    /// See [`files::Error`].
    pub(super) fn files(&mut self, list: Vec<(PathBuf, Use)>) -> Result<files::Data, files::Error> {
        if let Some((_, known)) = self.files.iter().find(|(known, _)| *known == list) {
            return Ok(known.clone());
        }
        let data = files::Data::read(list.clone())?;
        self.files.push((list, data.clone()));
        Ok(data)
    }

    /// What is in a copy, looked at once.
    ///
    /// # Errors
    /// See [`copies::Error`].
    pub(super) fn copy(
        &mut self,
        path: PathBuf,
        database: Option<&str>,
    ) -> Result<copies::Data, copies::Error> {
        let asked = (path, database.map(str::to_owned));
        if let Some((_, known)) = self.copies.iter().find(|(known, _)| *known == asked) {
            return Ok(known.clone());
        }
        let data = copies::read(&asked.0, database)?;
        self.copies.push((asked, data.clone()));
        Ok(data)
    }

    /// How many mistakes have been found so far.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Whether nothing has been found wrong so far.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Something at a place is wrong.
    pub(super) fn at(&mut self, place: &Place, title: impl Into<String>, label: impl Into<String>) {
        self.add(Mistake {
            title: title.into(),
            place: Some(place.clone()),
            within: None,
            label: label.into(),
            help: None,
        });
    }

    /// Something at a place is wrong, and this is what to do.
    pub(super) fn at_with_help(
        &mut self,
        place: &Place,
        title: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add(Mistake {
            title: title.into(),
            place: Some(place.clone()),
            within: None,
            label: label.into(),
            help: Some(help.into()),
        });
    }

    /// A part of a text, or with `None` the whole, is wrong.
    pub(super) fn within(
        &mut self,
        place: &Place,
        within: Option<Range<usize>>,
        title: String,
        label: String,
    ) {
        self.add(Mistake { title, place: Some(place.clone()), within, label, help: None });
    }

    /// Something is missing from the file.
    pub(super) fn missing(&mut self, title: impl Into<String>, help: impl Into<String>) {
        self.add(Mistake {
            title: title.into(),
            place: None,
            within: None,
            label: String::new(),
            help: Some(help.into()),
        });
    }

    /// A name that is not known: offers the nearest one, or else all.
    pub(super) fn unknown<'a>(
        &mut self,
        place: &Place,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) {
        let mut known: Vec<&str> = known.into_iter().collect();
        let title = format!("there is no {what} `{name}`");
        known.sort_unstable();
        known.dedup();
        match nearest(name, known.iter().copied()) {
            Some(nearest) => self.at(place, title, format!("did you mean `{nearest}`?")),
            None if known.is_empty() => self.at(place, title, ""),
            None => {
                self.at_with_help(
                    place,
                    title,
                    format!("unknown {what}"),
                    format!("known: {}", listed(name, &known)),
                );
            }
        }
    }

    fn add(&mut self, mistake: Mistake) {
        self.list.push(mistake);
    }

    /// Notes a server, whatever else is wrong.
    pub(super) fn saw(&mut self, server: &Server) {
        if !self.servers.contains(server) {
            self.servers.push(server.clone());
        }
    }

    /// More mistakes, which were found before.
    pub(super) fn extend(&mut self, list: Vec<Mistake>) {
        self.list.extend(list);
    }

    /// The mistakes, if there are any.
    pub(super) fn finish(self, sources: Vec<Source>) -> Result<(), Mistakes> {
        if self.list.is_empty() { Ok(()) } else { Err(Mistakes::new(sources, self.list, self.servers)) }
    }
}

/// Names to suggest: all of them or, of many, those most like `name`.
fn listed(name: &str, known: &[&str]) -> String {
    /// More would be a page that nobody reads.
    const NAMES_MAX: usize = 16;
    if known.len() <= NAMES_MAX {
        return known.join(", ");
    }
    let mut like: Vec<&str> = known.to_vec();
    like.sort_by(|a, b| strsim::jaro_winkler(name, b).total_cmp(&strsim::jaro_winkler(name, a)));
    like.truncate(NAMES_MAX);
    like.sort_unstable();
    format!("{} and {} more", like.join(", "), known.len() - NAMES_MAX)
}

/// Bytes of the source where a part of the text at `span` stands; all of it where escapes make that unknown.
fn part(source: &str, span: &Range<usize>, within: Option<&Range<usize>>) -> Range<usize> {
    /// How a text can begin; TOML drops a first line break of long ones.
    const QUOTES: [&str; 6] = ["\"\"\"\n", "\"\"\"", "'''\n", "'''", "\"", "'"];
    let inside = || {
        let written = source.get(span.clone())?;
        let quote = QUOTES.iter().find(|quote| written.starts_with(**quote))?;
        let within = within.filter(|_| !written.contains('\\'))?;
        let start = span.start + quote.len();
        let part = start + within.start..start + within.end;
        source.get(part.clone()).filter(|_| part.end <= span.end)?;
        Some(part)
    };
    inside().unwrap_or_else(|| span.clone())
}

/// The known name that is most like `name`, if one is like enough for a slip of the pen. Case, hyphens and
/// underscores count as alike.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let wanted = plain(name);
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&wanted, &plain(candidate)), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
