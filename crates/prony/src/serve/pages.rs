//! Pages that need no script of Prony's: reports, comparisons and histories as `prony report` and similar
//! commands write them, with a way back; and the shell of the application.

use super::{
    Shared, guard, list, locked,
    refusal::{Missing, Refusal, Senseless},
};
use crate::{
    analyse::{self, Followed, History},
    escape,
    plan::Metric,
    report::{self, Form, Format, Options, STYLE, VIEWER},
    store::RunState,
};
use axum::{
    extract::{Path, RawQuery, State},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
    },
    response::{Html, IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};
use std::{
    collections::VecDeque,
    sync::{Arc, LazyLock},
};
use url::form_urlencoded;

const APPLICATION: &str = include_str!("../../../../viewer/dist/serve.js");
const APPLICATION_STYLE: &str = include_str!("serve.css");

/// Most cached pages: a large run takes seconds to read.
const KEPT: usize = 8;
/// Runs that are compared on one page.
const COMPARED_MAX: usize = 12;
/// Runs of a history, unless the address says how many.
const FOLLOWED: usize = 50;

/// Files of the application by name.
static ASSETS: LazyLock<[(&str, &str, String); 3]> = LazyLock::new(|| {
    [
        ("style.css", "text/css; charset=utf-8", STYLE.to_owned() + APPLICATION_STYLE),
        ("viewer.js", "text/javascript; charset=utf-8", VIEWER.clone()),
        ("serve.js", "text/javascript; charset=utf-8", APPLICATION.to_owned()),
    ]
});

/// The last pages, with what they were made of.
#[derive(Debug, Default)]
pub(super) struct Cache(VecDeque<(String, Arc<str>)>);

impl Cache {
    fn find(&self, key: &str) -> Option<Arc<str>> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, page)| Arc::clone(page))
    }

    fn keep(&mut self, key: String, page: &Arc<str>) {
        self.0.truncate(KEPT - 1);
        self.0.push_front((key, Arc::clone(page)));
    }
}

/// The application's page: everything else is its script's. Names of files change with their contents.
pub(super) fn shell() -> Html<&'static str> {
    static SHELL: LazyLock<String> = LazyLock::new(|| {
        let at = |name: &str| {
            let text = ASSETS.iter().find(|(known, ..)| *known == name).map_or("", |(.., text)| text);
            let sum: String = Sha256::digest(text)[..8].iter().map(|byte| format!("{byte:02x}")).collect();
            format!("/assets/{name}?{sum}")
        };
        let (style, viewer, serve) = (at("style.css"), at("viewer.js"), at("serve.js"));
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light \
             dark\">\n<title>Prony</title>\n<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" \
             href=\"{style}\">\n<script src=\"{viewer}\" defer></script>\n<script src=\"{serve}\" \
             defer></script>\n</head>\n<body class=\"serve\">\n<noscript><p>This page needs \
             JavaScript.</p></noscript>\n</body>\n</html>\n"
        )
    });
    Html(&SHELL)
}

pub(super) async fn shell_page() -> Html<&'static str> {
    shell()
}

/// A file of the application.
pub(super) async fn asset(Path(name): Path<String>) -> Response {
    let Some((_, kind, text)) = ASSETS.iter().find(|(known, ..)| *known == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers = [(CONTENT_TYPE, *kind), (CACHE_CONTROL, "public, max-age=31536000, immutable")];
    (headers, text.as_str()).into_response()
}

/// The report of a run.
pub(super) async fn report(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<i64>,
    headers: HeaderMap,
) -> Response {
    let look = look(&headers);
    let made = shared.work(move |shared| {
        let run = shared.summary(id)?;
        let goes_on = run.state() == RunState::Running;
        let known = (&run.uid, run.trials_done(), run.finished, &run.labels, &run.note);
        let key = format!("{:?}", ("report", known, look.language));
        let make = || {
            let record = shared.store()?.run(id)?;
            let findings = analyse::analyse(&record);
            Ok(report::render(&record, &findings, Format::Html, &look)?)
        };
        let links = [
            Some(Link::history(&run.name)),
            goes_on.then(|| Link::new(format!("/live/{id}"), "Live", "实时")),
        ];
        shared.page((!goes_on).then_some(key), make, links.into_iter().flatten())
    });
    served(made.await)
}

/// Runs `?runs=11,12,13`, each compared with the first.
pub(super) async fn compare(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let look = look(&headers);
    let made = shared.work(move |shared| {
        let ids = list::numbers(query.as_deref(), "runs")?;
        let (2..=COMPARED_MAX, [base, others @ ..]) = (ids.len(), ids.as_slice()) else {
            return Err(Refusal::from(Senseless::Compared { most: COMPARED_MAX }));
        };
        let links = ids.iter().map(|id| Link::run(*id)).collect::<Vec<_>>();
        let make = || {
            let store = shared.store()?;
            let base = store.run(*base)?;
            let others = others.iter().map(|id| store.run(*id)).collect::<Result<Vec<_>, _>>()?;
            let page = report::page_of_runs(&base, &others, &look)?;
            page.ok_or_else(|| Refusal::from(Missing::Common))
        };
        shared.page(None, make, links)
    });
    served(made.await)
}

/// The runs of a study over time, `?last=200` of them, `?label=` and `?scale=` as on the command line.
pub(super) async fn history(
    State(shared): State<Arc<Shared>>,
    Path(study): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let look = look(&headers);
    let made = shared.work(move |shared| {
        let query = query.unwrap_or_default();
        let of = |key: &str| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            pairs.find(|(name, _)| name == key).map(|(_, value)| value.into_owned())
        };
        let last = of("last").and_then(|last| last.parse().ok()).unwrap_or(FOLLOWED);
        let (label, scale) = (of("label"), of("scale"));
        let key =
            format!("{:?}", ("history", &study, &query, look.language, list::pulse(&shared.options.store)));
        let make = || {
            let metrics = [Metric::Throughput, Metric::Quantile(99_000)];
            let history = History::of(
                &shared.store()?,
                Followed {
                    study: &study,
                    label: label.as_deref(),
                    scale: scale.as_deref().map(|name| Some(name).filter(|name| *name != "none")),
                    last,
                    metrics: &metrics,
                },
            )?;
            if history.runs.is_empty() {
                return Err(Refusal::from(Missing::Result { study: study.clone() }));
            }
            Ok(report::history::render(&history, Form::Html, &look)?.text)
        };
        shared.page(Some(key), make, [])
    });
    served(made.await)
}

/// The language of a page: the one chosen in the application, otherwise the browser's.
pub(super) fn look(headers: &HeaderMap) -> Options {
    let chosen = guard::cookies(headers, "prony-language").find_map(|code| code.parse().ok());
    Options {
        language: chosen.unwrap_or_default(),
        is_language_asked: chosen.is_some(),
        ..Options::default()
    }
}

/// A way to another page.
struct Link {
    to: String,
    en: String,
    zh: String,
}

impl Link {
    fn new(to: String, en: &str, zh: &str) -> Self {
        Self { to, en: en.to_owned(), zh: zh.to_owned() }
    }

    fn history(study: &str) -> Self {
        let study: String = form_urlencoded::byte_serialize(study.as_bytes()).collect();
        Self::new(format!("/history/{}", study.replace('+', "%20")), "History", "历史")
    }

    fn run(id: i64) -> Self {
        Self::new(format!("/runs/{id}"), &format!("Run {id}"), &format!("第 {id} 次运行"))
    }
}

impl Shared {
    /// A page from the cache or made now, with links to others above it.
    fn page(
        &self,
        key: Option<String>,
        make: impl FnOnce() -> Result<String, Refusal>,
        links: impl IntoIterator<Item = Link>,
    ) -> Result<Arc<str>, Refusal> {
        if let Some(known) = key.as_ref().and_then(|key| locked(&self.pages).find(key)) {
            return Ok(known);
        }
        let page: Arc<str> = with_links(&make()?, links).into();
        if let Some(key) = key {
            locked(&self.pages).keep(key, &page);
        }
        Ok(page)
    }
}

/// Where a page's header begins.
const HEADER: &str = "<header>\n";

fn with_links(page: &str, links: impl IntoIterator<Item = Link>) -> String {
    let all = Link::new("/".to_owned(), "All runs", "全部运行");
    let link = |Link { to, en, zh }| {
        let [to, en, zh] = [to, en, zh].map(|text| escape::html(&text));
        format!("<a href=\"{to}\"><span lang=\"en\">{en}</span><span lang=\"zh-CN\">{zh}</span></a>")
    };
    let links: Vec<String> = std::iter::once(all).chain(links).map(link).collect();
    page.replacen(HEADER, &format!("{HEADER}<p class=\"meta\">{}</p>\n", links.join(" · ")), 1)
}

/// A page as a response that allows no scripts but its own.
fn served(page: Result<Arc<str>, Refusal>) -> Response {
    match page {
        Ok(page) => {
            let policy = format!(
                "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data:; \
                 base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                hashes(&page)
            );
            let mut response = Html(String::from(&*page)).into_response();
            if let Ok(policy) = HeaderValue::from_str(&policy) {
                response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
            }
            response
        }
        Err(refusal) => sorry(refusal),
    }
}

/// The scripts of a page as a policy names them.
fn hashes(page: &str) -> String {
    let scripts = page.split("<script>").skip(1).filter_map(|rest| Some(rest.split_once("</script>")?.0));
    let hash = |script: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script)));
    let all: Vec<String> = scripts.map(hash).collect();
    if all.is_empty() { "'none'".to_owned() } else { all.join(" ") }
}

/// Why there is no page.
fn sorry(refusal: Refusal) -> Response {
    let text = escape::html(&refusal.to_string());
    let status = refusal.into_response().status();
    let page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>Prony</title>\n<link rel=\"stylesheet\" \
         href=\"/assets/style.css\">\n<main>\n<h1>Prony</h1>\n<section>\n<p>{text}</p>\n<p><a \
         href=\"/\">All runs · 全部运行</a></p>\n</section>\n</main>\n"
    );
    (status, Html(page)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scripts_that_are_there_may_run() {
        // printf 'a' | openssl dgst -sha256 -binary | base64
        let policy = hashes("<script type=\"application/json\">{}</script><script>a</script>");
        assert_eq!(policy, "'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='");
        assert_eq!(hashes("<p>"), "'none'");
    }

    #[test]
    fn links_stand_in_the_header_of_a_page_and_act_on_nothing() {
        let page = with_links("<body>\n<header>\n<h1>x</h1>", [Link::history("a\"><b> c")]);
        assert!(page.contains("<header>\n<p class=\"meta\"><a href=\"/\">"), "{page}");
        assert!(page.contains("/history/a%22%3E%3Cb%3E%20c"), "{page}");
    }

    #[test]
    fn the_oldest_page_is_forgotten_first() {
        let mut cache = Cache::default();
        for number in 0..=KEPT {
            cache.keep(number.to_string(), &"page".into());
        }
        assert!(
            cache.find("0").is_none() && cache.find("1").is_some() && cache.find(&KEPT.to_string()).is_some()
        );
    }
}
