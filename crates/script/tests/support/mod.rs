//! What tests of scripts need.

use load::{
    null::NullServer,
    spec::{Address, Secret, Target, Tls, Trust},
};

/// The null server as scripts reach it.
pub(crate) fn target(server: &NullServer) -> Target {
    let address = Address::Tcp { host: server.address().ip().to_string(), port: server.address().port() };
    Target {
        address,
        user: "root".to_owned(),
        password: Secret::default(),
        database: None,
        tls: Tls::default(),
        trust: Trust::default(),
        compress: false,
    }
}
