//! What a run reports while it is under way, in words: the steps of its servers, remarks, lines of a log.

use super::{Words, number};
use crate::{
    fairness::Condition,
    network::WhyRelay,
    plan::{self, CrashKind},
    provision::{self, Holder, Step},
    report::fact::{Fact, Figure},
    run::{FileNote, Origin, Remark},
};
use std::time::Duration;

impl Words {
    /// What is being done to a server: `fetching mariadb-10.11: 12 of 18 MB`.
    #[must_use]
    pub fn step(self, step: &Step) -> String {
        let fact = Fact::of("step", step);
        match step {
            Step::Replica { then, .. } | Step::Node { then, .. } | Step::Crash { then, .. } => {
                self.say(&fact.with("then", Figure::Text(self.step(then))))
            }
            Step::Fetching { done_mb, all_mb, .. } => {
                let case = match (done_mb, all_mb) {
                    (None, None) => "",
                    (None, Some(_)) => "_all",
                    (Some(_), None) => "_done",
                    (Some(_), Some(_)) => "_of",
                };
                self.say(&Fact { key: format!("{}{case}", fact.key), ..fact })
            }
            Step::Copying { done_mb: Some(_), .. } | Step::Restoring { done_mb: Some(_), .. } => {
                self.say(&Fact { key: format!("{}_of", fact.key), ..fact })
            }
            _ => self.say(&fact),
        }
    }

    /// Something that does not stop a run but may disturb it.
    #[must_use]
    pub fn remark(self, remark: &Remark) -> String {
        match remark {
            Remark::Server(remark) => self.server_remark(remark),
            other => self.say(&Fact::of("remark", other)),
        }
    }

    /// What a server did with a line in a file.
    #[must_use]
    pub fn file_note(self, note: &FileNote) -> String {
        let none = |text: &str| match text {
            "" => self.get("text", "files_none").to_owned(),
            text => text.to_owned(),
        };
        match note {
            FileNote::Warned(warning) => {
                let (file, line) = (warning.file.display().to_string(), warning.line.to_string());
                let places = [("file", &*file), ("line", &line), ("message", &warning.message)];
                self.fill("remark", "warned", &places)
            }
            FileNote::Differs { difference, other } => {
                let (file, line) = (difference.file.display().to_string(), difference.line.to_string());
                let (here, there) = (none(&difference.here), none(&difference.there));
                let other = other.as_deref().unwrap_or(self.get("text", "files_wanted"));
                let places = [
                    ("file", &*file),
                    ("line", &line),
                    ("subject", &difference.subject),
                    ("aspect", self.get("aspect", difference.aspect.key())),
                    ("here", &here),
                    ("there", &there),
                    ("other", other),
                ];
                self.fill("remark", "differs", &places)
            }
        }
    }

    /// The same for a remark about one server.
    #[must_use]
    pub fn server_remark(self, remark: &provision::Remark) -> String {
        use provision::Remark;
        match remark {
            Remark::Process(why) => {
                self.fill("remark", "process", &[("reason", self.named("no_process", why))])
            }
            Remark::Settings(holder) => self.fill("remark", "settings", &[("holder", &self.holder(holder))]),
            Remark::SettingsMeanwhile(holder) => {
                self.fill("remark", "settings_meanwhile", &[("holder", &self.holder(holder))])
            }
            Remark::Recovered => self.fill("remark", "recovered", &[]),
            Remark::ThreadPool { .. } | Remark::Upgraded { .. } | Remark::NotUpgraded { .. } => {
                self.say(&Fact::of("remark", remark))
            }
        }
    }

    fn holder(self, holder: &Holder) -> String {
        let connection = holder.connection.to_string();
        match &holder.account {
            None => self.fill("remark", "holder", &[("connection", &connection)]),
            Some(account) => {
                self.fill("remark", "holder_of", &[("connection", &connection), ("account", account)])
            }
        }
    }

    /// A line of progress or of the end of a run: `[progress]` of the tables.
    #[must_use]
    pub fn progress(self, key: &str, places: &[(&str, &str)]) -> String {
        self.fill("progress", key, places)
    }

    /// The same where something is counted: a count of one has a separate sentence.
    #[must_use]
    pub fn counted(self, key: &str, count: u64, places: &[(&str, &str)]) -> String {
        let one = format!("{key}_one");
        let key = if count == 1 && !self.get("progress", &one).is_empty() { &one } else { key };
        self.fill("progress", key, &[&[("count", &*number::count(count))], places].concat())
    }

    /// How data got into a server.
    #[must_use]
    pub fn data_ready(self, server: &str, took: Duration, origin: Origin) -> String {
        let key = match origin {
            Origin::Kept => "data_kept",
            Origin::Found => "data_found",
            _ => "data_loaded",
        };
        let seconds = format!("{:.1}", took.as_secs_f64());
        self.progress(key, &[("server", server), ("seconds", &seconds)])
    }

    /// What a crash cost: acknowledged commits, and how many of them are missing.
    #[must_use]
    pub fn crashed(self, server: &str, kind: CrashKind, acknowledged: u64, lost: u64) -> String {
        let kind = match kind {
            CrashKind::Kill => "killed",
            CrashKind::Network => "network_cut",
            CrashKind::Power => "power_lost",
        };
        let [acknowledged, lost] = [acknowledged, lost].map(number::count);
        let what = self.get("progress", kind);
        let places = [("server", server), ("what", what), ("lost", &lost), ("acknowledged", &acknowledged)];
        self.progress("crashed", &places)
    }

    /// Why a relay makes the networks.
    #[must_use]
    pub fn why_relay(self, why: &WhyRelay) -> String {
        let (key, said) = why.word();
        self.fill("sentence", key, &[("said", said)])
    }

    /// A condition in which servers differ although the study does not vary it, and how to make it the same.
    #[must_use]
    pub fn unfair(self, condition: &Condition, names: &[&str]) -> String {
        let of_value = |(value, names): (&str, Vec<&str>)| {
            let names = names.join(self.get("sentence", "comma"));
            self.progress("with", &[("value", value), ("names", &names)])
        };
        let values: Vec<String> = condition.by_value(names).into_iter().map(of_value).collect();
        let title = match self.get("condition", &condition.key) {
            "" => &condition.title,
            title => title,
        };
        let values = values.join(self.get("sentence", "semicolon"));
        match &condition.remedy {
            None => self.progress("differs", &[("title", title), ("values", &values)]),
            Some(word) => {
                self.progress("differs_remedy", &[("title", title), ("values", &values), ("word", word)])
            }
        }
    }

    /// How long something probably takes: seconds up to two minutes, then minutes.
    #[must_use]
    pub fn time_left(self, left: Duration) -> String {
        let seconds = left.as_secs();
        match seconds {
            0..120 => self.progress("left_seconds", &[("count", &seconds.to_string())]),
            _ => self.progress("left_minutes", &[("count", &seconds.div_ceil(60).to_string())]),
        }
    }

    /// How long a run takes: `about 35 s`, `from 2 to 4 min`.
    #[must_use]
    pub fn takes(self, time: &plan::Time) -> String {
        let [least, most] = [time.least, time.most].map(|time| self.length(time));
        match (time.may_be_less, time.most > time.least) {
            (true, _) => self.progress("time_most", &[("time", &most)]),
            (false, true) => self.progress("time_between", &[("least", &least), ("most", &most)]),
            (false, false) => self.progress("time_about", &[("time", &least)]),
        }
    }

    /// A time as a plan writes it.
    fn length(self, time: Duration) -> String {
        let seconds = time.as_secs();
        let (key, count) = match seconds {
            0..120 => ("seconds", seconds.max(1).to_string()),
            120..7200 => ("minutes", seconds.div_ceil(60).to_string()),
            7200..172_800 => ("hours", format!("{:.1}", time.as_secs_f64() / 3600.0)),
            _ => ("days", format!("{:.1}", time.as_secs_f64() / 86_400.0)),
        };
        self.progress(key, &[("count", &count)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plan, provision::NoProcess, report::Language};

    #[test]
    fn steps_are_told_with_what_they_belong_to() {
        let name = || "mariadb-10.11".to_owned();
        let fetching = |done_mb, all_mb| Step::Fetching { name: name(), done_mb, all_mb };
        let of = |step: Step| Step::Replica { number: 1, of: 2, then: Box::new(step) };
        let copying = Step::Copying { done_mb: Some(3), all_mb: 9 };
        for (step, english, chinese) in [
            (fetching(None, None), "fetching mariadb-10.11", "正在下载 mariadb-10.11"),
            (fetching(None, Some(18)), "fetching mariadb-10.11 (18 MB)", "正在下载 mariadb-10.11（18 MB）"),
            (of(fetching(Some(12), None)), "replica 1 of 2: fetching mariadb-10.11: 12 MB", "从库 1"),
            (fetching(Some(12), Some(18)), "fetching mariadb-10.11: 12 of 18 MB", "12 MB，共 18 MB"),
            (copying, "copying the data directory: 3 of 9 MB", "正在复制数据目录：3 MB，共 9 MB"),
            (Step::Preparing, "preparing the backup", "准备备份"),
            (Step::Upgrading, "upgrading", "升级"),
            (Step::Settling { dirty_pages: 7, transactions: 1 }, "settling: 7 dirty pages", "7 个脏页"),
        ] {
            let told = Words::of(Language::English).step(&step);
            assert!(told.starts_with(english) && !told.contains('{'), "{told}");
            let told = Words::of(Language::Chinese).step(&step);
            assert!(told.contains(chinese) && !told.contains('{'), "{told}");
        }
    }

    #[test]
    fn every_remark_can_be_said_in_every_language() {
        let holder = |account: Option<&str>| Holder { connection: 7, account: account.map(str::to_owned) };
        let of_server = [
            provision::Remark::ThreadPool { threads: 500, connections: 1000 },
            provision::Remark::Process(NoProcess::Behind),
            provision::Remark::Process(NoProcess::Hidden),
            provision::Remark::Settings(holder(None)),
            provision::Remark::Recovered,
            provision::Remark::Upgraded { from: "10.11.6".to_owned(), to: "11.8.2".to_owned() },
            provision::Remark::NotUpgraded { from: "10.11.6".to_owned(), to: "11.4.5".to_owned() },
            provision::Remark::SettingsMeanwhile(holder(Some("root"))),
        ];
        let others = [
            Remark::PlaceLost { cause: "gone".to_owned() },
            Remark::NotSettled { seconds: 60, dirty_pages: 900, transactions: 5000 },
        ];
        for language in Language::ALL {
            for remark in of_server.iter().cloned().map(Remark::Server).chain(others.clone()) {
                let said = Words::of(language).remark(&remark);
                assert!(!said.is_empty() && !said.contains('{'), "{remark:?}: {said}");
            }
        }
    }

    #[test]
    fn a_time_is_told_no_finer_than_it_is_known() {
        let time = |least, most, may_be_less| {
            let [least, most] = [least, most].map(Duration::from_secs);
            Words::default().takes(&plan::Time { least, most, may_be_less })
        };
        assert_eq!(time(35, 35, false), "about 35 s");
        assert_eq!(time(130, 200, false), "from 3 min to 4 min");
        assert_eq!(time(60, 9000, true), "at most 2.5 h");
        assert_eq!(Words::default().time_left(Duration::from_secs(150)), "about 3 min left");
    }
}
