//! What a run keeps up: its servers, each with the data set that it holds.

use super::{Error, Event, FileNote, Note, Remark, Run, event::DataProgress, hosts, state::State, target_of};
use crate::{
    dataset,
    layout::{self, Layout as _},
    network::Surroundings,
    plan::{Act, ServerPlan, ServerSource},
    provision::{self, Group, ServerDescription, Step, Wants},
    sysbench,
};
use load::{
    client,
    spec::{Address, Target},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Connections that load data at the same time; more do not help where client and server share a machine.
fn loaders() -> u32 {
    std::thread::available_parallelism().map_or(2, |cores| cores.get() as u32).clamp(2, 8)
}

/// Differences of tables that are told: more have one cause.
const REMARKS_MAX: usize = 60;

/// How long control connections wait for an answer.
pub(super) const CONTROL_WAIT: Duration = Duration::from_secs(60);

/// How long members may take to have all of the data that was loaded.
pub(super) const CATCH_UP_LIMIT: Duration = Duration::from_secs(3600);

/// A server that is up, with those that work together with it.
pub(super) struct Up {
    pub(super) group: Group,
    /// What its data are.
    pub(super) state: State,
    /// That it has died was told by the trial that this ended.
    pub(super) death_told: bool,
    /// What it said when it was ready.
    pub(super) description: ServerDescription,
    /// Sizes of the data sets that it has held, by index of the plan's.
    pub(super) sizes: BTreeMap<usize, dataset::Size>,
}

/// A server that has just been started.
struct Begun {
    group: Group,
    state: State,
    /// What was done to a copy of somebody's data.
    remarks: Vec<provision::Remark>,
}

impl Up {
    /// What tells one database from all others: where its server says that it is, and its name.
    pub(super) fn place(&self) -> (Vec<Option<&String>>, Option<&String>) {
        const PLACE: [&str; 5] = ["hostname", "port", "datadir", "server_uuid", "server_uid"];
        let variables = PLACE.iter().map(|name| self.description.variables.get(*name)).collect();
        (variables, self.group.primary().target().database.as_ref())
    }
}

/// All servers of a plan are up at the same time, so that a running one has one set of settings.
///
/// # Errors
/// [`Error::SharedSettings`].
pub(super) fn refuse_shared_settings(servers: &[ServerPlan]) -> Result<(), Error> {
    let sets = |server: &ServerPlan| !server.settings.is_empty() && server.may(Act::ChangeSettings);
    for (place, one) in servers.iter().enumerate() {
        let is_shared = |other: &&ServerPlan| {
            !one.may(Act::Start) && one.source == other.source && (sets(one) || sets(other))
        };
        if let Some(other) = servers[place + 1..].iter().find(is_shared) {
            return Err(Error::SharedSettings { one: one.name.clone(), other: other.name.clone() });
        }
    }
    Ok(())
}

impl Run<'_, '_> {
    /// Before anything is changed anywhere: on servers that already run, no table may exist where one of the
    /// data sets is to be created, and no table that a workload writes into may be somebody else's.
    pub(super) fn refuse_foreign_tables(&self, treatments: &BTreeSet<usize>) -> Result<(), Error> {
        for &each in treatments {
            let treatment = &self.plan.treatments[each];
            let server = &self.plan.servers[treatment.server];
            let ServerSource::Url(url) = &server.source else { continue };
            let name = || server.name.clone();
            let target = provision::target::resolve(Some(url), None)
                .map_err(|source| Error::Provision { name: name(), source })?;
            let data = dataset::refuse_foreign(&target, &self.plan.data_sets[treatment.data]);
            data.map_err(|source| Error::Data { name: name(), source })?;
            if !server.write_to_my_tables {
                let writes = dataset::refuse_writes(&target, &treatment.written());
                writes.map_err(|source| Error::Data { name: name(), source })?;
            }
        }
        Ok(())
    }

    /// Makes the program of a server available, and refuses a server that cannot do what is planned, before
    /// any starts.
    pub(super) fn have_program(&mut self, index: usize) -> Result<(), Error> {
        self.heed_stop()?;
        let server = &self.plan.servers[index];
        let mut told = Ok(());
        let had = self.provisioner.have_program(server, &mut |step| {
            let event = Event::ServerStarting { server: index, step };
            if told.is_ok() {
                told = (self.reader)(&event);
            }
        });
        told.map_err(Error::Reader)?;
        had.map_err(|source| Error::Provision { name: server.name.clone(), source })
    }

    /// Refuses a copy of somebody's data on which a server cannot start, before any starts.
    pub(super) fn check_copies(&mut self, index: usize, treatments: &[usize]) -> Result<(), Error> {
        let plan = self.plan;
        let all: BTreeSet<usize> = treatments.iter().map(|&each| plan.treatments[each].data).collect();
        for copy in all.iter().filter_map(|&data| plan.data_sets[data].copy()) {
            let server = &plan.servers[index];
            let checked = self.provisioner.check_copy(server, copy, &mut |_| {});
            checked.map_err(|source| Error::Provision { name: server.name.clone(), source })?;
        }
        Ok(())
    }

    /// Starts one server, on what an earlier run has kept, on a copy of somebody's data or on none.
    fn begin(&mut self, index: usize, treatments: &[usize]) -> Result<Begun, Error> {
        let plan = self.plan;
        let server_plan = &plan.servers[index];
        let first = plan.treatments[treatments[0]].data;
        let data = || treatments.iter().map(|&each| plan.treatments[each].data);
        let bytes = data().map(|data| dataset::size_bytes(&plan.data_sets[data])).max().unwrap_or(0);
        let namespaces = self.links.namespaces(index, server_plan)?;
        let copied = data().find_map(|data| Some((data, plan.data_sets[data].copy()?)));
        // what was cached has no account for those who come from elsewhere
        let may_be_kept = namespaces.is_empty() && server_plan.listen.is_none() && copied.is_none();
        let kept = (may_be_kept && self.may_reuse(index, first)).then(|| &plan.data_sets[first]);
        let provisioner = self.provisioner.clone().within(namespaces);
        let mut told = Ok(());
        let (links, latency) = (&mut self.links, server_plan.latency_between);
        let mut between =
            |from: usize, to: usize, address: &Address| links.between(index, (from, to), address, latency);
        let mut tell = |step: Step| {
            let event = Event::ServerStarting { server: index, step };
            if told.is_ok() {
                told = (self.reader)(&event);
            }
        };
        let begun = match kept {
            Some(data) => {
                provisioner.bring_up_on(server_plan, bytes, data, &mut tell).map(|(server, kept)| {
                    let state = kept.map_or_else(State::default, |snapshot| State::kept(first, snapshot));
                    Begun { group: Group::from(server), state, remarks: Vec::new() }
                })
            }
            None => {
                let up = provisioner.bring_up_group(server_plan, bytes, &mut between, &mut tell);
                up.and_then(|mut group| {
                    let Some((data, copy)) = copied else {
                        return Ok(Begun { group, state: State::default(), remarks: Vec::new() });
                    };
                    let remarks = provisioner.load_copy(group.primary_mut(), copy, &mut tell)?;
                    Ok(Begun { group, state: State::copied(data), remarks })
                })
            }
        };
        told.map_err(Error::Reader)?;
        self.heed_stop()?;
        begun.map_err(|source| Error::Provision { name: server_plan.name.clone(), source })
    }

    /// Starts one server, checks that it can run what is planned, and loads its data.
    pub(super) fn bring_up(&mut self, index: usize, treatments: &[usize]) -> Result<(), Error> {
        self.heed_stop()?;
        let plan = self.plan;
        let server_plan = &plan.servers[index];
        let name = || server_plan.name.clone();
        let first = plan.treatments[treatments[0]].data;
        let Begun { group, state, remarks } = self.begin(index, treatments)?;
        let target = group.primary().target().clone();
        let control = |source| Error::Control { name: name(), source };
        let mut connection = client::Connection::open(&target, CONTROL_WAIT).map_err(control)?;
        let description = group.primary().describe(&server_plan.name, &mut connection).map_err(control)?;
        self.links.measure_between(index, &target);
        self.servers[index] = Some(Up {
            group,
            state,
            death_told: false,
            description: description.clone(),
            sizes: BTreeMap::new(),
        });
        self.tell(&Event::ServerReady { server: index, description: Box::new(description) })?;
        self.tell_links(index)?;
        let own = self.up(index).group.primary().remarks().iter().cloned();
        let mut remarks: BTreeSet<provision::Remark> = own.chain(remarks).collect();
        for &each in treatments {
            let treatment = &plan.treatments[each];
            let server = self.up(index).group.primary();
            let sources = u32::try_from(treatment.client.sources.len()).unwrap_or(u32::MAX).max(1);
            let target = target_of(server, &treatment.client);
            let relayed = self.is_relayed(index, &treatment.client);
            let elsewhere = hosts::is_elsewhere(&treatment.client);
            let wants = Wants { sources, relayed, elsewhere, ..super::wants(&treatment.streams, &target) };
            let limits = provision::preflight(&mut connection, &wants);
            remarks.extend(limits.map_err(|source| Error::Limit { name: name(), source })?);
        }
        for remark in remarks {
            self.tell(&Event::Remark { server: index, what: Remark::Server(remark) })?;
        }
        self.first_data(index, first)?;
        self.see_statements(index, first)
    }

    /// Makes sure that a server that has just been started holds its first data set.
    fn first_data(&mut self, server: usize, data: usize) -> Result<(), Error> {
        if self.have_data(server, data)?.is_none() && !self.plan.data_sets[data].is_empty() {
            let begun = std::time::Instant::now();
            // Those that an earlier run has kept, or another server of the plan has loaded: they are counted.
            let (size, _) = self.load_data(server, data)?;
            let (took, origin) = (begun.elapsed(), self.origin(server));
            self.tell(&Event::DataReady { server, data, took, origin, size })?;
        }
        Ok(())
    }

    pub(super) fn up(&mut self, server: usize) -> &mut Up {
        self.servers[server].as_mut().expect("every server that is needed is up")
    }

    /// Creates a data set, or checks that it is there and whole; returns its size, where the server reports
    /// it, and whether tables of it were there.
    pub(super) fn load_data(
        &mut self,
        server: usize,
        data: usize,
    ) -> Result<(Option<dataset::Size>, bool), Error> {
        let plan = self.plan;
        let target = self.up(server).group.primary().target().clone();
        let begun = std::time::Instant::now();
        self.make_by_script(server, data, &target)?;
        self.make_by_files(server, data, &target)?;
        self.see_copy(server, data, &target)?;
        let mut told = Ok(());
        let result = dataset::prepare(
            &target,
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
        let loaded = result.map_err(|source| Error::Data { name: name(), source })?;
        let stop = self.stop;
        let equal = self.up(server).group.wait_until_equal(CATCH_UP_LIMIT, stop);
        equal.map_err(|source| Error::Provision { name: name(), source })?;
        // A server that does not tell its sizes can be measured nevertheless.
        let size = dataset::size(&target, &plan.data_sets[data]).ok();
        if let Some(size) = &size {
            self.up(server).sizes.insert(data, size.clone());
        }
        Ok((size, loaded.tables_kept > 0))
    }

    /// Lets a script make its tables, where they are a script's to make and are not there yet.
    fn make_by_script(&mut self, server: usize, data: usize, target: &Target) -> Result<(), Error> {
        let set = &self.plan.data_sets[data];
        let Some((script, seed)) = set.script() else { return Ok(()) };
        let name = || self.plan.servers[server].name.clone();
        let is_there = dataset::is_complete(target, set);
        if is_there.map_err(|source| Error::Data { name: name(), source })? {
            return Ok(());
        }
        let made = sysbench::make(script, target, (loaders(), seed), self.stop);
        self.heed_stop()?;
        let (file, name) = (script.file.clone(), name());
        made.map_err(|error| Error::Script { name, file, reason: error.to_string() })
    }

    /// Executes the files that make a data set, where they do and it is not there yet, and sees that all
    /// servers hold the same after it.
    fn make_by_files(&mut self, server: usize, data: usize, target: &Target) -> Result<(), Error> {
        let plan = self.plan;
        let set = &plan.data_sets[data];
        let Some(files) = set.files() else { return Ok(()) };
        let failed = |source| Error::Data { name: plan.servers[server].name.clone(), source };
        let (begun, stop) = (std::time::Instant::now(), self.stop);
        if !dataset::is_complete(target, set).map_err(failed)? {
            let bytes: u64 = files.files.iter().map(|file| file.bytes).sum();
            let rows_total = files.rows();
            let mut told = Ok(());
            let mut next = 0;
            let done = dataset::execute(
                target,
                files,
                loaders(),
                &mut |done| {
                    if done < next || told.is_err() {
                        return;
                    }
                    next = done + bytes / 200;
                    let rows = (u128::from(rows_total) * u128::from(done) / u128::from(bytes.max(1))) as u64;
                    let elapsed = begun.elapsed();
                    told = (self.reader)(&Event::DataLoading(DataProgress {
                        server,
                        rows,
                        rows_total,
                        elapsed,
                    }));
                },
                stop.flag(),
            );
            told.map_err(Error::Reader)?;
            self.heed_stop()?;
            for warning in done.map_err(failed)? {
                self.tell(&Event::Noted(Note::Files { server, what: FileNote::Warned(warning) }))?;
            }
        }
        if self.contents.contains_key(&(data, server)) {
            return Ok(());
        }
        // it may be why the contents differ
        self.tell_form(server, data, target)?;
        self.compare_contents(server, data, target, &files.made)
    }

    /// Sees that the tables of a copy are the same on all servers.
    fn see_copy(&mut self, server: usize, data: usize, target: &Target) -> Result<(), Error> {
        if self.plan.data_sets[data].copy().is_none() || self.contents.contains_key(&(data, server)) {
            return Ok(());
        }
        let failed = |source| Error::Data { name: self.plan.servers[server].name.clone(), source };
        let tables = dataset::found(target).map_err(failed)?;
        self.compare_contents(server, data, target, &tables)
    }

    /// Compares rows and checksums of tables with those of the first server that has them.
    fn compare_contents(
        &mut self,
        server: usize,
        data: usize,
        target: &Target,
        tables: &[layout::files::Table],
    ) -> Result<(), Error> {
        let plan = self.plan;
        let failed = |source| Error::Data { name: plan.servers[server].name.clone(), source };
        let contents = dataset::contents(target, tables, self.stop.flag()).map_err(failed)?;
        let first = self.contents.iter().find(|((of, _), _)| *of == data);
        let differences = first.map_or_else(String::new, |(_, there)| different(there, &contents));
        if let Some(((_, other), _)) = first.filter(|_| !differences.is_empty()) {
            let other = plan.servers[*other].name.clone();
            return Err(failed(dataset::Error::Different { other, differences }));
        }
        self.contents.insert((data, server), contents);
        Ok(())
    }

    /// Tells what a server made of the files in another way than the first one, or left out.
    fn tell_form(&mut self, server: usize, data: usize, target: &Target) -> Result<(), Error> {
        let plan = self.plan;
        let Some(files) = plan.data_sets[data].files() else { return Ok(()) };
        let failed = |source| Error::Data { name: plan.servers[server].name.clone(), source };
        let form = dataset::form(target, files).map_err(failed)?;
        let first = self.forms.get(&data);
        let others = first.map(|(other, there)| (plan.servers[*other].name.clone(), there));
        let compared = others.map_or_else(Vec::new, |(other, there)| {
            let differences = form.differences(there, files).into_iter();
            differences.map(|difference| (difference, Some(other.clone()))).collect()
        });
        let left_out = form.left_out(files).into_iter().map(|difference| (difference, None));
        for (difference, other) in compared.into_iter().chain(left_out).take(REMARKS_MAX) {
            self.tell(&Event::Noted(Note::Files { server, what: FileNote::Differs { difference, other } }))?;
        }
        self.forms.entry(data).or_insert((server, form));
        Ok(())
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
            // its last figures are worth having, but a server that died must not keep the others from being
            // stopped
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

/// What is not the same in tables of two servers.
fn different(there: &[dataset::Contents], here: &[dataset::Contents]) -> String {
    let one = |here: &dataset::Contents| match there.iter().find(|there| there.table == here.table) {
        None => Some(format!("{} is not there", here.table)),
        Some(there) if there.rows != here.rows => {
            Some(format!("{} has {} rows, there {}", here.table, here.rows, there.rows))
        }
        Some(there) if there != here => {
            Some(format!("{} has the same {} rows with other values", here.table, here.rows))
        }
        Some(_) => None,
    };
    let is_missing = |there: &&dataset::Contents| !here.iter().any(|here| here.table == there.table);
    let missing = there.iter().filter(is_missing).map(|there| format!("{} is only there", there.table));
    here.iter().filter_map(one).chain(missing).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_server_cannot_have_the_settings_of_two() {
        let at = |url: &str, settings: &[(&str, &str)]| ServerPlan {
            settings: settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            apply_settings: !settings.is_empty(),
            ..ServerPlan::new(format!("db{}", settings.len()), ServerSource::Url(url.to_owned()))
        };
        let (plain, set) = (at("mysql://db/", &[]), at("mysql://db/", &[("sync_binlog", "0")]));
        for servers in
            [[plain.clone(), set.clone()], [set.clone(), plain.clone()], [set.clone(), set.clone()]]
        {
            let error = refuse_shared_settings(&servers).unwrap_err().to_string();
            assert!(error.contains("let Prony start") && error.contains("`prony compare`"), "{error}");
        }
        assert!(refuse_shared_settings(&[plain.clone(), plain]).is_ok(), "as it is");
        assert!(refuse_shared_settings(&[set, at("mysql://other/", &[("sync_binlog", "0")])]).is_ok());
        let own = ServerPlan::new("own", ServerSource::Path("/opt/db".into()));
        assert!(refuse_shared_settings(&[own.clone(), own]).is_ok());
    }
}
