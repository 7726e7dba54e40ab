//! The option file of a server that Prony starts: what isolates it from all others, and the study's settings.

use super::administration;
use crate::provision::{
    Error, Site,
    settings::plain_name,
    software::{Software, version::Version},
};
use std::{collections::BTreeMap, fmt::Write as _, net::Ipv4Addr, path::Path};

/// Settings that isolate this server from others; a study cannot set them.
const RESERVED: [&str; 12] = [
    "basedir",
    "datadir",
    "port",
    "socket",
    "bind_address",
    "pid_file",
    "log_error",
    "init_file",
    "tmpdir",
    "user",
    "lc_messages_dir",
    "mysqlx",
];

/// From here on servers understand ON and OFF for every flag; MySQL 5.5 takes OFF for some of them as ON, and
/// numbers for all.
const FLAGS_AS_WORDS: Version = Version::new(5, 6, 0);

/// What an option file says beside the study's settings.
pub(in crate::provision) struct OptionFile<'a> {
    /// The instance's directory; holds pid file and temporary files.
    pub(in crate::provision) directory: &'a Path,
    /// Its data directory.
    pub(in crate::provision) data: &'a Path,
    /// Its error log.
    pub(in crate::provision) log: &'a Path,
    /// Its socket.
    pub(in crate::provision) socket: &'a Path,
    /// Its port; `None`: it does not listen on TCP.
    pub(in crate::provision) port: Option<u16>,
    /// The port that it keeps for administrators, if it has one.
    pub(in crate::provision) administration: Option<u16>,
    /// Where it listens.
    pub(in crate::provision) site: &'a Site,
    /// SQL that is executed before it takes connections.
    pub(in crate::provision) init_file: Option<&'a Path>,
}

impl OptionFile<'_> {
    /// The file's text.
    pub(in crate::provision) fn text(
        &self,
        software: &Software,
        settings: &BTreeMap<String, String>,
    ) -> Result<String, Error> {
        let mut text = "# Made by Prony for one server; removed with it.\n[mysqld]\n".to_owned();
        let broken =
            [self.directory, self.data, &software.base].into_iter().find(|path| has_line_break(path));
        if let Some(path) = broken {
            return Err(Error::LineBreak { path: path.to_owned() });
        }
        let mut path = |name: &str, path: &Path| {
            let _ = writeln!(text, "{name} = {}", quoted(&path.display().to_string()));
        };
        path("basedir", &software.seen(&software.base));
        path("datadir", self.data);
        path("tmpdir", self.directory);
        path("socket", self.socket);
        path("pid-file", &self.directory.join("pid"));
        path("log-error", self.log);
        if let Some(file) = self.init_file {
            path("init-file", file);
        }
        if !software.is_mariadb() && software.numbers() >= Version::new(5, 7, 0) {
            // Some builds have a directory of the system's here, and do not start without it. A study may set
            // it otherwise.
            path("secure-file-priv", self.directory);
        }
        if let Some(messages) =
            software.shared_file("english/errmsg.sys").as_deref().and_then(|file| file.parent()?.parent())
        {
            path("lc-messages-dir", &software.seen(messages));
        }
        match self.port {
            Some(port) => {
                let address = match self.site {
                    Site::At(address) => *address,
                    // nobody but Prony's own reaches a namespace
                    Site::Within(_) => Ipv4Addr::UNSPECIFIED.into(),
                };
                let _ = writeln!(text, "bind-address = {address}\nport = {port}");
            }
            None => text.push_str("skip-networking\n"),
        }
        if let Some(port) = self.administration {
            text.push_str(&administration::lines(software, self.site.address(), port));
        }
        // Without the first, MySQL 8 listens on port 33060 of every interface; without the second, logins
        // wait for DNS.
        text.push_str("loose-mysqlx = OFF\nskip-name-resolve\n");
        if rustix::process::geteuid().is_root() {
            text.push_str("user = root\n");
        }
        text.push_str(&format_settings(settings, software.numbers() < FLAGS_AS_WORDS)?);
        Ok(text)
    }
}

/// A study's settings as lines of an option file, flags as numbers where the server needs that.
fn format_settings(settings: &BTreeMap<String, String>, flags_as_numbers: bool) -> Result<String, Error> {
    let mut text = String::new();
    for (name, value) in settings {
        if RESERVED.contains(&plain_name(name).as_str()) {
            return Err(Error::ReservedSetting { name: name.clone() });
        }
        if name.contains(['\n', '\r', '=', '[', '#']) || value.contains(['\n', '\r']) {
            return Err(Error::UnwritableSetting { name: name.clone() });
        }
        let value = match value.to_ascii_uppercase().as_str() {
            "ON" if flags_as_numbers => "1",
            "OFF" if flags_as_numbers => "0",
            _ => value,
        };
        let _ = if value.is_empty() {
            writeln!(text, "{name}")
        } else {
            writeln!(text, "{name} = {}", quoted(value))
        };
    }
    Ok(text)
}

/// Whether a path has what would end its line in an option file.
fn has_line_break(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| [b'\n', b'\r'].contains(byte))
}

/// A value as an option file takes it: plain where nothing in it has a meaning there.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,+=@%".contains(c);
    if value.chars().all(plain) {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn settings_are_written_as_option_files_take_them() {
        assert_eq!(format_settings(&settings("skip-log-bin", ""), false).unwrap(), "skip-log-bin\n");
        assert_eq!(
            format_settings(&settings("innodb_flush_method", "O_DIRECT"), false).unwrap(),
            "innodb_flush_method = O_DIRECT\n"
        );
        assert_eq!(
            format_settings(&settings("init_connect", "SET a='#'"), false).unwrap(),
            "init_connect = \"SET a='#'\"\n"
        );
        let flag = settings("innodb_doublewrite", "OFF");
        assert_eq!(format_settings(&flag, false).unwrap(), "innodb_doublewrite = OFF\n");
        assert_eq!(format_settings(&flag, true).unwrap(), "innodb_doublewrite = 0\n");
    }

    #[test]
    fn what_keeps_servers_apart_cannot_be_set_in_any_spelling() {
        for name in ["datadir", "bind-address", "loose_Pid-File"] {
            assert!(
                matches!(format_settings(&settings(name, "x"), false), Err(Error::ReservedSetting { .. })),
                "{name}"
            );
        }
        assert!(format_settings(&settings("a", "1\nuser = nobody"), false).is_err());
    }
}
