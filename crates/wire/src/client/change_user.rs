//! COM_CHANGE_USER: a login again on the same connection.

use super::{
    Handshake, Options, Session,
    handshake::{Greeting, put_attributes},
};
use crate::{
    auth::{Exchange, Plugin},
    compression::Compression,
    constants::{capability, command},
    error::{Error, malformed},
    packet::{self, put_nul_text},
};
use std::sync::Arc;

pub(super) fn begin(session: &Session, options: Arc<Options>, out: &mut Vec<u8>) -> Result<Handshake, Error> {
    if !session.is_idle() {
        return Err(Error::OutOfTurn("a command was sent before the reply to the last one was complete"));
    }
    let (channel, flags) = (session.channel, session.capabilities);
    let plugin = Plugin::Native;
    let password = options.password.as_bytes();
    let (exchange, answer) = Exchange::start(plugin, &session.nonce, password, channel, &options.trust)?;
    let start = packet::begin(out);
    out.push(command::CHANGE_USER);
    put_nul_text(out, &options.user);
    out.push(u8::try_from(answer.len()).map_err(|_| malformed("an answer of an authentication plug-in"))?);
    out.extend_from_slice(&answer);
    put_nul_text(out, options.database.as_deref().unwrap_or_default());
    out.extend_from_slice(&[options.charset, 0]);
    if flags & capability::PLUGIN_AUTH != 0 {
        put_nul_text(out, plugin.name());
    }
    if flags & capability::CONNECT_ATTRS != 0 {
        put_attributes(out, &long_enough(&options));
    }
    let sequence = packet::end(out, start, 0);
    let compression = (flags & capability::COMPRESS != 0).then(|| {
        let mut compression = Box::new(Compression::default());
        compression.wrap(out, start, true);
        compression
    });
    let greeting = Greeting::remembered(session.version.clone(), session.thread, flags, session.nonce);
    Ok(Handshake::resume(options, channel, sequence, greeting, exchange, compression))
}

/// MySQL 5.6 and 5.7 check the length of the attributes at a wrong place, where they find the character set's
/// number (`parse_com_change_user_packet` in sql_acl.cc does not step over the plug-in's name), and refuse a
/// login with fewer bytes than that. So there are always more.
fn long_enough(options: &Options) -> Vec<(String, String)> {
    let mut attributes = options.attributes.clone();
    let length: usize = attributes.iter().map(|(name, value)| name.len() + value.len()).sum();
    let least = usize::from(options.charset);
    if length < least {
        attributes.push(("_filler".to_owned(), "-".repeat(least)));
    }
    attributes
}
