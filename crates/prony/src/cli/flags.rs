//! Flags that several commands share, and types of their values.

use super::failure::{Failure, chain};
use crate::{
    layout::neighbours,
    provision::target,
    quantity, study,
    workload::{OptionInfo, OptionKind, Options},
};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use load::spec::Target;
use std::{
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

/// Why a flag cannot have a value.
#[derive(Debug, thiserror::Error)]
pub(super) enum Wrong {
    #[error(transparent)]
    Quantity(#[from] quantity::Error),
    #[error("`{text}` is not a number from {least} to {most}")]
    Range { text: String, least: u64, most: u64 },
    #[error("`{0}` is not a number from 0.1 to 3600")]
    Seconds(String),
    #[error("there is no neighbour `{text}`; there are {}", neighbour_names())]
    Neighbour { text: String },
    #[error("{0}")]
    Pods(#[from] study::Mistakes),
    #[error("`{0}` is not a number above 0")]
    NotPositive(String),
    #[error("`{0}` is not a time; write 2026-11-21, or 2026-11-21T18:00Z")]
    Time(String),
    #[error("`{0}` is not NAME=VALUE")]
    NoValue(String),
    #[error("letters, digits and _ are allowed")]
    Name,
    #[error("`{0}` is not a host name or address")]
    Host(String),
    #[error("`{0}` has a port; write the host alone")]
    HasPort(String),
    #[error("`{0}` is not an agent's address: write HOST:PORT")]
    Address(String),
}

fn neighbour_names() -> String {
    neighbours::ALL.iter().map(|each| each.builtin.name).collect::<Vec<_>>().join(", ")
}

/// Reads a whole number between these as people write it: `1000`, `10_000`, `64K`.
pub(super) fn count<N: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<N, Wrong> + Clone + Send + Sync + 'static {
    move |text| {
        let number = quantity::count(text)?;
        let fitting = (least..=most).contains(&number).then(|| N::try_from(number).ok()).flatten();
        fitting.ok_or_else(|| Wrong::Range { text: text.to_owned(), least, most })
    }
}

/// A duration as people write it: `10s`, `500ms`, `1m 30s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DurationFlag(pub(super) Duration);

impl FromStr for DurationFlag {
    type Err = quantity::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        quantity::duration(text).map(Self)
    }
}

/// A day (its beginning, UTC) or a moment.
pub(super) fn time(text: &str) -> Result<jiff::Timestamp, Wrong> {
    let moment = text.parse().or_else(|_| format!("{text}T00:00Z").parse());
    moment.map_err(|_| Wrong::Time(text.to_owned()))
}

#[derive(Debug, Args)]
pub(super) struct StudyOptions {
    /// The study's file, or the name of a built-in study (`prony list studies`)
    #[arg(value_name = "STUDY")]
    pub(super) study: String,
    /// Apply the study's section [scale.NAME]
    #[arg(long, value_name = "NAME")]
    pub(super) scale: Option<String>,
    /// Override one key of the study, for instance `measure.interval=5s`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct StoreOptions {
    /// Where to store results: an SQLite file (FILE.sqlite), or a directory for prony.sqlite and the reports
    /// [default: prony.sqlite in the user's data directory]
    #[arg(long, alias = "output", value_name = "PATH", env = "PRONY_STORE")]
    pub(super) store: Option<PathBuf>,
}

impl StoreOptions {
    /// The directory that `--store` names: one that exists, or a path without the extension of a database.
    pub(super) fn directory(&self) -> Option<&Path> {
        let path = self.store.as_deref()?;
        let is_database =
            path.extension().is_some_and(|end| ["sqlite", "sqlite3", "db"].iter().any(|each| end == *each));
        (path.is_dir() || !(is_database || path.is_file())).then_some(path)
    }
}

/// Which server, and how to log in.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(super) struct ServerFlags {
    /// mysql://USER@HOST:PORT/DATABASE, optionally followed by ?socket=PATH, ?ssl-mode=required, ?ssl-ca=FILE
    /// or ?compress=1; the flags below are parameters, too (?get-server-public-key=1)
    #[arg(long, value_name = "URL", env = "PRONY_URL", hide_env_values = true)]
    url: Option<String>,
    /// Read user, password and address from this option file [default: ~/.my.cnf]
    #[arg(long, value_name = "FILE")]
    defaults_file: Option<PathBuf>,
    /// Send the password in clear text if the server asks for it (mysql_clear_password: PAM, LDAP), even if
    /// TLS has not verified the server
    #[arg(long)]
    cleartext_password: bool,
    /// Encrypt the password with the key that the server sends, or send it over unverified TLS
    /// (caching_sha2_password, sha256_password)
    #[arg(long)]
    get_server_public_key: bool,
    /// The server's RSA public key (PEM), for these two plug-ins without TLS
    #[arg(long, value_name = "FILE")]
    server_public_key_path: Option<PathBuf>,
}

impl ServerFlags {
    /// The server that the flags name.
    pub(super) fn target(&self) -> Result<Target, Failure> {
        let mut target = target::resolve(self.url.as_deref(), self.defaults_file.as_deref())
            .map_err(|error| Failure::cannot_begin(chain(&error)))?;
        let trust = &mut target.trust;
        trust.cleartext_password |= self.cleartext_password;
        trust.get_server_public_key |= self.get_server_public_key;
        trust.server_public_key = self.server_public_key_path.clone().or(trust.server_public_key.take());
        Ok(target)
    }
}

/// Flags for the options of built-in workloads, made from the one table that also makes study keys and lists.
#[derive(Debug, Clone, Default)]
pub(super) struct WorkloadFlags {
    /// Name and text of each flag that was given.
    given: Vec<(&'static str, String)>,
}

impl WorkloadFlags {
    /// The first flag that was given.
    pub(super) fn first(&self) -> Option<String> {
        let (name, _) = self.given.first()?;
        let shown = Options::table().iter().find(|info| info.name == *name).map_or(*name, flag_of);
        Some(format!("--{}", shown.replace('_', "-")))
    }

    /// The text given for an option of the table.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.given.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }

    /// The options with the given values.
    pub(super) fn options(&self) -> Result<Options, Failure> {
        let mut options = Options::default();
        for (name, text) in &self.given {
            options.set(name, text).map_err(Failure::cannot_begin)?;
        }
        Ok(options)
    }
}

/// The name that the flag shows: the shorter one where there are two (`rows` for `table_size`).
fn flag_of(info: &OptionInfo) -> &'static str {
    if info.name == "table_size" { "rows" } else { info.name }
}

fn argument(info: &OptionInfo) -> Arg {
    let dashed = |name: &str| name.replace('_', "-");
    let shown = dashed(flag_of(info));
    let others = [Some(info.name), info.alias];
    let aliases = others.into_iter().flatten().flat_map(|name| [dashed(name), name.to_owned()]);
    let help = format!("{} [default: {}]", info.help.trim_end_matches('.'), info.default);
    let mut arg = Arg::new(info.name).long(shown.clone()).help(help).help_heading("Workload");
    arg = arg.aliases(aliases.filter(|alias| *alias != shown).collect::<Vec<_>>());
    let value_name = match info.kind {
        OptionKind::Count => "N",
        OptionKind::Number => "X",
        OptionKind::Switch => "on|off",
        OptionKind::Word => "WORD",
    };
    arg = arg.value_name(value_name);
    if info.kind == OptionKind::Switch {
        arg = arg.num_args(0..=1).default_missing_value("on").require_equals(true);
    }
    arg
}

impl Args for WorkloadFlags {
    fn augment_args(command: Command) -> Command {
        Options::table().iter().fold(command, |command, info| command.arg(argument(info)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for WorkloadFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = Options::table()
            .into_iter()
            .filter_map(|info| Some((info.name, matches.get_one::<String>(info.name)?.clone())))
            .collect();
        Ok(Self { given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_option_is_a_flag_under_all_its_names() {
        let command = WorkloadFlags::augment_args(Command::new("load"));
        for info in Options::table() {
            for name in [Some(info.name), info.alias].into_iter().flatten() {
                for flag in [
                    format!("--{}={}", name.replace('_', "-"), info.default),
                    format!("--{name}={}", info.default),
                ] {
                    let matches = command.clone().try_get_matches_from(["load", &flag]).expect(&flag);
                    let flags = WorkloadFlags::from_arg_matches(&matches).expect("flags");
                    assert_eq!(flags.options().expect("its own default"), Options::default());
                }
            }
        }
    }
}
