//! Servers that say nonsense or nothing.

use crate::{
    program::Home,
    server::{Fault, Hostile, refusal},
};

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
        assert!(ended.took.as_secs() < 60 && server.connections() >= 1);
    }
}
