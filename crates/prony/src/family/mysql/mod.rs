//! MySQL and MariaDB, with all that is built from them.

mod conditions;
mod copies;
mod counters;
mod dialect;
mod explain;
mod form;
mod schema;
mod settle;
mod status;
mod types;

use super::{
    Class, Explained, Family, Keeps, OwnNames, Pages, Reader, Series, Status, Unfinished, Variables,
    Whereabouts,
};
use load::client::{Connection, Error};
use std::{collections::BTreeMap, time::Duration};

/// The family.
pub(super) struct MySql;

impl Family for MySql {
    fn unfinished(&self, connection: &mut Connection) -> Result<Option<Unfinished>, Error> {
        settle::unfinished(connection)
    }

    fn hurry(&self, connection: &mut Connection, variables: &BTreeMap<String, String>) -> Result<(), Error> {
        settle::hurry(connection, variables)
    }

    fn explain(&self, connection: &mut Connection, sql: &str) -> Result<Option<Explained>, Error> {
        explain::explain(connection, sql)
    }

    fn pages(&self, connection: &mut Connection, what: Pages, limit: Duration) -> Result<bool, Error> {
        settle::pages(connection, what, limit)
    }

    fn keeps_rows(&self, engine: Option<&str>) -> Keeps {
        match engine.unwrap_or("InnoDB").to_ascii_lowercase().as_str() {
            "innodb" | "" => Keeps::Crash,
            "memory" | "heap" => Keeps::Nothing,
            _ => Keeps::Restart,
        }
    }

    fn status(&self, all: bool) -> Box<dyn Status> {
        Box::new(status::Asking::new(all))
    }

    fn own_names(&self) -> OwnNames {
        counters::OWN
    }

    fn whereabouts(&self, connection: &mut Connection) -> Result<Whereabouts, Error> {
        let names = "'admin_address', 'admin_port', 'datadir', 'extra_port'";
        let show = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})");
        let answer = connection.query(&show)?;
        let pair = |row: &Vec<Option<String>>| Some((row.first()?.clone()?, row.get(1)?.clone()?));
        Ok(whereabouts(&answer.rows().iter().filter_map(pair).collect()))
    }

    fn class(&self, code: u16) -> Option<Class> {
        CLASSES.iter().find(|(_, codes)| codes.contains(&code)).map(|(class, _)| *class)
    }

    fn condition(&self, reader: Reader, names: &[String], variables: &Variables) -> Option<String> {
        conditions::value(reader, names, variables)
    }

    fn series(&self) -> &'static [Series] {
        conditions::series()
    }

    fn now(&self, variables: &Variables, status: &BTreeMap<String, String>) -> Variables {
        conditions::now(variables, status)
    }

    fn builder(&self, variables: &Variables) -> Option<String> {
        conditions::builder(variables)
    }

    fn buffer_pool_setting(&self) -> &'static str {
        "innodb_buffer_pool_size"
    }
}

/// Errors that Prony does something about.
const CLASSES: &[(Class, &[u16])] = &[
    (Class::Conflict, &[1205, 1213]),
    (Class::GivenUp, &[1969, 3024]),
    (Class::NoDatabase, &[1049]),
    (Class::DatabaseExists, &[1007]),
    (Class::Denied, &[1044, 1142, 1227]),
    (Class::Full, &[3, 1021, 1114]),
    (Class::TooLarge, &[1153]),
    (Class::NoEngine, &[1286]),
    (Class::NotPrepared, &[1047, 1295]),
    (Class::ReadOnly, &[1290, 1836]),
    (Class::TooManyPrepared, &[1461]),
];

/// MariaDB has `extra_port`, MySQL `admin_port` at an address of its own.
fn whereabouts(variables: &BTreeMap<String, String>) -> Whereabouts {
    let text = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    let port = |name: &str| text(name)?.parse::<u16>().ok().filter(|port| *port > 0);
    let address = |text: &String| (text != "*").then(|| text.clone());
    let admin = || Some((address(text("admin_address")?), port("admin_port")?));
    let reserved = port("extra_port").map(|port| (None, port)).or_else(admin);
    Whereabouts { data_directory: text("datadir").map(Into::into), reserved }
}

/// The rows that a server answers; `None`: it refuses.
fn ask(connection: &mut Connection, sql: &str) -> Result<Option<Vec<Vec<Option<String>>>>, Error> {
    match connection.query(sql) {
        Err(Error::Server { .. }) => Ok(None),
        answer => Ok(Some(answer?.rows().to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_for_administrators_is_known_where_the_server_has_one() {
        let reserved = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            whereabouts(&variables.collect()).reserved
        };
        assert_eq!(reserved(&[("extra_port", "0"), ("datadir", "/d")]), None);
        assert_eq!(reserved(&[("extra_port", "3307")]), Some((None, 3307)));
        assert_eq!(reserved(&[("admin_port", "33062"), ("admin_address", "")]), None);
        assert_eq!(reserved(&[("admin_port", "33062"), ("admin_address", "*")]), Some((None, 33062)));
        let admin = [("admin_port", "33062"), ("admin_address", "10.0.0.1")];
        assert_eq!(reserved(&admin), Some((Some("10.0.0.1".to_owned()), 33062)));
    }

    #[test]
    fn tables_keep_their_rows_as_their_engine_does() {
        let keeps = |engine| MySql.keeps_rows(engine);
        assert_eq!([None, Some(""), Some("innodb"), Some("InnoDB")].map(keeps), [Keeps::Crash; 4]);
        assert_eq!(["MyISAM", "Aria", "ARCHIVE"].map(Some).map(keeps), [Keeps::Restart; 3]);
        assert_eq!(["MEMORY", "heap"].map(Some).map(keeps), [Keeps::Nothing; 2]);
    }
}
