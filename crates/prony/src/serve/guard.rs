//! Who may ask for what. Other sites that a browser has open must not reach the pages (checked: `Host`,
//! against DNS rebinding; `Origin` and `Sec-Fetch-Site`), nobody without the token may change anything, and
//! headers say what a page may do.

use super::{Shared, refusal::Refusal};
use axum::{
    body::Bytes,
    extract::{Request, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
        header::{
            CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, ORIGIN, REFERRER_POLICY, SET_COOKIE,
            X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
        },
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use std::{fs::File, io, io::Read as _, net::IpAddr, sync::Arc};

/// Bytes of a token.
const TOKEN_BYTES: usize = 16;

/// What pages of our own may do: scripts and styles are files of this server. Charts set styles of elements.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                      connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// Decides.
#[derive(Debug)]
pub(super) struct Guard {
    token: String,
    /// Name of the cookie: servers on other ports of this host have others.
    cookie: String,
    /// Names of hosts, beside addresses and `localhost`, under which this server is known.
    names: Vec<String>,
    /// Whether reading needs the token as well.
    is_closed: bool,
}

impl Guard {
    /// One with a new token.
    ///
    /// # Errors
    /// When the machine gives no random numbers.
    pub(super) fn new(port: u16, names: Vec<String>, is_closed: bool) -> io::Result<Self> {
        let mut bytes = [0_u8; TOKEN_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { token, cookie: format!("prony-{port}"), names, is_closed })
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Whether a request comes from a page of this server, or from none.
    fn check_origin(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = single(headers, &HOST).ok_or(Refusal::Host)?;
        if !self.is_known(host) {
            return Err(Refusal::Host);
        }
        match single(headers, &ORIGIN) {
            Some(origin) => {
                let of_origin = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
                if of_origin != Some(host) {
                    return Err(Refusal::Origin);
                }
            }
            None if headers.contains_key(ORIGIN) || !is_safe(method) => return Err(Refusal::Origin),
            None => {}
        }
        let said = |name: &'static str| headers.get(name).map_or("", |value| value.to_str().unwrap_or("?"));
        let is_own = ["", "same-origin", "none"].contains(&said("sec-fetch-site"));
        // a link to a page that another site shows is no harm
        let is_visit = is_safe(method) && said("sec-fetch-mode") == "navigate";
        if is_own || is_visit { Ok(()) } else { Err(Refusal::Origin) }
    }

    /// Whether a `Host` is an address, or a name that only this machine or its owner can have given: a
    /// name of somebody else's may lead here, too.
    fn is_known(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, port)) => {
                return address.parse::<IpAddr>().is_ok() && (port.is_empty() || port.starts_with(':'));
            }
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        let is_name = |known: &str| known.eq_ignore_ascii_case(name);
        name.parse::<IpAddr>().is_ok()
            || is_name("localhost")
            || self.names.iter().any(|known| is_name(known))
    }

    /// Whether a request has the token.
    pub(super) fn has_token(&self, headers: &HeaderMap) -> bool {
        cookies(headers, &self.cookie).any(|value| is_same(value, &self.token))
    }
}

/// Values of the cookies of a name.
pub(super) fn cookies<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
    let pairs = cookies.flat_map(|cookie| cookie.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.filter(move |(known, _)| known.trim() == name).map(|(_, value)| value.trim())
}

/// Whether two texts are the same, in a time that does not tell how far.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

fn is_safe(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

/// The value of a header that must be there once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    if values.next().is_some() { None } else { first.to_str().ok() }
}

/// Every request passes here.
pub(super) async fn check(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let guard = &shared.guard;
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let allowed = guard.check_origin(&method, request.headers()).and_then(|()| {
        let is_open = match path.as_str() {
            "/api/login" => true,
            path if path.starts_with("/assets/") => true,
            _ => is_safe(&method) && !guard.is_closed,
        };
        if is_open || guard.has_token(request.headers()) { Ok(()) } else { Err(Refusal::Token) }
    });
    let mut response = match allowed {
        Ok(()) => next.run(request).await,
        // who has no token is asked for it by the page
        Err(Refusal::Token) if is_safe(&method) && !path.starts_with("/api/") => {
            (StatusCode::UNAUTHORIZED, super::pages::shell()).into_response()
        }
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    token: String,
}

/// Takes the token, and keeps it in a cookie that no script sees and no other site sends.
pub(super) async fn login(State(shared): State<Arc<Shared>>, body: Bytes) -> Result<Response, Refusal> {
    let login: Login = super::read(&body)?;
    let guard = &shared.guard;
    if !is_same(&login.token, &guard.token) {
        return Err(Refusal::Token);
    }
    let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", guard.cookie, guard.token);
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard::new(7480, vec!["bench.example".to_owned()], false).unwrap()
    }

    #[test]
    fn names_that_somebody_else_may_own_are_no_hosts() {
        let guard = guard();
        for host in [
            "127.0.0.1:7480",
            "localhost:7480",
            "LOCALHOST",
            "[::1]:7480",
            "10.0.0.7:80",
            "bench.example:7480",
        ] {
            assert!(guard.is_known(host), "{host}");
        }
        for host in
            ["evil.example:7480", "localhost.evil.example", "127.0.0.1.evil.example:7480", "", "[::1].evil"]
        {
            assert!(!guard.is_known(host), "{host}");
        }
    }

    #[test]
    fn tokens_are_random_and_found_in_their_cookie_alone() {
        let (one, other) = (guard(), guard());
        assert_eq!(one.token().len(), 2 * TOKEN_BYTES);
        assert_ne!(one.token(), other.token());
        let with = |text: String| {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, HeaderValue::from_str(&text).unwrap());
            headers
        };
        assert!(one.has_token(&with(format!("a=b; prony-7480={}", one.token()))));
        assert!(!one.has_token(&with(format!("prony-7480={}", other.token()))));
        assert!(!one.has_token(&with(format!("prony-7481={}", one.token()))));
        assert!(!one.has_token(&HeaderMap::new()));
    }
}
