//! Fetches of one server at the same time, and fetches that are killed: one tree in the cache, whole.

use crate::program::{Home, start, wait};
use rustix::process::{Pid, Signal, kill_process};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, Command},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::{Duration, Instant},
};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of the archive that come before it falters.
const FIRST_PART: usize = 200_000;
/// What the archive holds beside the program.
const FILLING: usize = 1_000_000;

/// A server of one file over HTTP, with ranges. It sends the first part of it, and the rest when it is let.
#[derive(Default)]
struct Slow {
    bytes: Vec<u8>,
    /// First bytes of the ranges that were asked for, and whether the rest may be sent.
    state: Mutex<(Vec<usize>, bool)>,
    changed: Condvar,
}

impl Slow {
    /// Whether it was asked so often within a time that is long enough.
    fn was_asked(&self, times: usize) -> Vec<usize> {
        let state = self.state.lock().expect("nobody panics with it");
        let (state, _) = self
            .changed
            .wait_timeout_while(state, PATIENCE, |(asked, _)| asked.len() < times)
            .expect("nobody panics with it");
        state.0.clone()
    }

    fn let_go(&self, whether: bool) {
        self.state.lock().expect("nobody panics with it").1 = whether;
        self.changed.notify_all();
    }

    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let lines = BufReader::new(stream.try_clone()?).lines().map_while(Result::ok);
        let head: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
        let range = head.iter().find_map(|line| line.strip_prefix("Range: bytes="));
        let first: usize = range.map_or(0, |range| range.trim_end_matches('-').parse().expect("a number"));
        self.state.lock().expect("nobody panics with it").0.push(first);
        self.changed.notify_all();
        let (all, status) = (self.bytes.len(), if first > 0 { "206 Partial Content" } else { "200 OK" });
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nContent-Range: bytes {first}-{}/{all}\r\n\
             Connection: close\r\n\r\n",
            all - first,
            all - 1
        )?;
        let pause = (first + FIRST_PART).min(all);
        stream.write_all(&self.bytes[first..pause])?;
        let state = self.state.lock().expect("nobody panics with it");
        let (state, _) = self
            .changed
            .wait_timeout_while(state, PATIENCE, |(_, goes_on)| !*goes_on)
            .expect("nobody panics with it");
        drop(state);
        stream.write_all(&self.bytes[pause..])
    }
}

/// A home whose user has a server `mine`, an archive that comes slowly.
struct Place {
    home: Home,
    slow: Arc<Slow>,
}

impl Place {
    fn new() -> Self {
        let home = Home::new();
        let tree = home.path().join("tree/bin");
        fs::create_dir_all(&tree).expect("a directory");
        let program = tree.join("mariadbd");
        fs::write(&program, "#!/bin/sh\necho 'mariadbd  Ver 10.11.7-MariaDB for Linux on x86_64'\n")
            .expect("a file");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a file");
        fs::write(tree.join("filling"), vec![b'x'; FILLING]).expect("a file");
        let archive = home.path().join("server.tar");
        let tar =
            Command::new("tar").arg("-cf").arg(&archive).arg("-C").arg(home.path()).arg("tree").status();
        assert!(tar.expect("tar").success());
        let bytes = fs::read(archive).expect("the archive");
        let sum: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/server.tar", listener.local_addr().expect("an address"));
        let slow = Arc::new(Slow { bytes, ..Slow::default() });
        let server = Arc::clone(&slow);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = Arc::clone(&server);
                // the client may go away at any time
                thread::spawn(move || server.answer(stream));
            }
        });
        let config = home.path().join("CONFIG/prony");
        fs::create_dir_all(&config).expect("a directory");
        let entry = format!(
            "[[server]]\nname = \"mine\"\nproduct = \"mariadb\"\nversion = \"10.11\"\n\
             from = {{ archive = {{ at = \"{url}\", sha256 = \"{sum}\" }} }}\n"
        );
        fs::write(config.join("servers.toml"), entry).expect("a file");
        Self { home, slow }
    }

    /// A fetch that goes on by itself, and the file with what it says.
    fn fetch(&self, name: &str) -> (Child, PathBuf) {
        let said = self.home.path().join(name);
        let file = File::create(&said).expect("a file");
        let mut command = self.home.command(&["server", "fetch", "mine"]);
        command.stdout(file.try_clone().expect("a file")).stderr(file);
        (command.spawn().expect("prony starts"), said)
    }

    /// Names in the cache below `directory`, locks aside.
    fn cached(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = self.home.path().join("CACHE/prony").join(directory).read_dir() else {
            return Vec::new();
        };
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| !name.ends_with(".lock")).collect()
    }

    /// One server is there, all of it, and nothing else.
    fn is_whole(&self) {
        assert_eq!(self.cached("servers"), ["mine"]);
        assert_eq!(self.cached("archives"), Vec::<String>::new());
        let there = self.home.path().join("CACHE/prony/servers/mine/tree/bin");
        for name in ["mariadbd", "filling"] {
            let own = fs::read(self.home.path().join("tree/bin").join(name)).expect("a file");
            assert!(fs::read(there.join(name)).expect("a file") == own, "{name}");
        }
    }
}

fn says(file: &PathBuf, words: &str) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if fs::read_to_string(file).expect("a file").contains(words) {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

fn ends_well((mut child, said): (Child, PathBuf)) {
    let code = child.wait().expect("a child").code();
    let said = fs::read_to_string(said).expect("a file");
    assert!(code == Some(0) && said.contains("mine: mariadb 10.11.7"), "{code:?}: {said}");
}

fn kill((mut child, _): (Child, PathBuf)) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::KILL).expect("it runs");
    child.wait().expect("a child");
}

const WAITS: &str = "waiting for another Prony process that is doing the same";

#[test]
fn the_second_of_two_waits_says_so_and_both_have_the_same_server() {
    let place = Place::new();
    let first = place.fetch("first");
    assert_eq!(place.slow.was_asked(1), [0]);
    let second = place.fetch("second");
    assert!(says(&second.1, WAITS));
    place.slow.let_go(true);
    ends_well(first);
    ends_well(second);
    assert_eq!(place.slow.was_asked(1), [0], "downloaded once");
    place.is_whole();
}

#[test]
fn who_waits_goes_on_where_the_other_was_killed_and_so_does_the_next() {
    let place = Place::new();
    let archive = place.home.path().join("CACHE/prony/archives/mine");
    let grows_beyond = |bytes: usize| {
        let begun = Instant::now();
        while archive.metadata().map_or(0, |known| known.len()) <= bytes as u64 {
            assert!(begun.elapsed() < PATIENCE, "nothing comes");
            thread::sleep(Duration::from_millis(20));
        }
    };
    let first = place.fetch("first");
    grows_beyond(0);
    let second = place.fetch("second");
    assert!(says(&second.1, WAITS));
    kill(first);
    let asked = place.slow.was_asked(2);
    assert!(matches!(asked[..], [0, 1..=FIRST_PART]), "{asked:?}");
    grows_beyond(asked[1]);
    kill(second);
    // nobody waited for it
    place.slow.let_go(true);
    ends_well(place.fetch("third"));
    let all = place.slow.was_asked(3);
    assert!(all.len() == 3 && all[..2] == asked && all[2] > all[1], "{all:?}");
    place.is_whole();
}

#[test]
fn a_server_of_which_half_was_unpacked_when_prony_was_killed_is_unpacked_anew() {
    let place = Place::new();
    place.slow.let_go(true);
    let (tools, slow) = (place.home.path().join("tools"), place.home.path().join("slow"));
    fs::create_dir(&tools).expect("a directory");
    let path = std::env::var("PATH").expect("a path");
    // unpacks the program without what is beside it, and then takes long
    let script = format!(
        "#!/bin/sh\nPATH='{path}'\nif [ -e '{slow}' ]; then\n  tar \"$@\" --exclude=filling\n  \
         mv '{slow}' '{slow}.seen'\n  exec sleep 60\nfi\nexec tar \"$@\"\n",
        slow = slow.display()
    );
    let tar = tools.join("tar");
    fs::write(&tar, script).expect("a file");
    fs::set_permissions(&tar, fs::Permissions::from_mode(0o755)).expect("a file");
    File::create(&slow).expect("a file");
    let seen = place.home.path().join("slow.seen");
    let mut command = place.home.command(&["server", "fetch", "mine"]);
    command.env("PATH", format!("{}:{path}", tools.display()));
    let mut first = start(&mut command);
    let begun = Instant::now();
    while !seen.exists() && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(place.cached("servers"), [".mine.unfinished"]);
    first.child.kill().expect("it runs");
    assert_eq!(wait(first).code, None);
    // a run of another command does not take the half for a server
    let listed = place.home.prony(&["server", "list"]).said();
    let line = listed.lines().find(|line| line.contains("mine")).expect("it is listed").to_owned();
    assert!(line.contains("to fetch"), "{line}");
    ends_well(place.fetch("second"));
    place.is_whole();
}
