//! What is known about a plan's servers before any of them is started: which version each will be, which
//! settings it will get, which it does not support, and where the servers will differ although the study does
//! not vary it.

use super::{
    failure::{Failure, chain},
    flags::StudyOptions,
    terminal::colour,
};
use crate::{
    fairness::{self, Condition, Known},
    language::{Language, say},
    network::{self, Shape, WhyRelay},
    plan::{self, Fairness, Network, Plan, ServerPlan},
    provision::{self, Build, Provisioner, Translated, translate},
    quantity,
    report::Words,
    run,
    study::{self, Adjustments, Mistakes, Refused, Study, settings_refused},
    telemetry::Machine,
};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

/// Versions of a plan's servers, as far as they are known.
pub(super) struct Foreseen<'a> {
    plan: &'a Plan,
    /// Product and version of each server; `None`: only the server itself can tell.
    builds: Vec<Option<(String, String)>>,
    /// Where servers will have their data.
    directory: PathBuf,
    /// What will provide network latency; `None`: no network has one.
    network: Option<Result<(), WhyRelay>>,
    /// Why loss of power is not available on this machine.
    no_power: Option<String>,
}

impl<'a> Foreseen<'a> {
    /// Looks at what is installed, in the cache and in the catalogue; nothing is fetched.
    pub(super) fn of(plan: &'a Plan, provisioner: &Provisioner) -> Result<Self, Failure> {
        let builds = plan.servers.iter().map(|server| provisioner.foresee(server)).collect::<Result<_, _>>();
        let network = run::namespaces(plan, provisioner.launcher());
        let directory = provisioner.places().instances();
        let no_power = run::no_power(plan, provisioner).map(|why| chain(&why));
        Ok(Self {
            plan,
            directory,
            network,
            no_power,
            builds: builds.map_err(|error| Failure::cannot_begin(chain(&error)))?,
        })
    }

    fn build(&self, server: usize) -> Option<Build<'_>> {
        self.builds[server].as_ref().map(|(product, version)| Build { product, version })
    }

    /// Refuses settings that a server does not support or know, each shown at its place in the study.
    pub(super) fn check_settings(
        &self,
        provisioner: &Provisioner,
        options: &StudyOptions,
    ) -> Result<(), Failure> {
        let refused =
            refused(&self.plan.servers, provisioner).map_err(|error| Failure::cannot_begin(chain(&error)))?;
        if refused.is_empty() {
            return Ok(());
        }
        let adjustments = Adjustments { scale: options.scale.clone(), set: options.set.clone() };
        let mistakes = settings_refused(&options.study, &self.plan.study_text, &adjustments, &refused);
        Err(Failure::cannot_begin(mistakes.render(colour(&std::io::stderr()))))
    }

    /// Refuses what is known not to work, and differences where the study says fairness = "strict".
    pub(super) fn check(&self) -> Result<(), Failure> {
        if let (Network::Netem, Some(Err(why))) = (self.plan.network, &self.network) {
            return Err(Failure::cannot_begin(run::Error::NoNetem { why: why.clone() }.to_string()));
        }
        self.check_accounts()?;
        self.check_copies()?;
        let different = self.differences();
        if self.plan.fairness == Fairness::Strict && !different.is_empty() {
            return Err(Failure::cannot_begin(format!(
                "the study says fairness = \"strict\", but its servers will differ in what it does not \
                 vary:{}",
                self.lines(&different, Words::default())
            )));
        }
        Ok(())
    }

    /// Refuses copies of somebody's data that a server cannot read.
    fn check_copies(&self) -> Result<(), Failure> {
        for treatment in &self.plan.treatments {
            let copy = self.plan.data_sets[treatment.data].copy();
            let Some((copy, (product, version))) = copy.zip(self.builds[treatment.server].as_ref()) else {
                continue;
            };
            copy.check_server(product, version).map_err(|error| {
                let name = &self.plan.servers[treatment.server].name;
                Failure::cannot_begin(format!("server `{name}`: {error}"))
            })?;
        }
        Ok(())
    }

    /// Refuses accounts that a server does not support.
    fn check_accounts(&self) -> Result<(), Failure> {
        for treatment in &self.plan.treatments {
            let Some(plugin) = treatment.client.authentication else { continue };
            let why = self.build(treatment.server).and_then(|build| provision::no_plugin(build, plugin));
            if let Some(why) = why {
                let (name, plugin) = (&self.plan.servers[treatment.server].name, plugin.name());
                return Err(Failure::cannot_begin(format!(
                    "server `{name}` cannot have an account with {plugin}: {why}; choose another \
                     `authentication` in [client]"
                )));
            }
        }
        Ok(())
    }

    /// For `prony plan`: the settings of each server, and how the servers will differ.
    pub(super) fn text(&self, words: Words) -> String {
        let language = words.language();
        let mut text = self.told(language) + &self.lacks(words);
        if self.network == Some(Ok(())) {
            let narrow = self.plan.treatments.iter().find_map(|treatment| treatment.client.bandwidth);
            let shape = Shape { round_trip: Duration::from_millis(1), bandwidth: narrow };
            let example = network::discipline(shape);
            let told = say!(
                language,
                "Networks: in network namespaces; for 1 ms, at each end: {example}",
                "网络：位于网络命名空间中；1 ms 时，两端均为：{example}",
            );
            let _ = writeln!(text, "\n{told}");
        }
        let different = self.differences();
        if !different.is_empty() {
            let head = language.either(
                "Different between servers, but not varied by the study",
                "各服务器之间不同而研究并未变化的条件",
            );
            let _ = writeln!(text, "\n{head}{}", self.lines(&different, words));
        }
        text
    }

    /// What the plan needs and the machine lacks, with what Prony does or the user can do instead; empty:
    /// nothing.
    pub(super) fn lacks(&self, words: Words) -> String {
        let language = words.language();
        let mut text = self.room(language);
        if let Some(Err(why)) = &self.network {
            let why = words.why_relay(why);
            let told = say!(language, "Networks: by a relay, because {why}", "网络：使用中继，原因是{why}");
            let _ = writeln!(text, "\n{told}");
        }
        if let Some(why) = &self.no_power {
            let told = say!(
                language,
                "The audit: {why}. Everything else will be carried out",
                "审计：{why}。其余部分照常进行",
            );
            let _ = writeln!(text, "\n{told}");
        }
        text
    }

    fn room(&self, language: Language) -> String {
        let has = Room::of_this_machine(&self.directory);
        let lacks = has.lacks(self.plan, &self.directory, language);
        if lacks.is_empty() {
            return lacks;
        }
        let would_do = |scale: &&str| {
            let adjustments = Adjustments { scale: Some((*scale).to_owned()), ..Adjustments::default() };
            let plan = self.plan;
            let study = study::parse(&plan.name, &plan.name, &plan.study_text, &adjustments);
            study
                .is_ok_and(|study| has.lacks(&Plan::from_study(&study), &self.directory, language).is_empty())
        };
        let instead = match SCALES_BY_SIZE.into_iter().find(would_do) {
            Some(scale) => {
                say!(language, "this machine has room for --scale {scale}", "本机可以运行 --scale {scale}")
            }
            None => language
                .either("smaller tables and a smaller buffer pool need less", "缩小表和缓冲池可以减少需求")
                .to_owned(),
        };
        let head = language.either("This machine is too small for this study", "本机不足以运行该研究");
        format!("\n{head}\n{lacks}  {instead}\n")
    }

    /// The version of each server, and the settings that it has under other names; those that are the same
    /// for all stand there once.
    fn told(&self, language: Language) -> String {
        let all: Vec<Option<BTreeMap<String, String>>> =
            (0..self.plan.servers.len()).map(|server| self.renamed(server)).collect();
        let known: Vec<&BTreeMap<String, String>> = all.iter().flatten().collect();
        if known.is_empty() {
            return String::new();
        }
        let is_common = |option: &(&String, &String)| {
            known.len() > 1 && known.iter().all(|other| other.get(option.0) == Some(option.1))
        };
        let renames = known.iter().any(|options| !options.is_empty());
        let head = match renames {
            true => language.either(
                "Versions, and settings with other names there",
                "版本，以及在各版本中名称不同的设置",
            ),
            false => language.either("Versions", "版本"),
        };
        let mut text = format!("\n{head}\n");
        let mut put = |head: &str, options: Vec<(&String, &String)>| {
            let _ = writeln!(text, "  {head}");
            for (option, value) in options {
                let equals = if value.is_empty() { "" } else { " = " };
                let _ = writeln!(text, "      {option}{equals}{value}");
            }
        };
        for (index, told) in all.iter().enumerate() {
            let (Some(told), Some(build)) = (told, self.build(index)) else { continue };
            let name = &self.plan.servers[index].name;
            let colon = language.either(": ", "：");
            let head = format!("{name}{colon}{} {}", build.product, build.version);
            put(&head, told.iter().filter(|option| !is_common(option)).collect());
        }
        let common: Vec<_> = known[0].iter().filter(is_common).collect();
        if !common.is_empty() {
            put(language.either("all of them:", "全部："), common);
        }
        text
    }

    /// Settings whose names or values on a server differ from the study's; `None`: its version is not known
    /// yet.
    fn renamed(&self, server: usize) -> Option<BTreeMap<String, String>> {
        let settings = &self.plan.servers[server].settings;
        let told: Translated = translate(self.build(server)?, settings).ok()?;
        let is_said = |option: &String, value: &String| {
            settings.get(option).is_some_and(|said| provision::alike(said, value))
        };
        Some(told.options.into_iter().filter(|(option, value)| !is_said(option, value)).collect())
    }

    fn differences(&self) -> Vec<Condition> {
        if self.plan.fairness == Fairness::Off {
            return Vec::new();
        }
        let known = |index| Known { build: self.build(index), ..Known::default() };
        let known: Vec<_> = (0..self.plan.servers.len()).map(known).collect();
        let mut conditions = fairness::conditions(&self.plan.servers, &known);
        conditions.retain(|condition| condition.verdict == fairness::Verdict::Different);
        conditions
    }

    fn lines(&self, conditions: &[Condition], words: Words) -> String {
        let names: Vec<_> = self.plan.servers.iter().map(|server| server.name.as_str()).collect();
        conditions.iter().map(|one| format!("\n  {}", words.unfair(one, &names))).collect()
    }
}

/// Scales that studies have, the largest first.
const SCALES_BY_SIZE: [&str; 2] = ["bench", "quick"];

/// What a machine has, bytes; 0 or `None`: unknown.
struct Room {
    memory: u64,
    disk: Option<u64>,
}

impl Room {
    fn of_this_machine(directory: &Path) -> Self {
        let there = directory.ancestors().find(|path| path.is_dir());
        let disk = there.and_then(|path| provision::available(path).ok());
        Self { memory: Machine::of_this_host().memory_bytes, disk }
    }

    /// One line for each resource of which the plan needs more than there is.
    fn lacks(&self, plan: &Plan, directory: &Path, language: Language) -> String {
        let cost = plan::estimate_at_most(plan);
        let size = quantity::show_size_about;
        let mut text = String::new();
        if cost.memory_bytes > self.memory && self.memory > 0 {
            let (needed, has) = (size(cost.memory_bytes), size(self.memory));
            let told =
                say!(language, "memory: {needed} needed, {has} present", "内存：需要 {needed}，现有 {has}",);
            let _ = writeln!(text, "  {told}");
        }
        if let Some(free) = self.disk.filter(|free| cost.disk_bytes > *free) {
            let (needed, free) = (size(cost.disk_bytes), size(free));
            let told = say!(
                language,
                "disk: {needed} needed, {free} free at {}",
                "磁盘：需要 {needed}，{} 处可用 {free}",
                directory.display()
            );
            let _ = writeln!(text, "  {told}");
        }
        text
    }
}

/// Reads a study; its mistakes are shown in its own text.
pub(super) fn open(name: &str, adjustments: &Adjustments) -> Result<Study, Failure> {
    study::open(name, adjustments).map_err(|error| match error {
        study::Error::Mistakes(mistakes) => {
            let mistakes = with_refused_settings(mistakes);
            Failure::cannot_begin(mistakes.render(colour(&std::io::stderr())))
        }
        error => Failure::cannot_begin(chain(&error)),
    })
}

/// A study's mistakes together with the settings that its servers would refuse, so that a file is corrected
/// once. What cannot be checked now is reported when it is needed.
fn with_refused_settings(mistakes: Mistakes) -> Mistakes {
    let Ok(provisioner) = Provisioner::new() else { return mistakes };
    let known = mistakes.servers().iter().filter(|server| provisioner.foresee(server).is_ok());
    let known: Vec<ServerPlan> = known.cloned().collect();
    let refused = refused(&known, &provisioner).unwrap_or_default();
    if refused.is_empty() { mistakes } else { mistakes.with_refused(&refused) }
}

/// Settings that servers do not support or know, each once, with all servers that refuse it.
fn refused(servers: &[ServerPlan], provisioner: &Provisioner) -> Result<Vec<Refused>, provision::Error> {
    let mut refused: Vec<Refused> = Vec::new();
    let mut refuse =
        |server: &ServerPlan, name: &str, value: &str, title: String, label: String| match refused
            .iter_mut()
            .find(|one| one.name == name && one.value == value && one.label == label)
        {
            Some(one) => one.servers.push(server.name.clone()),
            None => refused.push(Refused {
                servers: vec![server.name.clone()],
                name: name.to_owned(),
                value: value.to_owned(),
                title,
                label,
            }),
        };
    for server in servers {
        let build = provisioner.foresee(server)?;
        let build = build.as_ref().map(|(product, version)| Build { product, version });
        let refusals = build.and_then(|build| translate(build, &server.settings).err());
        for refusal in refusals.unwrap_or_default() {
            let (name, value) = refusal.asked.split_once(" = ").unwrap_or((&refusal.asked, ""));
            refuse(server, name, value, String::new(), refusal.reason.to_string());
        }
        for (name, meant) in provisioner.mistyped(server)? {
            let title = format!("there is no setting `{name}`");
            refuse(server, &name, &server.settings[&name], title, format!("did you mean `{meant}`?"));
        }
    }
    for one in refused.iter_mut().filter(|one| one.title.is_empty()) {
        one.title = format!("{} cannot have `{} = {}`", one.servers.join(", "), one.name, one.value);
    }
    Ok(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_machine_has_too_little_of_is_said_and_nothing_else() {
        let study = study::open("quickstart", &Adjustments::default()).expect("built in");
        let plan = Plan::from_study(&study);
        let lacks = |memory, disk| Room { memory, disk }.lacks(&plan, Path::new("/data"), Language::English);
        assert_eq!(lacks(1 << 50, Some(1 << 50)), "");
        assert_eq!(lacks(0, None), "", "nothing is known");
        let both = lacks(1 << 20, Some(1 << 20));
        assert!(both.contains("needed, 1 MiB present") && both.contains("free at /data"), "{both}");
        assert_eq!(lacks(1 << 50, Some(1 << 20)).lines().count(), 1);
    }
}
