//! Brings a server into the state in which a trial is to begin: its data as they were loaded, nothing left to
//! write or purge, its buffer pool warm, as the study says.
//!
//! Data are restored from a snapshot where Prony started the server and it works alone, otherwise reloaded. A
//! server that Prony did not start is neither restarted nor configured.

use super::{
    Doubt, Error, Event, Level, Remark, Run, What,
    settle::{self, Settled},
    site::{CONTROL_WAIT, Up},
    variables::Settings,
};
use crate::{
    dataset,
    family::{self, Keeps, Pages},
    layout::Layout as _,
    plan::{Act, Fresh, Reuse, ServerPlan, ServerSource, Treatment, Trial, Warm, seed},
    provision::{self, Provisioner, Snapshot, Step},
};
use load::{
    client::{self, Connection},
    spec::Target,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

/// Loading that takes longer is avoided where possible: restoring takes a few seconds for a server's own
/// files, whatever the data.
const KEEP_FROM: Duration = Duration::from_secs(10);
/// How long a server may take to note the pages of its buffer pool, or to read them.
const PAGES_LIMIT: Duration = Duration::from_secs(300);

/// How a trial found its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    /// What its data were.
    pub data: Origin,
    /// How long restoring or loading them took, including a restart, where that was done for this trial.
    pub put_back: Option<Duration>,
    /// Whether the server was started since the trial before.
    pub restarted: bool,
    /// What was waited for; `None`: nothing.
    pub settled: Option<Settled>,
    /// How long filling the buffer pool took, where that was done for this trial.
    pub warmed: Option<Duration>,
    /// Seed of its load, where it is not the planned one: the rows that it writes to are not restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl Began {
    /// What speaks against a trial that began so.
    pub(super) fn doubt(&self) -> Option<Doubt> {
        let Settled { took, dirty_pages, history: transactions, .. } =
            self.settled.filter(|settled| settled.limit_reached)?;
        let what = What::NotSettled { seconds: took.as_secs(), dirty_pages, transactions };
        Some(Doubt::new(Level::Suspicious, what))
    }
}

/// What the data of a trial were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// There are none.
    #[default]
    None,
    /// As this run loaded them.
    Loaded,
    /// They were there already, as `prony prepare` or an earlier run has left them.
    Found,
    /// As an earlier run loaded them.
    Kept,
    /// As they were loaded, put back from a snapshot.
    Snapshot,
    /// As trials before have left them.
    Left,
}

/// What is known of the data of a server that is up.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The data set that it holds.
    pub(super) data: Option<usize>,
    origin: Origin,
    /// Something failed in a way that leaves the state of its data unknown: they are restored or reloaded.
    pub(super) is_unknown: bool,
    /// Trials have begun on these data.
    used: bool,
    /// Data were loaded into it that are not there any more.
    had_other: bool,
    /// The server was started since the last trial.
    restarted: bool,
    /// Whether its buffer pool holds what it should.
    warm: bool,
    /// Whether it noted the pages of its buffer pool before it was stopped.
    noted: bool,
    /// That a limit was reached has been told.
    told: bool,
    /// What it was found to run with.
    pub(super) settings: Settings,
    /// The data set whose copy it was started on just now.
    copied: Option<usize>,
    /// By data set.
    snapshots: BTreeMap<usize, Snapshot>,
}

impl State {
    /// Of a server that was started on what an earlier run has kept.
    pub(super) fn kept(data: usize, snapshot: Snapshot) -> Self {
        Self {
            data: Some(data),
            origin: Origin::Kept,
            snapshots: BTreeMap::from([(data, snapshot)]),
            ..Self::default()
        }
    }

    /// Of a server that was started on somebody's data.
    pub(super) fn copied(data: usize) -> Self {
        Self { copied: Some(data), ..Self::default() }
    }

    /// There are the rows of `data`, and no trial has seen them.
    fn holds(&mut self, data: usize, origin: Origin) {
        self.had_other |= self.data.is_some_and(|other| other != data);
        (self.data, self.origin, self.used, self.warm) = (Some(data), origin, false, false);
        self.copied = None;
        self.is_unknown = false;
    }

    /// It was started again, not in order.
    pub(super) fn was_started(&mut self) {
        (self.restarted, self.warm, self.noted) = (true, false, false);
    }

    /// No trial has changed its data.
    pub(super) fn is_as_loaded(&self) -> bool {
        matches!(self.origin, Origin::Loaded | Origin::Kept | Origin::Snapshot)
    }
}

impl Run<'_, '_> {
    /// Brings the server of a trial into the state in which it is to begin, and reports that state.
    pub(super) fn prepare(&mut self, trial: &Trial) -> Result<Began, Error> {
        let treatment = &self.plan.treatments[trial.treatment];
        let (server, data) = (treatment.server, treatment.data);
        self.keep_place(server)?;
        let put_back = self.have_data(server, data)?;
        let restarted = self.up(server).state.restarted;
        self.note_settings(server, restarted);
        let settled = self.settle(server)?;
        let warmed = self.warm(server, data)?;
        let seed = self.own_seed(trial);
        let state = self.state(server);
        let restarted = std::mem::take(&mut state.restarted);
        let began = Began { data: state.origin, put_back, restarted, settled, warmed, seed };
        state.used = true;
        if treatment.writes() && state.origin != Origin::None {
            state.origin = Origin::Left;
        }
        self.see_settings(server);
        self.tell(&Event::TrialPrepared { trial: trial.number, began: Box::new(began) })?;
        Ok(began)
    }

    /// What is known of the data of a server: servers of the plan that are the same database of one running
    /// server have it in common.
    /// A load beside the trials has been at the data of a server.
    pub(super) fn note_used(&mut self, server: usize) {
        self.state(server).used = true;
    }

    fn state(&mut self, server: usize) -> &mut State {
        let home = self.home(server);
        &mut self.up(home).state
    }

    /// What the data of a server are.
    pub(super) fn origin(&mut self, server: usize) -> Origin {
        self.state(server).origin
    }

    /// The first server of the plan that has the same data: itself, unless a server that is already running
    /// is in the plan more than once, with other settings for instance.
    fn home(&self, server: usize) -> usize {
        let place = |index: usize| {
            let is_own = self.plan.servers[index].may(Act::Start);
            self.servers[index].as_ref().filter(|_| !is_own).map(Up::place)
        };
        let Some(own) = place(server) else { return server };
        (0..server).find(|&other| place(other).as_ref() == Some(&own)).unwrap_or(server)
    }

    /// The seed of a trial that writes to rows that are not restored; `None`: the plan's seed will do. The
    /// same seed again would write the same values into the same rows, which is no work. Nevertheless,
    /// servers that are compared have the same seed, as long as their data are not the same.
    fn own_seed(&mut self, trial: &Trial) -> Option<u64> {
        let treatment = &self.plan.treatments[trial.treatment];
        let origin = self.state(treatment.server).origin;
        let as_loaded = matches!(origin, Origin::Loaded | Origin::Kept | Origin::Snapshot);
        let stays = !as_loaded || !self.plan.foreign_written(treatment).is_empty();
        (treatment.writes() && stays).then(|| {
            let shared = self.home(treatment.server) != treatment.server;
            let place = if shared { treatment.server as u64 } else { 0 };
            seed::derive(trial.seed ^ self.salt, place, trial.again_of.map_or(0, |_| u64::from(trial.number)))
        })
    }

    /// Makes sure that a server holds a data set as the study wants it; returns how long that took, where
    /// there was something to do.
    pub(super) fn have_data(&mut self, server: usize, data: usize) -> Result<Option<Duration>, Error> {
        if self.plan.data_sets[data].is_empty() {
            return Ok(None);
        }
        let fresh = self.plan.state.fresh;
        let state = self.state(server);
        let is_stale = match fresh {
            Fresh::Never => false,
            Fresh::Auto | Fresh::Snapshot | Fresh::Reload => state.origin == Origin::Left,
            Fresh::Always => state.used,
        };
        if state.data == Some(data) && !is_stale && !state.is_unknown {
            return Ok(None);
        }
        let begun = Instant::now();
        // What an earlier run has kept can be restored as well.
        if state.snapshots.contains_key(&data) && fresh != Fresh::Reload {
            self.put_back(server, data)?;
        } else {
            if state.data.is_some() {
                self.drop_data(server)?;
            }
            self.load(server, data)?;
        }
        Ok(Some(begun.elapsed()))
    }

    /// Loads a data set, and keeps a copy of it where that pays or is needed.
    fn load(&mut self, server: usize, data: usize) -> Result<(), Error> {
        let begun = Instant::now();
        let plan = self.plan;
        self.load_copy(server, data)?;
        let (mut size, mut were_there) = self.load_data(server, data)?;
        // What was there may be as others left it, and later trials would find other data than the first one.
        let writes = |treatment: &Treatment| treatment.data == data && treatment.writes();
        if were_there && plan.state.fresh != Fresh::Never && plan.treatments.iter().any(writes) {
            self.drop_data(server)?;
            (size, were_there) = self.load_data(server, data)?;
        }
        let took = begun.elapsed();
        let origin = if were_there { Origin::Found } else { Origin::Loaded };
        self.tell(&Event::DataReady { server, data, took, origin, size })?;
        let state = self.state(server);
        state.holds(data, origin);
        let is_first = !state.had_other && state.snapshots.is_empty();
        let pays = match plan.state.reuse {
            Reuse::Never => false,
            Reuse::Auto => took >= KEEP_FROM,
            Reuse::Always => true,
        };
        let keep = (pays && is_first && self.may_reuse(server, data)).then(|| &plan.data_sets[data]);
        let needed = self.needs_snapshot(server, data);
        if keep.is_none() && !needed {
            return Ok(());
        }
        // What is written back while the server runs need not be waited for in its shutdown.
        self.settle(server)?;
        let taken = self.with_steps(server, |provisioner, up, tell| {
            provisioner.snapshot(up.group.primary_mut(), keep, needed, tell)
        })?;
        let state = self.state(server);
        (state.restarted, state.warm, state.noted) = (true, false, false);
        if let Some(snapshot) = taken {
            state.snapshots.insert(data, snapshot);
        }
        Ok(())
    }

    /// Lets a server start on somebody's data, where the data set is such, unless it has just been.
    fn load_copy(&mut self, server: usize, data: usize) -> Result<(), Error> {
        let Some(copy) = self.plan.data_sets[data].copy() else { return Ok(()) };
        if self.state(server).copied.take() == Some(data) {
            return Ok(());
        }
        // what was done to the copy was told when it was made first
        self.with_steps(server, |provisioner, up, tell| {
            provisioner.load_copy(up.group.primary_mut(), copy, tell)
        })?;
        self.state(server).was_started();
        Ok(())
    }

    /// Drops the tables that Prony made.
    fn drop_data(&mut self, server: usize) -> Result<(), Error> {
        let target = self.up(server).group.primary().target().clone();
        let name = || self.plan.servers[server].name.clone();
        let data = self.state(server).data.map(|data| &self.plan.data_sets[data]);
        let removed = match data {
            // a server of Prony's own: files and copies are nowhere else
            Some(data) if data.files().is_some() || data.copy().is_some() => dataset::remove(&target),
            _ => dataset::cleanup(&target, &|_| true).map(drop),
        };
        removed.map_err(|source| Error::Data { name: name(), source })
    }

    fn put_back(&mut self, server: usize, data: usize) -> Result<(), Error> {
        self.note_pages(server)?;
        self.with_steps(server, |provisioner, up, tell| {
            let snapshot = up.state.snapshots.get_mut(&data).expect("looked up by the caller");
            provisioner.put_back(up.group.primary_mut(), snapshot, tell)
        })?;
        let state = self.state(server);
        state.holds(data, Origin::Snapshot);
        state.restarted = true;
        // Counts rows; tables that live in memory alone are loaded again.
        self.load_data(server, data).map(drop)
    }

    /// Restarts a server: a level of repetition above the trial, since what a start leaves to chance
    /// (addresses, placement of memory) moves results more than what trials leave. One that Prony did not
    /// start is left alone.
    pub(super) fn restart(&mut self, server: usize) -> Result<(), Error> {
        self.heed_stop()?;
        self.note_pages(server)?;
        let restarted =
            self.with_steps(server, |provisioner, up, tell| provisioner.restart_group(&mut up.group, tell))?;
        let in_memory = self.state(server).data.filter(|&data| self.lives_in_memory(data));
        let state = self.state(server);
        if restarted {
            (state.restarted, state.warm) = (true, false);
            if in_memory.is_some() {
                state.data = None;
            }
        }
        Ok(())
    }

    /// Waits until a server has done what was left to do.
    fn settle(&mut self, server: usize) -> Result<Option<Settled>, Error> {
        let limit = self.plan.state.settle;
        if limit.is_zero() {
            return Ok(None);
        }
        let stop = self.stop;
        let own = self.plan.servers[server].may(Act::Start);
        let all: Vec<Target> = self.up(server).group.servers().map(|each| each.target().clone()).collect();
        let mut settled: Option<Settled> = None;
        for target in all {
            let one = self.with_connection(server, &target, |connection, tell| {
                settle::settle(connection, own, limit, stop, tell)
            })?;
            settled = match (settled, one) {
                (Some(settled), Some(one)) => Some(settled.and(one)),
                (settled, one) => settled.or(one),
            };
        }
        self.heed_stop()?;
        if let Some(Settled { limit_reached: true, dirty_pages, history, .. }) = settled
            && !std::mem::replace(&mut self.state(server).told, true)
        {
            let (seconds, transactions) = (limit.as_secs(), history);
            let what = Remark::NotSettled { seconds, dirty_pages, transactions };
            self.tell(&Event::Remark { server, what })?;
        }
        Ok(settled)
    }

    /// Fills the buffer pool as the study says, unless it is warm.
    fn warm(&mut self, server: usize, data: usize) -> Result<Option<Duration>, Error> {
        let plan = self.plan;
        let state = self.state(server);
        let noted = std::mem::take(&mut state.noted);
        if std::mem::replace(&mut state.warm, true)
            || plan.state.warm == Warm::None
            || state.data != Some(data)
        {
            return Ok(None);
        }
        let begun = Instant::now();
        if !(noted && self.read_pages(server)?) {
            let all: Vec<Target> =
                self.up(server).group.servers().map(|each| each.target().clone()).collect();
            for target in all {
                self.read_tables(server, data, &target)?;
            }
        }
        Ok(Some(begun.elapsed()))
    }

    /// Reads all of a data set once.
    fn read_tables(&mut self, server: usize, data: usize, target: &Target) -> Result<(), Error> {
        let (plan, stop) = (self.plan, self.stop);
        let warmed = self.with_steps(server, |_, _, tell| {
            let mut told = 0;
            let mut progress = |progress: dataset::Progress| {
                let percent = progress.rows * 100 / progress.rows_total.max(1);
                if percent != told {
                    told = percent;
                    tell(Step::Reading { percent });
                }
            };
            Ok(dataset::warm(target, &plan.data_sets[data], &mut progress, stop.flag()))
        })?;
        let name = || plan.servers[server].name.clone();
        warmed.map_err(|source| Error::Data { name: name(), source })
    }

    /// Lets a server read the pages that it has noted. False: it cannot.
    fn read_pages(&mut self, server: usize) -> Result<bool, Error> {
        let target = self.up(server).group.primary().target().clone();
        self.with_connection(server, &target, |connection, tell| {
            tell(Step::ReadingPages);
            family::spoken().pages(connection, Pages::Read, PAGES_LIMIT)
        })
    }

    /// Lets a server note the pages of its buffer pool before it is stopped, where the study wants them back.
    fn note_pages(&mut self, server: usize) -> Result<(), Error> {
        let group = &self.up(server).group;
        let (is_single, target) = (group.members().is_empty(), group.primary().target().clone());
        let wanted = is_single && self.plan.state.warm == Warm::Pages;
        self.up(server).group.primary_mut().keep_pages(wanted);
        if wanted {
            let noted = self.with_connection(server, &target, |connection, tell| {
                tell(Step::NotingPages);
                family::spoken().pages(connection, Pages::Note, PAGES_LIMIT)
            })?;
            self.state(server).noted = noted;
        }
        Ok(())
    }

    /// Whether a data set outlives a restart, so that keeping its files is of use.
    pub(super) fn lives_in_memory(&self, data: usize) -> bool {
        self.keeps_rows(data) == Keeps::Nothing
    }

    /// Whether a data set is whole after a crash.
    pub(super) fn is_crash_safe(&self, data: usize) -> bool {
        self.keeps_rows(data) == Keeps::Crash
    }

    fn keeps_rows(&self, data: usize) -> Keeps {
        family::spoken().keeps_rows(self.plan.data_sets[data].engine())
    }

    /// Whether a data set may come from an earlier run, and go to later ones.
    pub(super) fn may_reuse(&self, server: usize, data: usize) -> bool {
        let server = &self.plan.servers[server];
        server.may(Act::PutBack)
            && self.plan.state.reuse != Reuse::Never
            && !self.plan.data_sets[data].is_empty()
            // the copy takes as long from the cache
            && self.plan.data_sets[data].copy().is_none()
            && !self.lives_in_memory(data)
    }

    /// Whether data of a server will have to be restored from a snapshot.
    fn needs_snapshot(&self, server: usize, data: usize) -> bool {
        self.plan.snapshots().contains(&(server, data)) && !self.lives_in_memory(data)
    }

    /// Whether the disk has room for all servers, their data and the snapshots, before any of them is
    /// started.
    pub(super) fn check_space(&self) -> Result<(), Error> {
        let plan = self.plan;
        let kept = provision::cached_data(self.provisioner.places()).map_err(Error::Space)?;
        let is_kept = |server: &ServerPlan, data: usize| {
            let ServerSource::Product { product, version } = &server.source else { return false };
            let version = version.as_deref().unwrap_or_default();
            kept.iter().any(|kept| {
                kept.product == *product
                    && kept.version.starts_with(version)
                    && kept.data == plan.data_sets[data]
            })
        };
        let sizes = plan.servers.iter().enumerate().filter(|(_, server)| server.may(Act::Start));
        let sizes: Vec<(u64, u64)> = sizes
            .map(|(index, server)| {
                let of_server = plan.treatments.iter().filter(|treatment| treatment.server == index);
                let data: BTreeSet<usize> = of_server.map(|treatment| treatment.data).collect();
                let size = |data: &usize| dataset::size_bytes(&plan.data_sets[*data]);
                let snapshots = plan.snapshots();
                let copied = data.iter().filter(|&&data| {
                    snapshots.contains(&(index, data))
                        && !is_kept(server, data)
                        && !self.lives_in_memory(data)
                });
                let copied = copied.map(|data| size(data) + provision::SERVER_BYTES).sum();
                (data.iter().map(size).max().unwrap_or(0), copied)
            })
            .collect();
        provision::check_snapshots(&self.provisioner.places().instances(), &sizes).map_err(Error::Space)
    }

    /// Does something with a server that may take long, and reports the steps.
    pub(super) fn with_steps<T>(
        &mut self,
        server: usize,
        job: impl FnOnce(&Provisioner, &mut Up, &mut dyn FnMut(Step)) -> Result<T, provision::Error>,
    ) -> Result<T, Error> {
        let up = self.servers[server].as_mut().expect("every server that is needed is up");
        let mut told = Ok(());
        let result = job(self.provisioner, up, &mut |step| {
            let event = Event::ServerStarting { server, step };
            if told.is_ok() {
                told = (self.reader)(&event);
            }
        });
        told.map_err(Error::Reader)?;
        self.heed_stop()?;
        result.map_err(|source| Error::Provision { name: self.plan.servers[server].name.clone(), source })
    }

    /// The same over a control connection of its own.
    fn with_connection<T>(
        &mut self,
        server: usize,
        target: &Target,
        job: impl FnOnce(&mut Connection, &mut dyn FnMut(Step)) -> Result<T, client::Error>,
    ) -> Result<T, Error> {
        let done = self.with_steps(server, |_, _, tell| {
            let opened = Connection::open(target, CONTROL_WAIT);
            Ok(opened.and_then(|mut connection| {
                // writing dirty pages or reading tables takes as long as it takes
                connection.set_timeout(None);
                job(&mut connection, tell)
            }))
        })?;
        done.map_err(|source| Error::Control { name: self.plan.servers[server].name.clone(), source })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn unsettled() -> Began {
        let settled =
            Settled { took: Duration::from_secs(30), dirty_pages: 900, history: 5000, limit_reached: true };
        Began {
            data: Origin::Left,
            put_back: None,
            restarted: false,
            settled: Some(settled),
            warmed: None,
            seed: None,
        }
    }

    /// A trial that began although its server still had work of the one before.
    pub(in crate::run) fn produced() -> Vec<Doubt> {
        unsettled().doubt().into_iter().collect()
    }

    #[test]
    fn a_trial_of_a_server_that_did_not_settle_is_suspicious() {
        let began = unsettled();
        let doubt = began.doubt().expect("it has not settled");
        assert_eq!((doubt.level, doubt.id()), (Level::Suspicious, "not_settled"));
        assert!(matches!(doubt.what, What::NotSettled { dirty_pages: 900, transactions: 5000, .. }));
        let settled = began.settled.map(|settled| Settled { limit_reached: false, ..settled });
        let done = Began { settled, ..began };
        assert_eq!(done.doubt(), None);
        assert_eq!(Began { settled: None, ..began }.doubt(), None);
    }
}
