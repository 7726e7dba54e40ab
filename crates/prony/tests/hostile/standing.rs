//! `prony server start --data`: links, directories in use, what others may read of its process, odd paths.

use crate::program::{self, Ended, Home};
use std::{fs, os::unix::fs::symlink, path::Path};

const SECRET: &str = "geheim-0815";

fn prony(home: &Home, arguments: &[&str]) -> Ended {
    let mut command = home.command(arguments);
    program::with_servers(&mut command);
    command.env("PRONY_PASSWORD", SECRET).env("MYSQL_PWD", SECRET);
    program::wait(program::start(&mut command))
}

fn start(home: &Home, name: &str, data: &Path) -> Ended {
    prony(home, &["server", "start", "mariadb-10.11", "--name", name, "--data", &data.to_string_lossy()])
}

/// Stops all servers of a home, also where a test fails.
struct Stopped<'a>(&'a Home);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        prony(self.0, &["server", "stop", "--all"]);
    }
}

#[test]
fn a_link_stays_a_used_directory_is_named_and_no_secret_is_inherited() {
    let home = Home::new();
    let _stopped = Stopped(&home);
    // a name that has all that a path can have, and a socket too long for the kernel
    let odd = home.path().join(format!("it's a \"disk\" 100% {}", "x".repeat(90)));
    fs::create_dir(&odd).expect("a directory");
    let (real, link) = (odd.join("real"), home.path().join("link"));
    symlink(&real, &link).expect("a link");
    let ended = start(&home, "first", &link);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert_eq!(fs::read_link(&link).expect("still a link"), real);
    assert!(real.join("data/ibdata1").is_file() && real.join("server.json").is_file());
    let pid = program::servers_in(&real)[0];
    let environment = fs::read(format!("/proc/{pid}/environ")).expect("its environment");
    let environment = String::from_utf8_lossy(&environment);
    assert!(!environment.contains(SECRET) && environment.contains("HOME="), "{environment}");

    // under its own name and under the link's, from here and from a home that knows nothing of it
    let other = Home::new();
    for (asking, holder) in [(&home, "the server first (process"), (&other, "mariadbd")] {
        let ended = start(asking, "second", &real);
        assert_eq!(ended.code, Some(2), "{}", ended.said());
        let words = [&*real.to_string_lossy(), "is in use by", holder, &pid.to_string()];
        for word in words {
            assert!(ended.said().contains(word), "`{word}` is not in {}", ended.said());
        }
        assert!(ended.took.as_secs() < 30, "{:?}", ended.took);
    }
    let ended = prony(&home, &["server", "stop", "first"]);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(fs::read_link(&link).is_ok() && real.join("data/ibdata1").is_file(), "its data stay");
    // again, on what is there
    let ended = start(&home, "first", &link);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(fs::read_link(&link).is_ok());
}

#[test]
fn an_empty_directory_of_the_user_outlives_a_start_that_fails() {
    let home = Home::new();
    let empty = home.path().join("empty");
    fs::create_dir(&empty).expect("a directory");
    let arguments =
        ["server", "start", "mariadb-10.11", "--data", &*empty.to_string_lossy(), "--set", "no_such=1"];
    let ended = prony(&home, &arguments);
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(ended.said().contains("no_such"), "{}", ended.said());
    assert_eq!(empty.read_dir().expect("still there").count(), 0);
}
