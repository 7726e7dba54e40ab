//! What is known of a plan's servers before one of them is started: which version each will be, what it will be told, what it cannot
//! have, and where the servers will differ without the study's asking for it.

use super::failure::{Failure, chain};
use crate::{
    fairness::{self, Condition, Known},
    network::{self, WhyRelay},
    plan::{Fairness, Network, Plan, ServerPlan},
    provision::{Build, Provisioner, Translated, translate},
    run,
};
use std::{fmt::Write as _, time::Duration};

/// Versions of a plan's servers, as far as they are known.
pub(super) struct Foreseen<'a> {
    plan: &'a Plan,
    /// Product and version of each server; `None`: only the server itself can tell.
    builds: Vec<Option<(String, String)>>,
    /// What will make networks with a latency; `None`: there are none.
    network: Option<Result<(), WhyRelay>>,
}

impl<'a> Foreseen<'a> {
    /// Looks at what is installed, in the cache and in the catalogue; nothing is fetched.
    pub(super) fn of(plan: &'a Plan, provisioner: &Provisioner) -> Result<Self, Failure> {
        let builds = plan.servers.iter().map(|server| provisioner.foresee(server)).collect::<Result<_, _>>();
        let network = run::apart(plan, provisioner.launcher());
        Ok(Self { plan, network, builds: builds.map_err(|error| Failure::cannot_begin(chain(&error)))? })
    }

    fn build(&self, server: usize) -> Option<Build<'_>> {
        self.builds[server].as_ref().map(|(product, version)| Build { product, version })
    }

    /// Refuses what is known not to work: settings that a server cannot have, and differences where the study wants none.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let mut text = String::new();
        for (index, server) in self.plan.servers.iter().enumerate() {
            let refusals = self.build(index).and_then(|build| translate(build, &server.settings).err());
            for refusal in refusals.unwrap_or_default() {
                let _ = write!(text, "\n  {}: {refusal}", server.name);
            }
        }
        if !text.is_empty() {
            return Err(Failure::cannot_begin(format!(
                "not every server can have what the study asks for:{text}\nremove it, or say it under [server.NAME.settings] of those that can"
            )));
        }
        if let (Network::Netem, Some(Err(why))) = (self.plan.network, &self.network) {
            return Err(Failure::cannot_begin(run::Error::NoNetem { why: why.clone() }.to_string()));
        }
        let different = self.differences();
        if self.plan.fairness == Fairness::Strict && !different.is_empty() {
            return Err(Failure::cannot_begin(format!(
                "the study says fairness = \"strict\", and its servers will differ in what it does not vary:{}",
                self.lines(&different)
            )));
        }
        Ok(())
    }

    /// For `prony plan`: what each server is told, and how they will differ.
    pub(super) fn text(&self) -> String {
        let mut text = self.told();
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

    /// The settings in the terms of each server; what all are told alike stands there once.
    fn told(&self) -> String {
        let told =
            |(index, server): (usize, &ServerPlan)| translate(self.build(index)?, &server.settings).ok();
        let all: Vec<_> = self.plan.servers.iter().enumerate().map(told).collect();
        let known: Vec<_> = all.iter().flatten().map(|told| &told.options).collect();
        let is_common = |option: &(&String, &String)| {
            known.len() > 1 && known.iter().all(|other| other.get(option.0) == Some(option.1))
        };
        let same = |(server, told): (&ServerPlan, &Option<Translated>)| {
            told.as_ref().is_none_or(|told| told.options == server.settings)
        };
        if self.plan.servers.iter().zip(&all).all(same) {
            return String::new();
        }
        let mut text = "\nSettings in the terms of each server\n".to_owned();
        let mut put = |head: &str, options: Vec<(&String, &String)>| {
            let _ = writeln!(text, "  {head}{}", if options.is_empty() { "" } else { ":" });
            for (option, value) in options {
                let equals = if value.is_empty() { "" } else { " = " };
                let _ = writeln!(text, "      {option}{equals}{value}");
            }
        };
        for (index, told) in all.iter().enumerate() {
            let (Some(told), Some(build)) = (told, self.build(index)) else { continue };
            let head = format!("{} ({} {})", self.plan.servers[index].name, build.product, build.version);
            put(&head, told.options.iter().filter(|option| !is_common(option)).collect());
        }
        let common: Vec<_> = known.first().into_iter().flat_map(|one| one.iter()).filter(is_common).collect();
        if !common.is_empty() {
            put("all of them", common);
        }
        text
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
