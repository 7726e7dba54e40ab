//! What is known of a plan's servers before one of them is started: which version each will be, what it will
//! be told, what it cannot have, and where the servers will differ without the study's asking for it.

use super::{
    failure::{Failure, chain},
    flags::StudyOptions,
    terminal::colour,
};
use crate::{
    fairness::{self, Condition, Known},
    network::{self, WhyRelay},
    plan::{self, Fairness, Network, Plan, ServerPlan},
    provision::{self, Build, Provisioner, Translated, translate},
    quantity, run,
    study::{self, Adjustments, Mistakes, Refused, Study, settings_refused},
    telemetry::Machine,
};
use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf, time::Duration};

/// Versions of a plan's servers, as far as they are known.
pub(super) struct Foreseen<'a> {
    plan: &'a Plan,
    /// Product and version of each server; `None`: only the server itself can tell.
    builds: Vec<Option<(String, String)>>,
    /// Where servers will have their data.
    directory: PathBuf,
    /// What will make networks with a latency; `None`: there are none.
    network: Option<Result<(), WhyRelay>>,
}

impl<'a> Foreseen<'a> {
    /// Looks at what is installed, in the cache and in the catalogue; nothing is fetched.
    pub(super) fn of(plan: &'a Plan, provisioner: &Provisioner) -> Result<Self, Failure> {
        let builds = plan.servers.iter().map(|server| provisioner.foresee(server)).collect::<Result<_, _>>();
        let network = run::namespaces(plan, provisioner.launcher());
        let directory = provisioner.places().instances();
        Ok(Self {
            plan,
            directory,
            network,
            builds: builds.map_err(|error| Failure::cannot_begin(chain(&error)))?,
        })
    }

    fn build(&self, server: usize) -> Option<Build<'_>> {
        self.builds[server].as_ref().map(|(product, version)| Build { product, version })
    }

    /// Refuses settings that a server cannot have or does not know, each shown where the study says it.
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

    /// Refuses what is known not to work, and differences where the study wants none.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if let (Network::Netem, Some(Err(why))) = (self.plan.network, &self.network) {
            return Err(Failure::cannot_begin(run::Error::NoNetem { why: why.clone() }.to_string()));
        }
        let different = self.differences();
        if self.plan.fairness == Fairness::Strict && !different.is_empty() {
            return Err(Failure::cannot_begin(format!(
                "the study says fairness = \"strict\", and its servers will differ in what it does not \
                 vary:{}",
                self.lines(&different)
            )));
        }
        Ok(())
    }

    /// For `prony plan`: what each server is told, and how they will differ.
    pub(super) fn text(&self) -> String {
        let mut text = self.told() + &self.room();
        let _ = match &self.network {
            None => Ok(()),
            Some(Ok(())) => {
                let example = network::discipline(Duration::from_millis(1));
                writeln!(
                    text,
                    "\nNetworks with a latency: in network namespaces; for 1 ms, at each end: {example}"
                )
            }
            Some(Err(why)) => writeln!(text, "\nNetworks with a latency: by a relay, since {why}"),
        };
        let different = self.differences();
        if !different.is_empty() {
            let _ = writeln!(
                text,
                "\nNot the same on all servers, and not varied by the study{}",
                self.lines(&different)
            );
        }
        text
    }

    /// What the plan needs of the machine and it does not have.
    fn room(&self) -> String {
        let cost = plan::estimate_at_most(self.plan);
        let mut text = String::new();
        let has = Machine::of_this_host().memory_bytes;
        if cost.memory_bytes > has && has > 0 {
            let (needed, has) =
                (quantity::show_size_about(cost.memory_bytes), quantity::show_size_about(has));
            let _ = writeln!(text, "  {needed} of memory are needed, and it has {has}");
        }
        let directory = &self.directory;
        let there = directory.ancestors().find(|path| path.is_dir());
        let free = there.and_then(|path| provision::available(path).ok());
        if let Some(free) = free.filter(|free| cost.disk_bytes > *free) {
            let (needed, free) =
                (quantity::show_size_about(cost.disk_bytes), quantity::show_size_about(free));
            let _ = writeln!(
                text,
                "  {needed} on disk are needed, and {free} are free at {}",
                directory.display()
            );
        }
        if text.is_empty() { text } else { format!("\nThis machine is too small for it\n{text}") }
    }

    /// Version of each server, and the settings that it calls something else; what all are told alike stands
    /// there once.
    fn told(&self) -> String {
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
        let words = if renames { ", and settings that are called something else there" } else { "" };
        let mut text = format!("\nVersions{words}\n");
        let mut put = |head: &str, options: Vec<(&String, &String)>| {
            let _ = writeln!(text, "  {head}");
            for (option, value) in options {
                let equals = if value.is_empty() { "" } else { " = " };
                let _ = writeln!(text, "      {option}{equals}{value}");
            }
        };
        for (index, told) in all.iter().enumerate() {
            let (Some(told), Some(build)) = (told, self.build(index)) else { continue };
            let head = format!("{}: {} {}", self.plan.servers[index].name, build.product, build.version);
            put(&head, told.iter().filter(|option| !is_common(option)).collect());
        }
        let common: Vec<_> = known[0].iter().filter(is_common).collect();
        if !common.is_empty() {
            put("all of them:", common);
        }
        text
    }

    /// What a server is told in other terms than the study's; `None`: its version is not known yet.
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

    fn lines(&self, conditions: &[Condition]) -> String {
        let names: Vec<_> = self.plan.servers.iter().map(|server| server.name.as_str()).collect();
        conditions.iter().map(|one| format!("\n  {}", one.sentence(&names))).collect()
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

/// A study's mistakes, and beside them the settings that its servers would refuse, so that a file is
/// corrected once. What cannot be found out now is told when it is needed.
fn with_refused_settings(mistakes: Mistakes) -> Mistakes {
    let Ok(provisioner) = Provisioner::new() else { return mistakes };
    let known = mistakes.servers().iter().filter(|server| provisioner.foresee(server).is_ok());
    let known: Vec<ServerPlan> = known.cloned().collect();
    let refused = refused(&known, &provisioner).unwrap_or_default();
    if refused.is_empty() { mistakes } else { mistakes.with_refused(&refused) }
}

/// Settings that servers cannot have or do not know, each once with all servers that refuse it.
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
            refuse(server, name, value, String::new(), refusal.reason.clone());
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
