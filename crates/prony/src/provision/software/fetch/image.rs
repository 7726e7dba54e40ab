//! Servers in container images. The image stays where podman or docker keeps it, and the server runs in it.
//! Only the files that Prony reads are copied into the cache: the scripts of the system tables, the names of
//! plug-ins, the program itself.

use super::{
    Error,
    archive::{TAR, scratch},
    client::{Client, Job},
};
use crate::provision::{
    containers::{self, Contents, Image},
    disk::files::remove_if_there,
    software::{PROGRAMS, base_of, catalogue::ImageSource, parse_version},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

const PODMAN: Client =
    Client { name: "podman", remedy: "install podman (it needs no daemon and no root), or docker" };
const DOCKER: Client = Client { name: "docker", remedy: "install docker, or say client = \"podman\"" };

/// The client that an entry needs.
pub(super) fn client(source: &ImageSource) -> &'static Client {
    if containers::client(source.client.as_deref()) == DOCKER.name { &DOCKER } else { &PODMAN }
}

/// The image as `source` means it on this machine now; `None`: it is not here.
pub(super) fn id(source: &ImageSource) -> Option<String> {
    containers::id_of(client(source).name, &source.name).ok().flatten()
}

pub(super) fn fetch(job: &mut Job<'_, '_>, source: &ImageSource) -> Result<(), Error> {
    let client = client(source);
    if id(source).is_none() {
        job.run(client, None, |command| {
            command.args(["pull", "--quiet", &source.name]);
        })?;
    }
    let id = id(source).ok_or_else(|| job.failed(client.name, "it has no such image".to_owned(), ""))?;
    let archives = scratch(job.directory)?;
    let list = export(job, client, &id, &archives)?;
    let Some(program) = program_in(&list) else {
        return Err(Error::NoServerInImage { image: source.name.clone() });
    };
    unpack(job, &archives, &wanted(&list, &program))?;
    remove_if_there(&archives)?;
    let image = Image {
        client: client.name.to_owned(),
        name: source.name.clone(),
        id,
        root: job.directory.to_owned(),
    };
    let (said, complaint) = ask_version(job, &image, &program);
    let Some((product, version)) = parse_version(&said) else {
        let reason = format!("asked for its version, it said: {}", (said + &complaint).trim());
        return Err(Error::Unusable { program: PathBuf::from(&image.name).join(&program), reason });
    };
    Contents { image, product, version, program: PathBuf::from(plain(&program)) }.write(job.directory)
}

const ARCHIVE: &str = "image.tar";

/// Writes the image's files into an archive in `directory`, and lists them.
fn export(
    job: &mut Job<'_, '_>,
    client: &'static Client,
    id: &str,
    directory: &Path,
) -> Result<Vec<String>, Error> {
    // it never runs, so that it needs no command that exists
    let name = format!("prony-fetch-{}", job.server);
    let remove = |job: &mut Job<'_, '_>| {
        job.run(client, None, |command| {
            command.args(["rm", "--force", "--volumes", &name]);
        })
    };
    // podman's says that there was none
    let _ = remove(job);
    job.run(client, None, |command| {
        command.args(["create", "--name", &name, "--network=none", "--entrypoint=/none", id]);
    })?;
    let archive = directory.join(ARCHIVE);
    let exported = job.run(client, None, |command| {
        command.args(["export", "--output"]).arg(&archive).arg(&name);
    });
    remove(job)?;
    exported?;
    let list = job.run(&TAR, None, |command| {
        command.arg("-tf").arg(&archive);
    })?;
    Ok(list.lines().map(str::to_owned).collect())
}

/// The member of the archive that is the server's program: MariaDB's own name before the old one, the
/// shortest path before others.
fn program_in(list: &[String]) -> Option<String> {
    let is_for_programs = |path: &Path| {
        ["bin", "sbin", "libexec"].iter().any(|name| path.parent().is_some_and(|it| it.ends_with(name)))
    };
    let rank = |member: &&String| {
        let name = Path::new(member.as_str()).file_name()?.to_str()?;
        let order = PROGRAMS.iter().position(|program| *program == name)?;
        is_for_programs(Path::new(member.as_str())).then_some((order, member.len()))
    };
    list.iter().filter_map(|member| Some((rank(&member)?, member))).min().map(|(_, member)| member.clone())
}

/// Members of the archive that Prony reads: the server's programs (one may be a link to another), what it
/// shares, its plug-ins.
fn wanted(list: &[String], program: &str) -> Vec<String> {
    let base = plain(&base_of(Path::new(program)).to_string_lossy()).to_owned();
    let beside = Path::new(program).parent();
    let is_wanted = |member: &&String| {
        let path = plain(member);
        if path.ends_with('/') {
            return false;
        }
        let file = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if Path::new(member.as_str()).parent() == beside && PROGRAMS.contains(&file) {
            return true;
        }
        let Ok(inner) = Path::new(path).strip_prefix(&base) else { return false };
        let of_server = base != "usr" && (inner.starts_with("share") || inner.starts_with("scripts"));
        of_server
            || inner.starts_with("share/mysql")
            || inner.starts_with("share/mariadb")
            || (file.ends_with(".so") && inner.parent().is_some_and(|it| it.ends_with("plugin")))
    };
    list.iter().filter(is_wanted).cloned().collect()
}

/// Without the `./` that some archives have.
fn plain(member: &str) -> &str {
    member.trim_start_matches("./").trim_start_matches('/')
}

fn unpack(job: &mut Job<'_, '_>, archives: &Path, members: &[String]) -> Result<(), Error> {
    let names = archives.join("members");
    fs::write(&names, members.join("\n")).map_err(Error::file("write", &names))?;
    let directory = job.directory.to_owned();
    let unpacked = job.run(&TAR, None, |command| {
        command.arg("-xf").arg(archives.join(ARCHIVE)).arg("--no-same-owner").arg("-C").arg(directory);
        command.arg("--no-recursion").arg("--verbatim-files-from").arg("-T").arg(&names);
    });
    unpacked.map(drop)
}

/// What the program in the image prints, and what it complains about.
fn ask_version(job: &Job<'_, '_>, image: &Image, program: &str) -> (String, String) {
    let of_image = image.root.join(plain(program));
    let run = image.ask(&of_image, job.directory, &["--no-defaults", "--version"]);
    run.unwrap_or_else(|error| (String::new(), error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_and_what_belongs_to_it_are_found_in_an_image() {
        let list = [
            "./usr/bin/mysql",
            "./usr/sbin/mysqld",
            "./usr/sbin/mariadbd",
            "./usr/share/doc/mysqld/mysqld",
            "./usr/share/mysql/mariadb_system_tables.sql",
            "./usr/share/zoneinfo/UTC",
            "./usr/lib/mysql/plugin/",
            "./usr/lib/mysql/plugin/auth_pam.so",
        ]
        .map(str::to_owned);
        let program = program_in(&list).expect("a program");
        assert_eq!(program, "./usr/sbin/mariadbd");
        let members = wanted(&list, &program);
        assert_eq!(members, [&list[1], &list[2], &list[4], &list[7]].map(Clone::clone));
        let other =
            ["opt/mysql/bin/mysqld", "opt/mysql/share/x.sql", "usr/share/mysql/y.sql"].map(str::to_owned);
        let program = program_in(&other).expect("a program");
        assert_eq!(wanted(&other, &program), &other[..2]);
        assert_eq!(program_in(&["usr/bin/true".to_owned()]), None);
    }
}
