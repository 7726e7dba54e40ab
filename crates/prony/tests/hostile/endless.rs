//! Answers without an end: memory stays bounded, and the error says what was too much.

use crate::{
    program::Home,
    server::{Answer, Hostile},
};
use std::time::Duration;

/// Address space that a command gets: far more than it needs, and far less than an endless answer takes.
const ADDRESS_SPACE_KIB: u64 = 2 << 20;

#[test]
fn an_endless_answer_ends_with_an_error_before_it_fills_the_memory() {
    let home = Home::new();
    for answer in [Answer::Endless(0), Answer::Endless(60_000), Answer::EndlessRow, Answer::EndlessResults] {
        let given = answer.clone();
        let server = Hostile::answering(move |_| given.clone());
        let program = home.command(&["load", "oltp_point_select", "--url", &server.url()]);
        let mut limited = std::process::Command::new("sh");
        limited.arg("-c").arg(format!("ulimit -v {ADDRESS_SPACE_KIB} && exec \"$@\"")).arg("sh");
        limited.arg(program.get_program()).args(program.get_args()).current_dir(home.path());
        limited.stdin(std::process::Stdio::null());
        program.get_envs().for_each(|(name, value)| {
            match value {
                Some(value) => limited.env(name, value),
                None => limited.env_remove(name),
            };
        });
        let ended = crate::program::wait(crate::program::start(&mut limited));
        assert_eq!(ended.code, Some(2), "{answer:?}: {}", ended.said());
        assert!(ended.said().contains("larger than expected"), "{answer:?}: {}", ended.said());
        assert!(ended.took < Duration::from_secs(60), "{answer:?}: {:?}", ended.took);
    }
}
