//! Servers that say nonsense or nothing: every command ends in bounded time, and at once when the user wants.

use crate::{
    program::{Ended, Home, start, wait},
    server::{Answer, Fault, Hostile, refusal},
};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    thread,
    time::{Duration, Instant},
};

/// Twice what the program allows a server that answers nothing, for a busy machine.
const BOUND: Duration = Duration::from_secs(60);

fn study(url: &str) -> String {
    format!(
        r#"
title = "Elsewhere"
[server.there]
url = "{url}"
[data]
rows = 200
[[stream]]
workload = "oltp_point_select"
connections = 2
[measure]
warm_up = "50ms"
interval = "1s"
repeats = 1
"#
    )
}

/// What each command is to a server.
fn commands(home: &Home, url: &str) -> Vec<Vec<String>> {
    home.file("study.toml", &study(url));
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    vec![
        words(&format!("load oltp_point_select --url {url}")),
        words(&format!("prepare oltp_point_select --rows 100 --url {url}")),
        words(&format!("cleanup --url {url}")),
        words("run study.toml --report report.html"),
    ]
}

#[test]
fn a_server_that_refuses_or_talks_nonsense_ends_a_load_with_its_address() {
    let home = Home::new();
    for bytes in [refusal(b"Too many connections"), b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), vec![0; 9]]
    {
        let server = Hostile::new(Fault::Says(bytes));
        let url = server.url();
        let ended = home.prony(&["load", "oltp_point_select", "--url", &url]);
        assert_eq!(ended.code, Some(2), "{}", ended.said());
        assert!(ended.said().contains(&server.address().to_string()), "{}", ended.said());
        assert!(ended.took < BOUND && server.connections() >= 1);
    }
}

/// Runs every command against the server, all at the same time; `signal_after`: and asks each to end.
fn all(server: &Hostile, signal_after: Option<Duration>) -> Vec<(Vec<String>, Ended)> {
    thread::scope(|scope| {
        let homes: Vec<_> = (0..4).map(|_| Home::new()).collect();
        let one = |(index, home): (usize, Home)| {
            let arguments = commands(&home, &server.url()).swap_remove(index);
            let arguments_of: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let running = start(&mut home.command(&arguments_of));
            if let Some(after) = signal_after {
                let begun = Instant::now();
                // it must be at the server, not on its way there
                while server.connections() == 0 && begun.elapsed() < BOUND {
                    thread::sleep(Duration::from_millis(20));
                }
                thread::sleep(after);
                let pid = Pid::from_raw(running.child.id() as i32).expect("a process");
                // one that has ended already is told by what follows
                let _ = kill_process(pid, Signal::TERM);
            }
            (arguments, wait(running))
        };
        let threads: Vec<_> =
            homes.into_iter().enumerate().map(|each| scope.spawn(move || one(each))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a command")).collect()
    })
}

#[test]
fn the_first_signal_ends_what_waits_for_a_server_that_answers_nothing() {
    let server = Hostile::answering(|_| Answer::Silence);
    for (command, ended) in all(&server, Some(Duration::from_secs(2))) {
        // a command that has nothing to clean up is ended by the signal itself
        assert!(matches!(ended.code, Some(130) | None), "{command:?}: {:?} {}", ended.code, ended.said());
        assert!(ended.took < Duration::from_secs(20), "{command:?}: {:?} {}", ended.took, ended.said());
    }
}

#[test]
#[ignore = "long: half a minute"]
fn a_server_that_logs_in_and_never_answers_ends_every_command_with_an_error_that_says_so() {
    let server = Hostile::answering(|_| Answer::Silence);
    for (command, ended) in all(&server, None) {
        assert_eq!(ended.code, Some(2), "{command:?}: {}", ended.said());
        assert!(ended.said().contains("it hangs"), "{command:?}: {}", ended.said());
        assert!(ended.took < BOUND, "{command:?}: {:?}", ended.took);
    }
}

#[test]
#[ignore = "long: half a minute"]
fn a_server_that_never_ends_its_greeting_is_given_up_after_the_limit_of_a_login() {
    for fault in [Fault::Mute, Fault::Dribbles(Duration::from_millis(50))] {
        let server = Hostile::new(fault);
        for (command, ended) in all(&server, None) {
            assert_eq!(ended.code, Some(2), "{command:?}: {}", ended.said());
            assert!(ended.said().contains("did not reply in time"), "{command:?}: {}", ended.said());
            assert!(ended.took < BOUND, "{command:?}: {:?}", ended.took);
        }
    }
}
