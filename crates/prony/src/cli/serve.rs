//! `prony serve`: all runs of the store in a browser.

use super::{
    failure::{Failure, chain},
    flags::StoreOptions,
    interrupt,
    stored::{make_store, store_path},
    terminal::{aside, print},
};
use crate::serve;
use clap::Args;
use std::{env, net::SocketAddr};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony serve\n  prony serve --listen 127.0.0.1:8080\n  ssh -L \
                        7480:127.0.0.1:7480 HOST prony serve\n\nIt ends with Ctrl-C; a run that was started \
                        in the browser is then stopped, and `prony run STUDY --resume` resumes it.")]
pub(super) struct ServeOptions {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7480")]
    listen: SocketAddr,
    /// Allow an address that other machines can reach; reading then needs the token, too. Connections are not
    /// encrypted
    #[arg(long)]
    remote: bool,
    /// Accept this host name in addresses, beside IP addresses and localhost; may be repeated
    #[arg(long = "name", value_name = "HOST")]
    names: Vec<String>,
    #[command(flatten)]
    store: StoreOptions,
}

pub(super) fn serve(options: &ServeOptions) -> Result<(), Failure> {
    // created now, so that the first run has a store, and one that cannot be read is reported here
    drop(make_store(&options.store)?);
    let machine = |error: std::io::Error| Failure::cannot_begin(format!("cannot start: {error}"));
    let served = serve::Options {
        listen: options.listen,
        names: options.names.clone(),
        is_remote: options.remote,
        store: std::path::absolute(store_path(&options.store)?).map_err(machine)?,
        directory: env::current_dir().map_err(machine)?,
        program: env::current_exe().map_err(machine)?,
    };
    let stop = interrupt::stop_on_signals();
    let mut told = Ok(());
    let ready = |address: SocketAddr, token: &str| told = announce(address, token);
    serve::serve(served, &stop, ready).map_err(|error| Failure::cannot_begin(chain(&error)))?;
    told
}

/// Its address. The token follows `#`, and browsers do not send that part.
fn announce(address: SocketAddr, token: &str) -> Result<(), Failure> {
    print(&format!("http://{address}/#token={token}\n"))?;
    aside(if address.ip().is_loopback() {
        "Open this address in a browser. Everybody on this machine can read the reports at this port; \
         starting and stopping runs needs the token."
    } else {
        "Open this address in a browser. Reading needs the token, too. The connection is not encrypted: \
         others on the network can read it."
    });
    Ok(())
}
