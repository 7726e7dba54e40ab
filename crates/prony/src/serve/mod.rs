//! `prony serve`: the store in a browser. It shows every run with its report, comparisons and histories, runs
//! in progress second by second, and a form that starts one. A run is a separate process (`prony run`), so
//! pages and viewers come and go; its progress is read from the file beside the store, whoever started it.
//!
//! Pages are the reports themselves, with a small application beside them (`viewer/src/serve`). It knows
//! nothing of the terminal. Reading needs nothing; changing something needs the token (`guard`).

mod follow;
mod guard;
mod list;
mod pages;
mod refusal;
mod start;

use crate::store::Store;
use axum::{
    Router, middleware,
    routing::{get, post},
};
use futures_util::future::{Either, select};
use guard::Guard;
use load::Stop;
use refusal::{Refusal, Senseless};
use serde::de::DeserializeOwned;
use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{net::TcpListener, runtime, task::spawn_blocking};

/// How often to check whether the server should end.
const STOP_EVERY: Duration = Duration::from_millis(100);
/// Most reports that are made at the same time: they must not disturb a run.
const WORKERS_MAX: usize = 2;
/// Nice value of the threads that make reports, above that of a run.
const NICE: i32 = 10;

/// What to serve, and to whom.
#[derive(Debug)]
pub struct Options {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Names of hosts under which this server is known.
    pub names: Vec<String>,
    /// Whether machines other than this one may connect.
    pub is_remote: bool,
    /// The store.
    pub store: PathBuf,
    /// Where study files are looked for.
    pub directory: PathBuf,
    /// The `prony` program, which runs are started with.
    pub program: PathBuf,
}

/// Why it cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Other machines could connect, and nobody said that they may.
    #[error(
        "{0} can be reached from other machines; add --remote if that is intended (reading then needs the \
         token, too), or tunnel a local port: ssh -L 7480:127.0.0.1:7480 HOST"
    )]
    Remote(SocketAddr),
    /// The address cannot be had.
    #[error("cannot listen at {address}: {cause}; choose another address with --listen")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        cause: io::Error,
    },
    /// The machine does not let us.
    #[error("{what}: {cause}")]
    Machine {
        /// What failed.
        what: &'static str,
        /// Why.
        cause: io::Error,
    },
}

/// What all requests share.
#[derive(Debug)]
struct Shared {
    guard: Guard,
    options: Options,
    /// The run that was started here last.
    started: Mutex<Option<start::Started>>,
    pages: Mutex<pages::Cache>,
    list: Mutex<list::Cache>,
}

impl Shared {
    fn store(&self) -> Result<Store, Refusal> {
        Ok(Store::open(&self.options.store)?)
    }

    /// Work that reads the store or makes a page, off the thread that answers.
    async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let shared = Arc::clone(self);
        let failed =
            |error| Refusal::Machine { what: "the work stopped early", cause: io::Error::other(error) };
        spawn_blocking(move || work(&shared)).await.map_err(failed)?
    }
}

/// Locks a mutex even after a panic: each change is complete.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// The body of a request.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| Senseless::Body(error).into())
}

/// Serves until `stop` is set; a run that was started here is then ended first. `ready` is told the address
/// and the token.
///
/// # Errors If the address is not available, or needs [`Options::is_remote`].
pub fn serve(options: Options, stop: &Stop, ready: impl FnOnce(SocketAddr, &str)) -> Result<(), Error> {
    if !options.listen.ip().is_loopback() && !options.is_remote {
        return Err(Error::Remote(options.listen));
    }
    let machine = |what| move |cause| Error::Machine { what, cause };
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(WORKERS_MAX)
        .on_thread_start(be_nice)
        .build()
        .map_err(machine("cannot start"))?;
    runtime.block_on(async {
        let address = options.listen;
        let failed = |cause| Error::Listen { address, cause };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let is_closed = !address.ip().is_loopback();
        let guard = Guard::new(address.port(), options.names.clone(), is_closed);
        let shared = Arc::new(Shared {
            guard: guard.map_err(machine("cannot read /dev/urandom"))?,
            options,
            started: Mutex::default(),
            pages: Mutex::default(),
            list: Mutex::default(),
        });
        ready(address, shared.guard.token());
        let served = axum::serve(listener, router(&shared)).into_future();
        let ended = match select(pin!(served), pin!(stopped(stop))).await {
            Either::Left((served, _)) => served.map_err(machine("cannot accept connections")),
            Either::Right(_) => Ok(()),
        };
        start::end(&shared).await;
        ended
    })
}

async fn stopped(stop: &Stop) {
    while !stop.is_stopped() {
        tokio::time::sleep(STOP_EVERY).await;
    }
}

/// Gives way to a run in progress. No effect where the kernel does not allow it.
fn be_nice() {
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE);
}

fn router(shared: &Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(pages::shell_page))
        .route("/start", get(pages::shell_page))
        .route("/live/{id}", get(pages::shell_page))
        .route("/runs/{id}", get(pages::report))
        .route("/compare", get(pages::compare))
        .route("/history/{study}", get(pages::history))
        .route("/assets/{file}", get(pages::asset))
        .route("/api/login", post(guard::login))
        .route("/api/me", get(list::me))
        .route("/api/runs", get(list::runs))
        .route("/api/sparks", get(list::sparks))
        .route("/api/changes", get(follow::changes))
        .route("/api/runs/{id}", get(list::run))
        .route("/api/runs/{id}/events", get(follow::events))
        .route("/api/runs/{id}/stop", post(start::stop))
        .route("/api/runs/{id}/resume", post(start::resume))
        .route("/api/studies", get(start::studies))
        .route("/api/plan", post(start::plan))
        .route("/api/start", post(start::start))
        .layer(middleware::from_fn_with_state(Arc::clone(shared), guard::check))
        .with_state(Arc::clone(shared))
}
