//! What a run keeps up: its servers, each with the data set that it holds.

use super::{Error, Event, Run, event::DataProgress, target_of};
use crate::{
    dataset,
    network::Surroundings,
    provision::{self, Group, ServerDescription, Wants},
};
use load::client;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Connections that load data at the same time; more do not help where client and server share a machine.
fn loaders() -> u32 {
    std::thread::available_parallelism().map_or(2, |cores| cores.get() as u32).clamp(2, 8)
}

/// How long control connections wait for an answer.
const CONTROL_WAIT: Duration = Duration::from_secs(60);

/// How long members may take to have all of the data that was loaded.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(3600);

/// A server that is up, with those that work together with it.
pub(super) struct Up {
    pub(super) group: Group,
    /// The data set that it holds, as it was loaded.
    pub(super) data: Option<usize>,
    /// Rows of its data were added or removed since.
    pub(super) spoilt: bool,
    /// What it said when it was ready.
    pub(super) description: ServerDescription,
    /// Sizes of the data sets that it has held, by index of the plan's.
    pub(super) sizes: BTreeMap<usize, dataset::Size>,
}

impl Run<'_, '_> {
    /// Starts one server, checks that it can bear what is planned, and loads its data.
    pub(super) fn bring_up(&mut self, index: usize, treatments: &[usize]) -> Result<(), Error> {
        self.heed_stop()?;
        let plan = self.plan;
        let server_plan = &plan.servers[index];
        let name = || server_plan.name.clone();
        let first = plan.treatments[treatments[0]].data;
        let largest = treatments.iter().map(|&each| plan.treatments[each].data);
        let bytes = largest.map(|data| dataset::size_bytes(&plan.data_sets[data])).max().unwrap_or(0);
        let mut told = Ok(());
        let group =
            self.provisioner.bring_up_group(server_plan, bytes, &mut provision::directly, &mut |step| {
                let event = Event::ServerStarting { server: index, step: step.to_owned() };
                if told.is_ok() {
                    told = (self.reader)(&event);
                }
            });
        told.map_err(Error::Reader)?;
        self.heed_stop()?;
        let group = group.map_err(|source| Error::Provision { name: name(), source })?;
        let target = group.primary().target().clone();
        let control = |source| Error::Control { name: name(), source };
        let mut connection = client::Connection::open(&target, CONTROL_WAIT).map_err(control)?;
        let description = group.primary().describe(&server_plan.name, &mut connection).map_err(control)?;
        let up =
            Up { group, data: None, spoilt: false, description: description.clone(), sizes: BTreeMap::new() };
        self.servers[index] = Some(up);
        self.tell(&Event::ServerReady { server: index, description: Box::new(description) })?;
        let mut remarks = BTreeSet::new();
        for &each in treatments {
            let treatment = &plan.treatments[each];
            let server = self.up(index).group.primary();
            let sources = u32::try_from(treatment.client.sources.len()).unwrap_or(u32::MAX).max(1);
            let target = target_of(server, &treatment.client);
            let wants = Wants { sources, ..super::wants(&treatment.streams, &target) };
            let limits = provision::preflight(&mut connection, &wants);
            remarks.extend(limits.map_err(|source| Error::Limit { name: name(), source })?);
        }
        for text in remarks {
            self.tell(&Event::Remark { server: index, text })?;
        }
        self.have_data(index, first)
    }

    /// Restarts a server: a level of repetition above the trial, since what a start leaves to chance (addresses, placement of
    /// memory) moves results more than what trials leave. One that Prony did not start is left alone.
    pub(super) fn restart(&mut self, server: usize) -> Result<(), Error> {
        self.heed_stop()?;
        let up = self.servers[server].as_mut().expect("every server that is needed is up");
        let mut told = Ok(());
        let restarted = self.provisioner.restart_group(&mut up.group, &mut |step| {
            let event = Event::ServerStarting { server, step: step.to_owned() };
            if told.is_ok() {
                told = (self.reader)(&event);
            }
        });
        told.map_err(Error::Reader)?;
        let name = || self.plan.servers[server].name.clone();
        restarted.map(drop).map_err(|source| Error::Provision { name: name(), source })
    }

    pub(super) fn up(&mut self, server: usize) -> &mut Up {
        self.servers[server].as_mut().expect("every server that is needed is up")
    }

    /// Sees to it that a server holds a data set as it was loaded.
    pub(super) fn have_data(&mut self, server: usize, data: usize) -> Result<(), Error> {
        if self.up(server).data == Some(data) || self.plan.data_sets[data].tables == 0 {
            return Ok(());
        }
        let up = self.up(server);
        let target = up.group.primary().target().clone();
        if std::mem::take(&mut up.spoilt) {
            let name = || self.plan.servers[server].name.clone();
            dataset::cleanup(&target, None).map_err(|source| Error::Data { name: name(), source })?;
        }
        self.load_data(server, data, &target)?;
        self.up(server).data = Some(data);
        Ok(())
    }

    fn load_data(&mut self, server: usize, data: usize, target: &load::spec::Target) -> Result<(), Error> {
        let plan = self.plan;
        let begun = std::time::Instant::now();
        let mut told = Ok(());
        let result = dataset::prepare(
            target,
            &plan.data_sets[data],
            loaders(),
            &mut |progress: dataset::Progress| {
                let event = Event::DataLoading(DataProgress {
                    server,
                    rows: progress.rows,
                    rows_total: progress.rows_total,
                    elapsed: begun.elapsed(),
                });
                if told.is_ok() {
                    told = (self.reader)(&event);
                }
            },
            self.stop.flag(),
        );
        told.map_err(Error::Reader)?;
        self.heed_stop()?;
        let name = || plan.servers[server].name.clone();
        result.map_err(|source| Error::Data { name: name(), source })?;
        let stop = self.stop;
        let equal = self.up(server).group.wait_until_equal(CATCH_UP_LIMIT, stop);
        equal.map_err(|source| Error::Provision { name: name(), source })?;
        let took = begun.elapsed();
        // A server that does not tell its sizes can be measured all the same.
        let size = dataset::size(target, &plan.data_sets[data]).ok();
        if let Some(size) = &size {
            self.up(server).sizes.insert(data, size.clone());
        }
        self.tell(&Event::DataReady { server, data, took, size })
    }

    pub(super) fn stop_servers(&mut self) -> Result<(), Error> {
        let mut result = Ok(());
        for index in 0..self.servers.len() {
            let Some(Up { group, .. }) = self.servers[index].take() else { continue };
            let surroundings = Surroundings { links: self.links.end(index), usage: group.primary().usage() };
            let around = if surroundings == Surroundings::default() {
                Ok(())
            } else {
                self.tell(&Event::Surroundings { server: index, surroundings: Box::new(surroundings) })
            };
            // its last figures are worth having, but a server that died must not keep the others from being stopped
            let status_after = client::Connection::open(group.primary().target(), CONTROL_WAIT)
                .and_then(|mut connection| provision::status(&mut connection))
                .unwrap_or_default();
            let stopped = group.stop();
            let told = self.tell(&Event::ServerStopped { server: index, status_after });
            let name = self.plan.servers[index].name.clone();
            result =
                result.and(stopped.map_err(|source| Error::Provision { name, source })).and(around).and(told);
        }
        result
    }
}
