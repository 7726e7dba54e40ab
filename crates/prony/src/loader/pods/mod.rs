//! Load hosts as pods of a Kubernetes cluster: a Job that is created for a run and removed with it. This
//! knows where the pods are, what keeps them from beginning, and what became of one; the load itself goes to
//! their agents as to any other.

mod api;
mod config;
mod creator;
mod objects;
mod state;

use super::certificates;
use crate::plan::Kubernetes;
use api::{Api, Kind};
use load::{PartFailure, tls::Identity};
pub(super) use objects::BEGIN_MAX;
use objects::{About, CREATOR, MARK};
use serde_json::Value;
use std::{
    env,
    hash::{BuildHasher as _, RandomState},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// How long the cluster may take to notice what became of a pod.
const NOTICE_MAX: Duration = Duration::from_secs(15);
/// How long removing may take to be seen.
const REMOVE_MAX: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(250);
/// How long an agent whose container runs may be out of reach.
pub(super) const REACH_MAX: Duration = Duration::from_secs(20);

/// Why there are no pods to offer load.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No cluster is known.
    #[error("no Kubernetes cluster: {cause}")]
    NoCluster {
        /// Why.
        cause: String,
    },
    /// Its API does not answer.
    #[error(
        "cannot reach the Kubernetes API at {address}: {cause}. Is this the right cluster (`kubectl \
         cluster-info`), and is there a route to it?"
    )]
    Unreachable {
        /// Where.
        address: String,
        /// What the system says.
        cause: String,
    },
    /// It does not know who asks.
    #[error("the Kubernetes API at {address} does not accept the login: {message}. Log in again")]
    Unknown {
        /// Where.
        address: String,
        /// What it says.
        message: String,
    },
    /// One may not do that.
    #[error(
        "missing right in namespace {namespace}: {verb} {what}. deploy/ has a Role with all rights that are \
         needed. The cluster says: {message}"
    )]
    Right {
        /// To do what.
        verb: &'static str,
        /// With what.
        what: &'static str,
        /// Where.
        namespace: String,
        /// What the cluster says.
        message: String,
    },
    /// Too much is asked for.
    #[error(
        "the namespace's quota is too small for these pods: use fewer `replicas`, smaller `resources`, or \
         raise the quota. The cluster says: {message}"
    )]
    Quota {
        /// What the cluster says.
        message: String,
    },
    /// Pods like these are not allowed.
    #[error(
        "the namespace's pod security does not allow these pods, though they need no privilege (`restricted` \
         allows them): {message}"
    )]
    Security {
        /// What the cluster says.
        message: String,
    },
    /// Another refusal.
    #[error("the cluster rejected the {what}: {message}")]
    Refused {
        /// What.
        what: String,
        /// What it says.
        message: String,
    },
    /// The image cannot be had.
    #[error(
        "the cluster cannot pull the image {image}: {message}. Correct `image` in `[load] kubernetes`, or \
         give the namespace's default service account a pull secret"
    )]
    Image {
        /// Which.
        image: String,
        /// What the cluster says.
        message: String,
    },
    /// A pod ended instead of waiting for a load.
    #[error("pod {pod} did not start: {message}")]
    Ended {
        /// Which.
        pod: String,
        /// How.
        message: String,
    },
    /// They were too slow.
    #[error("{missing} of {replicas} pods did not start within {seconds} s: {cause}")]
    Late {
        /// How many are missing.
        missing: usize,
        /// Of how many.
        replicas: usize,
        /// The limit.
        seconds: u64,
        /// What is known of one.
        cause: String,
    },
    /// Prony cannot connect to them.
    #[error(
        "pod {pod} runs, but its address cannot be reached from here ({cause}): run Prony in the cluster \
         (deploy/), or on a machine with a route to its pods"
    )]
    NoRoute {
        /// Which.
        pod: String,
        /// What the system says.
        cause: String,
    },
    /// What was to be removed is gone already.
    #[error("it does not exist any more")]
    Gone,
    /// Their certificates.
    #[error(transparent)]
    Certificates(#[from] certificates::Error),
}

/// A Job, which is removed with all that belongs to it when this is dropped.
pub(super) struct Pods {
    api: Api,
    /// Of the Job, and of all that belongs to it.
    job: String,
    replicas: usize,
    /// The pods that were there last, by number.
    known: Mutex<Vec<Option<String>>>,
    /// Whether all have run once. From then on one that ends is replaced.
    has_begun: AtomicBool,
}

/// A pod now.
pub(super) struct Place {
    /// Where its agent is called; `None`: it does not run.
    pub(super) address: Option<String>,
    /// What is known of it then.
    pub(super) why: String,
}

impl Pods {
    /// Creates a Job of agents that offer load to these targets, and tells who calls them. Before, Jobs are
    /// removed whose creator on this machine was killed.
    pub(super) fn create(wish: &Kubernetes, targets: &[String]) -> Result<(Self, Identity), Error> {
        let api = Api::connect(wish.namespace.as_deref())?;
        sweep(&api)?;
        let job = format!("prony-{:08x}", RandomState::new().hash_one(std::process::id()) as u32);
        // without the right to remove it, nothing is created
        match api.delete(Kind::Jobs, &job) {
            Ok(_) | Err(Error::Gone) => {}
            Err(error) => return Err(error),
        }
        let [ours, theirs] = certificates::pair(&job)?;
        let creator = creator::this();
        let about = About { name: &job, creator: &creator, own_pod: own_pod().filter(|_| api.is_own) };
        let created = api.create(Kind::Jobs, &objects::job(&about, wish, targets))?;
        let replicas = wish.replicas as usize;
        // from here on it is removed, whatever happens
        let (known, has_begun) = (Mutex::new(vec![None; replicas]), AtomicBool::new(false));
        let pods = Self { api, job, replicas, known, has_begun };
        let uid = created["metadata"]["uid"].as_str().unwrap_or_default();
        pods.api.create(Kind::Secrets, &objects::secret(&pods.job, uid, &theirs))?;
        pods.api.create(Kind::Services, &objects::service(&pods.job, uid))?;
        let identity = certificates::identity_of(&ours).calling(&pods.job);
        Ok((pods, identity))
    }

    /// How they are called in messages.
    pub(super) fn names(&self) -> Vec<String> {
        (0..self.replicas).map(|number| format!("{}-{number}", self.job)).collect()
    }

    fn list(&self) -> Result<Vec<Value>, Error> {
        self.api.list(Kind::Pods, &format!("labelSelector=batch.kubernetes.io/job-name={}", self.job))
    }

    /// Where they are now. The error: what will not come by itself.
    pub(super) fn look(&self) -> Result<Vec<Place>, Error> {
        let pods = self.list()?;
        // the newest of a number counts: what it replaced is still listed
        let newest = |number: usize| {
            let all = pods.iter().filter(|pod| state::index(pod) == Some(number));
            all.max_by_key(|pod| pod["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned())
        };
        let found: Vec<Option<&Value>> = (0..self.replicas).map(newest).collect();
        let is_begin = !self.has_begun.load(Ordering::Relaxed);
        // a Job says in events only why it has no pods
        if is_begin && found.iter().any(|pod| pod.and_then(state::address).is_none()) {
            let about = format!("fieldSelector=involvedObject.kind=Job,involvedObject.name={}", self.job);
            if let Some(error) = state::not_created(&self.api.list(Kind::Events, &about)?) {
                return Err(error);
            }
        }
        let ended = |pod| if is_begin { state::ended(pod) } else { None };
        if let Some(error) = found.iter().flatten().find_map(|pod| state::stuck(pod).or_else(|| ended(pod))) {
            return Err(error);
        }
        let names = found.iter().map(|pod| pod.map(|pod| state::name(pod).to_owned()));
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = names.collect();
        let place = |pod: Option<&Value>| Place {
            address: pod.and_then(state::address),
            why: pod.and_then(state::unplaced).map_or_else(
                || "its container does not run yet".to_owned(),
                |message| format!("no node takes it: {message}"),
            ),
        };
        Ok(found.into_iter().map(place).collect())
    }

    /// All run: the Job may now take as long as it likes.
    pub(super) fn have_begun(&self) -> Result<(), Error> {
        self.has_begun.store(true, Ordering::Relaxed);
        self.api.patch(Kind::Jobs, &self.job, &objects::without_deadline()).map(drop)
    }

    /// What is said of pods that were waited for in vain.
    pub(super) fn late(&self, missing: usize, cause: String) -> Error {
        Error::Late { missing, replicas: self.replicas, seconds: BEGIN_MAX.as_secs(), cause }
    }

    /// What the cluster says of the failure of a part, where that was its pod's.
    pub(super) fn explained(&self, part: &str, failure: PartFailure) -> PartFailure {
        let is_loss = matches!(
            failure,
            PartFailure::Cut { .. }
                | PartFailure::Gone { .. }
                | PartFailure::Mute { .. }
                | PartFailure::Unanswered { .. }
                | PartFailure::NoReport
                | PartFailure::Silent { .. }
                | PartFailure::Unreachable { .. }
        );
        let number = part.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
        let became = number.filter(|_| is_loss).and_then(|number| self.became(number));
        became.map_or(failure, |end| PartFailure::Gone { end })
    }

    fn became(&self, number: usize) -> Option<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(number)?.clone()?;
        let began = Instant::now();
        loop {
            let pods = self.list().ok()?;
            let told = state::became(pods.iter().find(|pod| state::name(pod) == known));
            if told.is_some() || began.elapsed() > NOTICE_MAX {
                return told;
            }
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Pods {
    /// Removes the Job; the cluster then removes what belongs to it. Where that cannot be asked for, the
    /// agents end by themselves, and the Job goes soon after.
    fn drop(&mut self) {
        let mut is_asked = self.api.delete(Kind::Jobs, &self.job).is_ok();
        let began = Instant::now();
        while began.elapsed() < REMOVE_MAX {
            match self.list() {
                Ok(pods) if pods.is_empty() && is_asked => return,
                _ => thread::sleep(PAUSE),
            }
            is_asked |= !matches!(self.api.delete(Kind::Jobs, &self.job), Err(Error::Unreachable { .. }));
        }
    }
}

/// Removes Jobs whose creator was killed on this machine.
fn sweep(api: &Api) -> Result<(), Error> {
    for job in api.list(Kind::Jobs, &format!("labelSelector={MARK}"))? {
        let metadata = &job["metadata"];
        let creator = metadata["annotations"][CREATOR].as_str().unwrap_or_default();
        if creator::has_ended(creator) {
            match api.delete(Kind::Jobs, metadata["name"].as_str().unwrap_or_default()) {
                Ok(_) | Err(Error::Gone) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// The pod in which this runs, which deploy/ makes known.
fn own_pod() -> Option<(String, String)> {
    let told = |name| env::var(name).ok().filter(|text| !text.is_empty());
    told("PRONY_POD_NAME").zip(told("PRONY_POD_UID"))
}
