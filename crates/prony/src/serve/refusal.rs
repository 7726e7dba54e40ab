//! Why a request is refused. A page has its own words for each reason, by name; `text` is what only this
//! machine knows.

use crate::{report, store};
use axum::{
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde_json::json;

/// Reasons.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// The name of another machine leads here.
    #[error("this name is not one of this server's; use its address, or start prony serve with --name")]
    Host,
    /// A page of another site asks.
    #[error("the request does not come from a page of this server")]
    Origin,
    /// There is no token, or a wrong one.
    #[error("the token is missing or wrong; prony serve printed it when it started")]
    Token,
    /// The request makes no sense.
    #[error(transparent)]
    Request(#[from] Senseless),
    /// There is no such thing.
    #[error(transparent)]
    NotFound(#[from] Missing),
    /// Another run is going on.
    #[error("run {0} is running; two runs at a time would disturb each other")]
    Running(i64),
    /// A run was started a moment ago.
    #[error("a run is being started; two runs at a time would disturb each other")]
    Starting,
    /// A later run of the study is the one that can be resumed.
    #[error("only the last run of a study can be resumed, here run {0}")]
    NotLast(i64),
    /// Somebody else has started the run.
    #[error("run {run} was started by another process ({process}); stop it there")]
    NotOurs {
        /// Which.
        run: i64,
        /// Who carries it out.
        process: i32,
    },
    /// The study is wrong, or cannot be run here; in the words of the command line.
    #[error("{0}")]
    Study(String),
    /// The store cannot be read.
    #[error("{}", crate::serve::chain(.0))]
    Store(#[from] store::Error),
    /// The report cannot be made.
    #[error("{}", crate::serve::chain(.0))]
    Report(#[from] report::Error),
    /// The machine does not let us.
    #[error("{what}: {cause}")]
    Machine {
        /// What failed.
        what: &'static str,
        /// Why.
        cause: std::io::Error,
    },
}

/// Why a request makes no sense.
#[derive(Debug, thiserror::Error)]
pub(super) enum Senseless {
    #[error("not understood: {0}")]
    Body(serde_json::Error),
    #[error("settings are KEY=VALUE, one on a line")]
    Settings,
    #[error("?{key}= takes numbers of runs: {key}=11,12")]
    Numbers {
        /// Of the query.
        key: String,
    },
    #[error("ask for {most} runs at most")]
    TooMany {
        /// How many there may be.
        most: usize,
    },
    #[error("choose 2 to {most} runs to compare")]
    Compared {
        /// How many there may be.
        most: usize,
    },
}

/// What there is not.
#[derive(Debug, thiserror::Error)]
pub(super) enum Missing {
    #[error("there is no study {0} here")]
    Study(String),
    #[error("there is no run {0} in this store")]
    Run(i64),
    #[error("run {0} is complete")]
    Rest(i64),
    #[error("run {0} is not running")]
    Process(i64),
    #[error("these runs have no measured combination in common")]
    Common,
    #[error("no run of {study} has a result")]
    Result {
        /// Of the study.
        study: String,
    },
}

impl Refusal {
    /// Its name, by which a page knows it, and its status.
    fn kind(&self) -> (&'static str, StatusCode) {
        match self {
            Self::Host => ("host", StatusCode::MISDIRECTED_REQUEST),
            Self::Origin => ("origin", StatusCode::FORBIDDEN),
            Self::Token => ("token", StatusCode::UNAUTHORIZED),
            Self::Request(_) => ("request", StatusCode::BAD_REQUEST),
            Self::NotFound(_) | Self::Store(store::Error::NoSuchRun { .. }) => {
                ("not_found", StatusCode::NOT_FOUND)
            }
            Self::Running(_) => ("running", StatusCode::CONFLICT),
            Self::Starting => ("starting", StatusCode::CONFLICT),
            Self::NotLast(_) => ("not_last", StatusCode::CONFLICT),
            Self::NotOurs { .. } => ("not_ours", StatusCode::CONFLICT),
            Self::Study(_) => ("study", StatusCode::UNPROCESSABLE_ENTITY),
            Self::Store(_) => ("store", StatusCode::INTERNAL_SERVER_ERROR),
            Self::Report(_) => ("report", StatusCode::INTERNAL_SERVER_ERROR),
            Self::Machine { .. } => ("machine", StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (name, status) = self.kind();
        let (run, process) = match self {
            Self::Running(run) | Self::NotLast(run) => (Some(run), None),
            Self::NotOurs { run, process } => (Some(run), Some(process)),
            _ => (None, None),
        };
        let body = json!({ "refused": name, "run": run, "process": process, "text": self.to_string() });
        (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
    }
}
