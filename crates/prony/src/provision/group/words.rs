//! How each generation names the same things of replication. MySQL renamed everything between 8.0.22 and 8.4,
//! MariaDB nothing.
//!
//! Sources: MySQL 8.0 Reference Manual, 13.4 "Replication Statements" and 17.1.6 "Replication Options";
//! MariaDB Knowledge Base, "CHANGE MASTER TO" and "Semisynchronous Replication".

use crate::provision::software::{Software, version::Version};

/// The words of one server program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Words {
    is_mariadb: bool,
    version: Version,
}

impl Words {
    pub(super) fn of(software: &Software) -> Self {
        Self { is_mariadb: software.is_mariadb(), version: software.numbers() }
    }

    /// Whether a replica finds its place by global transaction ids; otherwise by file and position.
    pub(super) fn has_gtid(self) -> bool {
        self.is_mariadb || self.version >= Version::new(5, 6, 5)
    }

    /// MariaDB has global transaction ids at once; MySQL must be told.
    pub(super) fn gtid_settings(self) -> &'static [(&'static str, &'static str)] {
        if self.is_mariadb || !self.has_gtid() {
            &[]
        } else if self.version < Version::new(5, 7, 5) {
            // without its own binary log a replica of 5.6 could not tell what it has
            &[("gtid_mode", "ON"), ("enforce_gtid_consistency", "ON"), ("log_slave_updates", "ON")]
        } else {
            &[("gtid_mode", "ON"), ("enforce_gtid_consistency", "ON")]
        }
    }

    /// Whether the binary log holds statements, or a mixture, unless it is told to hold rows.
    pub(super) fn must_ask_for_rows(self) -> bool {
        self.is_mariadb || self.version < Version::new(5, 7, 7)
    }

    /// Whether statements say `source` and `replica` instead of `master` and `slave`.
    fn is_renamed(self) -> bool {
        !self.is_mariadb && self.version >= Version::new(8, 0, 23)
    }

    /// The same for settings and plug-ins of semi-synchronous replication.
    fn has_renamed_plugins(self) -> bool {
        !self.is_mariadb && self.version >= Version::new(8, 0, 26)
    }

    /// `rpl_semi_sync_master` or what it is called now.
    pub(super) fn semi_sync_primary(self) -> &'static str {
        if self.has_renamed_plugins() { "rpl_semi_sync_source" } else { "rpl_semi_sync_master" }
    }

    /// `rpl_semi_sync_slave` or what it is called now.
    pub(super) fn semi_sync_replica(self) -> &'static str {
        if self.has_renamed_plugins() { "rpl_semi_sync_replica" } else { "rpl_semi_sync_slave" }
    }

    /// The setting with the number of replicas that must have received a commit; `None`: it is always one.
    pub(super) fn semi_sync_count(self) -> Option<String> {
        let has = !self.is_mariadb && self.version >= Version::new(5, 7, 3);
        let word = if self.has_renamed_plugins() { "replica" } else { "slave" };
        has.then(|| format!("{}_wait_for_{word}_count", self.semi_sync_primary()))
    }

    /// Whether a setting says where in a commit the primary waits; otherwise it waits after the commit.
    pub(super) fn has_wait_point(self) -> bool {
        self.version >= if self.is_mariadb { Version::new(10, 1, 3) } else { Version::new(5, 7, 2) }
    }

    /// Files of the plug-ins of semi-synchronous replication, the primary's and the replica's; `None`: it is
    /// built in.
    pub(super) fn semi_sync_plugins(self) -> Option<[&'static str; 2]> {
        if self.is_mariadb && self.version >= Version::new(10, 3, 3) {
            None
        } else if self.has_renamed_plugins() {
            Some(["semisync_source.so", "semisync_replica.so"])
        } else {
            Some(["semisync_master.so", "semisync_slave.so"])
        }
    }

    /// The setting that loads a plug-in at the start, beside others where it can.
    pub(super) fn plugin_setting(self) -> &'static str {
        // written so that it stands beside a study's own `plugin_load_add`
        if self.is_mariadb || self.version >= Version::new(5, 6, 3) {
            "plugin-load-add"
        } else {
            "plugin_load"
        }
    }

    /// Makes a server the replica of the one at `host` and `port`. `place` is the primary's file and
    /// position, for those that go by it.
    pub(super) fn follow(
        self,
        (host, port): (&str, u16),
        (user, password): (&str, &str),
        place: &(String, u64),
    ) -> String {
        let it = if self.is_renamed() { "SOURCE" } else { "MASTER" };
        let mut text =
            if self.is_renamed() { "CHANGE REPLICATION SOURCE TO" } else { "CHANGE MASTER TO" }.to_owned();
        text += &format!(
            " {it}_HOST='{host}', {it}_PORT={port}, {it}_USER='{user}', {it}_PASSWORD='{password}', \
             {it}_CONNECT_RETRY=1, {it}_SSL=0"
        );
        if self.is_mariadb {
            text += ", MASTER_USE_GTID=slave_pos";
        } else if self.has_gtid() {
            text += &format!(", {it}_AUTO_POSITION=1");
        } else {
            text += &format!(", MASTER_LOG_FILE='{}', MASTER_LOG_POS={}", place.0, place.1);
        }
        if !self.is_mariadb && self.version >= Version::new(8, 0, 4) {
            // the account's password goes over a connection without TLS
            text += &format!(", GET_{it}_PUBLIC_KEY=1");
        }
        text
    }

    pub(super) fn start_replica(self) -> &'static str {
        if self.is_renamed() { "START REPLICA" } else { "START SLAVE" }
    }

    /// A replica receives nothing more, but still applies what it has.
    pub(super) fn stop_receiving(self) -> &'static str {
        if self.is_renamed() { "STOP REPLICA IO_THREAD" } else { "STOP SLAVE IO_THREAD" }
    }

    pub(super) fn replica_status(self) -> &'static str {
        if self.is_renamed() { "SHOW REPLICA STATUS" } else { "SHOW SLAVE STATUS" }
    }

    pub(super) fn primary_status(self) -> &'static str {
        let is_new = !self.is_mariadb && self.version >= Version::new(8, 2, 0);
        if is_new { "SHOW BINARY LOG STATUS" } else { "SHOW MASTER STATUS" }
    }

    /// Waits at a replica, a second at most, until it has what stands before `place` in the primary's binary
    /// log: 0 or more then, -1 if it took longer, NULL if it does not replicate.
    pub(super) fn wait_for(self, place: &(String, u64)) -> String {
        let is_new = !self.is_mariadb && self.version >= Version::new(8, 0, 26);
        let function = if is_new { "SOURCE_POS_WAIT" } else { "MASTER_POS_WAIT" };
        format!("SELECT {function}('{}', {}, 1)", place.0, place.1)
    }
}
