//! What InnoDB still has to do, how to make it do that fast, and how to fill its buffer pool again.

use super::ask;
use crate::family::{Pages, Unfinished};
use load::client::{Connection, Error};
use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

/// Between two looks at what a server does with its pages.
const LOOK: Duration = Duration::from_millis(50);
/// What makes a server write its dirty pages, now and fast, in this order: MySQL takes no capacity above the
/// maximum, and MariaDB raises the maximum with the capacity.
const HURRY: [(&str, u64); 4] = [
    ("innodb_io_capacity_max", IO_CAPACITY),
    ("innodb_io_capacity", IO_CAPACITY),
    ("innodb_max_dirty_pages_pct_lwm", 0),
    ("innodb_max_dirty_pages_pct", 0),
];
/// Pages per second: what a good disk writes. A higher setting stays.
const IO_CAPACITY: u64 = 10_000;

/// See [`crate::family::Family::unfinished`].
pub(super) fn unfinished(connection: &mut Connection) -> Result<Option<Unfinished>, Error> {
    let Some(answer) = ask(connection, "SHOW GLOBAL STATUS LIKE 'Innodb\\_buffer\\_pool\\_pages\\_%'")?
    else {
        return Ok(None);
    };
    let figure = |name: &str| {
        let row = answer.iter().find(|row| row.first().and_then(Option::as_deref) == Some(name))?;
        row.get(1)?.as_deref()?.parse().ok()
    };
    let (Some(dirty_pages), Some(pages)) =
        (figure("Innodb_buffer_pool_pages_dirty"), figure("Innodb_buffer_pool_pages_total"))
    else {
        return Ok(None);
    };
    let status = ask(connection, "SHOW ENGINE INNODB STATUS")?.unwrap_or_default();
    let text = status.first().and_then(|row| row.get(2)?.as_deref()).unwrap_or_default();
    Ok(Some(Unfinished { dirty_pages, pages, history: history_in(text).unwrap_or(0) }))
}

fn history_in(status: &str) -> Option<u64> {
    let (_, after) = status.split_once("History list length ")?;
    after.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// See [`crate::family::Family::hurry`].
pub(super) fn hurry(connection: &mut Connection, variables: &BTreeMap<String, String>) -> Result<(), Error> {
    for (name, value) in HURRY {
        let now = variables.get(name).and_then(|now| now.parse::<f64>().ok());
        if now.is_some_and(|now| value == 0 || now < value as f64) {
            ask(connection, &format!("SET GLOBAL {name} = {value}"))?;
        }
    }
    Ok(())
}

/// See [`crate::family::Family::pages`]. MySQL 5.5 cannot.
pub(super) fn pages(connection: &mut Connection, what: Pages, limit: Duration) -> Result<bool, Error> {
    let what = match what {
        Pages::Note => "dump",
        Pages::Read => "load",
    };
    if ask(connection, &format!("SET GLOBAL innodb_buffer_pool_{what}_now = ON"))?.is_none() {
        return Ok(false);
    }
    let begun = Instant::now();
    loop {
        let status =
            connection.query(&format!("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_{what}_status'"))?;
        let text =
            status.rows().first().and_then(|row| row.get(1)?.as_deref()).unwrap_or_default().to_lowercase();
        if text.contains("completed") || begun.elapsed() > limit {
            return Ok(text.contains("completed"));
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_found_in_what_every_generation_says() {
        let old = "TRANSACTIONS\n------------\nTrx id counter 4F2\nHistory list length 1034\nLIST OF";
        assert_eq!(history_in(old), Some(1034));
        assert_eq!(history_in("History list length 0"), Some(0));
        assert_eq!(history_in("nothing of it"), None);
    }
}
