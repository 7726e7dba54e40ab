//! What a hub reports of its connections.

use wire::client::Reply;

/// What has come of something that was asked for.
#[derive(Debug)]
pub struct Done {
    /// Whose connection, or whose sleep.
    pub owner: u32,
    /// What.
    pub what: What,
}

/// See [`Done`].
#[derive(Debug)]
pub enum What {
    /// The connection is logged in.
    Opened,
    /// A whole reply; rows are in [`super::Hub::rows`].
    Reply(Reply),
    /// The connection is gone, or could not be opened: code, SQL state, message.
    Lost(u16, [u8; 5], String),
    /// The sleep is over.
    Woken,
}
