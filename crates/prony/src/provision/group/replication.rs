//! A primary with replicas, asynchronous or semi-synchronous, by global transaction ids where the version has
//! them.

use super::{Between, Group, Lag, Wanted, connect, wait_until, words::Words};
use crate::{
    plan::{Replication, WaitPoint},
    provision::{Error, Step, instance::Part, login::target, server::Server, software::Software},
};
use load::{
    Stop,
    client::Connection,
    spec::{Address, Target},
};
use std::{collections::BTreeMap, time::Instant};

pub(super) fn bring_up(
    wanted: &Wanted<'_>,
    count: u32,
    replication: Replication,
    between: &mut Between<'_>,
    progress: &mut dyn FnMut(Step),
) -> Result<Group, Error> {
    let software = wanted.software(progress)?;
    let words = Words::of(&software);
    check(&software, words, replication)?;
    let start = |number: u32, progress: &mut dyn FnMut(Step)| {
        let settings = settings(&wanted.plan.settings, words, replication, number);
        wanted.node(&Part { settings, number: number as usize, ..Part::default() }, progress)
    };
    let primary = start(0, progress)?;
    let mut members = Vec::new();
    for number in 1..=count {
        let mut told = |step| progress(Step::Replica { number, of: count, then: Box::new(step) });
        members.push(start(number, &mut told)?);
    }
    let group = wanted.group(primary, members);
    progress(Step::ConnectingReplicas);
    follow(&group, words, between)?;
    Ok(group)
}

/// Whether this program can replicate so.
pub(super) fn check(software: &Software, words: Words, replication: Replication) -> Result<(), Error> {
    let refuse = |reason: String| Err(Error::Topology { server: software.to_string(), reason });
    let Replication::SemiSynchronous { wait_point, acknowledgements, .. } = replication else {
        return Ok(());
    };
    let missing = words
        .semi_sync_plugins()
        .and_then(|files| files.into_iter().find(|file| software.plugin_directory(file).is_none()));
    if let Some(file) = missing {
        return refuse(format!(
            "its package lacks {file}, which semi-synchronous replication needs; of the servers that Prony \
             can fetch, MySQL 5.5.34, 5.6.14, 8.0.33 and 9.7, and MariaDB since 10.5, have it"
        ));
    }
    if wait_point == Some(WaitPoint::AfterSync) && !words.has_wait_point() {
        return refuse(
            "it can only wait after the commit: MySQL has after-sync since 5.7 and MariaDB since 10.1; use \
             replication = \"after-commit\" or \"semi-sync\""
                .to_owned(),
        );
    }
    if acknowledgements > 1 && words.semi_sync_count().is_none() {
        return refuse(format!(
            "it can only wait for one replica, not for {acknowledgements}: that needs MySQL 5.7 or later; \
             use acknowledgements = 1"
        ));
    }
    Ok(())
}

/// The settings of node `number`; 0 is the primary. Any of them could be the primary: they differ only by
/// their number and their part.
fn settings(
    of_study: &BTreeMap<String, String>,
    words: Words,
    replication: Replication,
    number: u32,
) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    let mut set = |name: &str, value: &str| settings.insert(name.to_owned(), value.to_owned());
    set("server_id", &(number + 1).to_string());
    set("log_bin", "binlog");
    set("relay_log", "relay");
    if words.must_ask_for_rows() && !of_study.contains_key("binlog_format") {
        set("binlog_format", "ROW");
    }
    for (name, value) in words.gtid_settings() {
        set(name, value);
    }
    if number > 0 {
        set("read_only", "ON");
    }
    let Replication::SemiSynchronous { wait_point, acknowledgements, timeout } = replication else {
        return settings;
    };
    if let Some([primary, replica]) = words.semi_sync_plugins() {
        set(words.plugin_setting(), if number == 0 { primary } else { replica });
    }
    if number > 0 {
        set(&format!("{}_enabled", words.semi_sync_replica()), "ON");
        return settings;
    }
    let primary = words.semi_sync_primary();
    set(&format!("{primary}_enabled"), "ON");
    set(&format!("{primary}_timeout"), &timeout.as_millis().to_string());
    if let Some(wait_point) = wait_point.filter(|_| words.has_wait_point()) {
        let word = match wait_point {
            WaitPoint::AfterSync => "AFTER_SYNC",
            WaitPoint::AfterCommit => "AFTER_COMMIT",
        };
        set(&format!("{primary}_wait_point"), word);
    }
    if let Some(count) = words.semi_sync_count() {
        set(&count, &acknowledgements.to_string());
    }
    settings
}

/// Tells each replica where its primary is, and starts it.
fn follow(group: &Group, words: Words, between: &mut Between<'_>) -> Result<(), Error> {
    let target = group.primary.target();
    let place =
        if words.has_gtid() { (String::new(), 0) } else { place(&mut connect(target)?, target, words)? };
    for (number, replica) in (1..).zip(&group.members) {
        let address = between(number, 0, &target.address).map_err(|source| Error::Between { source })?;
        let Address::Tcp { host, port } = &address else {
            unreachable!("servers of Prony's own are reached by TCP")
        };
        let mut connection = connect(replica.target())?;
        let login = (target.user.as_str(), target.password.reveal());
        let statement = words.follow((host, *port), login, &place);
        run(&mut connection, replica.target(), &statement)?;
        run(&mut connection, replica.target(), words.start_replica())?;
    }
    Ok(())
}

pub(super) fn wait_until_equal(
    group: &Group,
    replication: Replication,
    deadline: Instant,
    stop: &Stop,
) -> Result<(), Error> {
    let words = words_of(&group.primary);
    let target = group.primary.target();
    let mut primary = connect(target)?;
    let place = place(&mut primary, target, words)?;
    for (replica, member) in (1..).zip(&group.members) {
        let target = member.target();
        let mut connection = connect(target)?;
        wait_until(deadline, stop, &mut || {
            let said = rows(&mut connection, target, &words.wait_for(&place))?;
            match said.first().and_then(|row| row.first()).and_then(Option::as_deref) {
                Some("-1") => {
                    // a connection that is being made again passes; what does not is the reason in the end
                    Ok(Some(match State::of(&mut connection, target, words)?.failure() {
                        Some(reason) => Lag::Stuck { replica, reason },
                        None => Lag::Behind { replica },
                    }))
                }
                Some(_) => Ok(None),
                None => match State::of(&mut connection, target, words)?.failure() {
                    Some(reason) => Err(Error::ReplicationStopped { replica, reason }),
                    None => Ok(Some(Lag::NotStarted { replica })),
                },
            }
        })?;
    }
    if let Replication::SemiSynchronous { acknowledgements, .. } = replication {
        let prefix = words.semi_sync_primary();
        wait_until(deadline, stop, &mut || {
            let status = semi_sync_status(&mut primary, prefix)
                .map_err(|source| Error::Statement { server: shown(target), source: Box::new(source) })?;
            let replicas = status.get("clients").and_then(|text| text.parse().ok()).unwrap_or(0);
            let is_on = status.get("status").is_some_and(|word| word == "ON");
            let ready = is_on && replicas >= acknowledgements;
            Ok((!ready).then_some(Lag::Acknowledging { replicas, wanted: acknowledgements }))
        })?;
    }
    Ok(())
}

/// What the primary says about semi-synchronous replication, by the last part of the names: `status`,
/// `clients`, `no_tx`.
pub(super) fn semi_sync_status(
    connection: &mut Connection,
    prefix: &str,
) -> Result<BTreeMap<String, String>, load::client::Error> {
    let answer =
        connection.query(&format!("SHOW GLOBAL STATUS LIKE '{}\\_%'", prefix.replace('_', "\\_")))?;
    let rows = answer.results.into_iter().flat_map(|result| result.rows);
    Ok(rows
        .filter_map(|row| {
            let (name, value) = (row.first()?.clone()?.to_ascii_lowercase(), row.get(1)?.clone()?);
            Some((name.strip_prefix(prefix)?.trim_start_matches('_').to_owned(), value))
        })
        .collect())
}

/// What a replica says of itself.
pub(super) struct State(BTreeMap<String, String>);

impl State {
    pub(super) fn of(connection: &mut Connection, target: &Target, words: Words) -> Result<Self, Error> {
        let answer = query(connection, target, words.replica_status())?;
        let mut values = BTreeMap::new();
        for result in answer.results {
            let Some(row) = result.rows.into_iter().next() else { continue };
            let names = result.columns.into_iter();
            let names = names.map(|name| name.replace("Replica", "Slave").replace("Source", "Master"));
            values.extend(names.zip(row).filter_map(|(name, value)| Some((name, value?))));
        }
        Ok(Self(values))
    }

    /// Why it does not replicate; `None`: it does, or is about to.
    pub(super) fn failure(&self) -> Option<String> {
        let value = |name: &str| self.0.get(name).map_or("", String::as_str);
        let errors = ["Last_SQL_Error", "Last_IO_Error"].map(value);
        if let Some(error) = errors.into_iter().find(|error| !error.is_empty()) {
            return Some(error.to_owned());
        }
        let stopped =
            ["Slave_SQL_Running", "Slave_IO_Running"].into_iter().find(|name| value(name) == "No")?;
        Some(format!("{stopped} is No"))
    }
}

impl State {
    /// Whether it has carried out all that it has received.
    pub(super) fn has_carried_out_all(&self) -> bool {
        let value = |name: &str| self.0.get(name).map_or("", String::as_str);
        value("Read_Master_Log_Pos") == value("Exec_Master_Log_Pos")
            && value("Master_Log_File") == value("Relay_Master_Log_File")
    }
}

/// The end of the primary's binary log: file and position.
fn place(connection: &mut Connection, target: &Target, words: Words) -> Result<(String, u64), Error> {
    let rows = rows(connection, target, words.primary_status())?;
    let row = rows.into_iter().next().unwrap_or_default();
    let mut columns = row.into_iter();
    match (columns.next().flatten(), columns.next().flatten().and_then(|text| text.parse().ok())) {
        (Some(file), Some(position)) => Ok((file, position)),
        _ => Err(Error::Topology {
            server: shown(target),
            reason: "it has no binary log for its replicas to read".to_owned(),
        }),
    }
}

/// The words of a server that Prony has started.
pub(super) fn words_of(server: &Server) -> Words {
    Words::of(server.software().expect("only servers of Prony's own have replicas"))
}

fn shown(target: &Target) -> String {
    target::shown(target)
}

pub(super) fn query(
    connection: &mut Connection,
    target: &Target,
    statement: &str,
) -> Result<load::client::Answer, Error> {
    connection
        .query(statement)
        .map_err(|source| Error::Statement { server: shown(target), source: Box::new(source) })
}

fn run(connection: &mut Connection, target: &Target, statement: &str) -> Result<(), Error> {
    query(connection, target, statement).map(drop)
}

fn rows(
    connection: &mut Connection,
    target: &Target,
    statement: &str,
) -> Result<Vec<Vec<Option<String>>>, Error> {
    let answer = query(connection, target, statement)?;
    Ok(answer.results.into_iter().next().map(|result| result.rows).unwrap_or_default())
}
