//! Flags that several commands share, and types of their values.

use super::failure::{Failure, chain};
use crate::{
    provision::target,
    quantity,
    workload::{OptionInfo, OptionKind, Options},
};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use load::spec::Target;
use std::{
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

/// Reads a whole number between these as people write it: `1000`, `10_000`, `64K`.
pub(super) fn count<N: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = quantity::count(text).map_err(|error| error.to_string())?;
        let fitting = (least..=most).contains(&number).then(|| N::try_from(number).ok()).flatten();
        fitting.ok_or_else(|| format!("`{text}` is not a number from {least} to {most}"))
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
pub(super) fn time(text: &str) -> Result<jiff::Timestamp, String> {
    let moment = text.parse().or_else(|_| format!("{text}T00:00Z").parse());
    moment.map_err(|_| format!("`{text}` is no time; write 2026-11-21, or 2026-11-21T18:00Z"))
}

#[derive(Debug, Args)]
pub(super) struct StudyOptions {
    /// The study's file, or the name of a built-in study (`prony list studies`)
    #[arg(value_name = "STUDY")]
    pub(super) study: String,
    /// Apply the study's section [scale.NAME]
    #[arg(long, value_name = "NAME")]
    pub(super) scale: Option<String>,
    /// Override one key of the study, as `measure.interval=5s`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct StoreOptions {
    /// Where results are kept: an SQLite file (FILE.sqlite), or a directory that gets prony.sqlite and the
    /// reports [default: prony.sqlite in the user's data directory]
    #[arg(long, alias = "output", value_name = "PATH", env = "PRONY_STORE")]
    pub(super) store: Option<PathBuf>,
}

impl StoreOptions {
    /// The directory that is named, if it is one: what exists as such, or has no extension of a database.
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
    /// mysql://USER@HOST:PORT/DATABASE, with ?socket=PATH, ?ssl-mode=required, ?ssl-ca=FILE or ?compress=1
    /// behind it; the flags below are parameters, too (?get-server-public-key=1)
    #[arg(long, value_name = "URL", env = "PRONY_URL", hide_env_values = true)]
    url: Option<String>,
    /// Read user, password and address from this option file [default: ~/.my.cnf]
    #[arg(long, value_name = "FILE")]
    defaults_file: Option<PathBuf>,
    /// Send the password readable where the server asks for it (mysql_clear_password: PAM, LDAP), though TLS
    /// has not verified who it is
    #[arg(long)]
    cleartext_password: bool,
    /// Encrypt the password with the key that the server sends, or send it through TLS that verified nothing
    /// (caching_sha2_password, sha256_password)
    #[arg(long)]
    get_server_public_key: bool,
    /// The server's RSA public key (PEM), for these two without TLS
    #[arg(long, value_name = "FILE")]
    server_public_key_path: Option<PathBuf>,
}

impl ServerFlags {
    /// The server that is meant.
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
    /// Name and text of each that was given.
    given: Vec<(&'static str, String)>,
}

impl WorkloadFlags {
    /// The first that was given, as its flag.
    pub(super) fn first(&self) -> Option<String> {
        let (name, _) = self.given.first()?;
        let shown = Options::table().iter().find(|info| info.name == *name).map_or(*name, flag_of);
        Some(format!("--{}", shown.replace('_', "-")))
    }

    /// What was given for an option of the table.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.given.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }

    /// The options with what was given.
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
