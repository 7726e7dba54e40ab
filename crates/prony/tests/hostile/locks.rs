//! Locks of which the server does not say who has them.

use crate::{
    program::Home,
    server::{Answer, Hostile},
};

#[test]
fn a_lock_that_is_neither_taken_nor_refused_is_not_taken() {
    let home = Home::new();
    for (answer, words) in [
        (Answer::Rows(vec!["l"], vec![vec![None]]), "returned NULL"),
        (
            Answer::Error(3058, "Deadlock found when trying to get user-level lock".to_owned()),
            "Deadlock found",
        ),
    ] {
        let server = Hostile::answering(
            move |sql| {
                if sql.contains("GET_LOCK") { answer.clone() } else { Answer::Done }
            },
        );
        let ended = home.prony(&["prepare", "oltp_point_select", "--rows=10", "--url", &server.url()]);
        assert_eq!(ended.code, Some(2), "{}", ended.said());
        assert!(ended.said().contains(words), "{}", ended.said());
        let heard = server.heard();
        let heard = String::from_utf8_lossy(&heard);
        assert!(!heard.contains("CREATE TABLE"), "nothing is made without the lock: {heard}");
    }
}
