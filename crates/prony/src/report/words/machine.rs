//! Sentences about what the doctor found on a machine: what was read, what it does to a measurement, how to
//! fix it.

use super::Words;
use crate::{
    doctor::{FileSystem, Level, Reading},
    report::{
        fact::{Fact, Figure},
        number,
    },
};

/// A finding of the doctor in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// What was read, with its figures.
    pub read: String,
    /// What it does to a measurement; empty where it is fine.
    pub effect: String,
    /// How to fix it, with the command; empty where it is fine.
    pub remedy: String,
}

impl Words {
    /// What the doctor found.
    #[must_use]
    pub fn examined(self, level: Level, reading: &Reading) -> Examined {
        if let Reading::Told { read, effect, remedy, .. } = reading {
            return Examined { read: read.clone(), effect: effect.clone(), remedy: remedy.clone() };
        }
        let fact = figures(reading);
        let say = |section: &'static str, case: &str| {
            let own = format!("{}{case}", fact.key);
            let key = if self.get(section, &own).is_empty() { fact.key.clone() } else { own };
            self.say(&Fact { section, key, figures: fact.figures.clone() })
        };
        let read = say("machine", read_case(reading));
        if level == Level::Fine {
            return Examined { read, effect: String::new(), remedy: String::new() };
        }
        let case = hurt_case(reading);
        Examined { read, effect: say("machine_effect", case), remedy: say("machine_remedy", case) }
    }
}

/// The figures of a reading, with those that combine several values.
fn figures(reading: &Reading) -> Fact {
    let fact = Fact::of("machine", reading);
    let (name, text) = match reading {
        Reading::OtherLoad { busiest, .. } => {
            let busy = |busy: &crate::doctor::Busy| {
                format!("{} (pid {}, {} % CPU)", busy.name, busy.pid, number::percent(busy.cpus * 100.0))
            };
            ("busiest", busiest.iter().map(busy).collect::<Vec<_>>().join(", "))
        }
        Reading::Virtualisation { product, .. } if !product.is_empty() => {
            ("product", format!(" ({product})"))
        }
        _ => return fact,
    };
    fact.with(name, Figure::Text(text))
}

/// Which sentence of a check says what was read; a check without separate cases has only one.
fn read_case(reading: &Reading) -> &'static str {
    match reading {
        Reading::Governor { of: 0, .. } | Reading::Turbo { on: None, .. } => "_unmanaged",
        Reading::Governor { slow: 0, .. } => "_fine",
        Reading::Turbo { on: Some(false), .. } => "_off",
        Reading::OtherLoad { busiest, .. } if busiest.is_empty() => "_spread",
        Reading::Limits { cpus: None, memory_mb: None } => "_none",
        Reading::Limits { memory_mb: None, .. } => "_cpus",
        Reading::Limits { cpus: None, .. } => "_memory",
        Reading::Virtualisation { virtual_machine, container, .. } => match (virtual_machine, container) {
            (false, false) => "_none",
            (true, false) => "_machine",
            (false, true) => "_container",
            (true, true) => "",
        },
        Reading::Swap { total_mb: 0, .. } | Reading::OpenFiles { limit: None } => "_none",
        Reading::Numa { nodes: 0 | 1, .. } => "_one",
        Reading::Numa { balancing: true, .. } => "_moved",
        Reading::Build { debug: false } => "_fine",
        _ => "",
    }
}

/// Which sentence of a check says what it does and how to fix it.
fn hurt_case(reading: &Reading) -> &'static str {
    match reading {
        Reading::Limits { cpus: None, .. } => "_memory",
        Reading::ClockSource { tsc: true, .. } => "_tsc",
        Reading::Numa { balancing: true, .. } => "_moved",
        Reading::FileSystem { nature: FileSystem::Memory, .. } => "_in_memory",
        Reading::FileSystem { nature: FileSystem::Copying, .. } => "_copying",
        Reading::SyncSpeed { too_fast: true, .. } => "_too_fast",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{doctor::Busy, report::Language};

    #[test]
    fn every_reading_can_be_said_in_every_language() {
        let busy = Busy { pid: 7, name: "make".to_owned(), cpus: 0.9 };
        let own = String::new;
        let bad = [
            Reading::Governor { of: 4, slow: 3, names: "powersave".to_owned() },
            Reading::Turbo { on: Some(true), file: "sys/boost".to_owned(), off: 0 },
            Reading::OtherLoad { share: 0.2, busiest: vec![busy] },
            Reading::OtherLoad { share: 0.2, busiest: Vec::new() },
            Reading::Steal { now: 0.1, ever: 0.02 },
            Reading::Processors { count: 1 },
            Reading::Limits { cpus: Some(2.5), memory_mb: Some(900) },
            Reading::Limits { cpus: None, memory_mb: Some(900) },
            Reading::Limits { cpus: Some(2.5), memory_mb: None },
            Reading::ClockSource { current: "hpet".to_owned(), available: "hpet tsc".to_owned(), tsc: true },
            Reading::ClockSource { current: "hpet".to_owned(), available: "hpet".to_owned(), tsc: false },
            Reading::Virtualisation { virtual_machine: true, product: "KVM".to_owned(), container: true },
            Reading::Virtualisation { virtual_machine: true, product: own(), container: false },
            Reading::Virtualisation { virtual_machine: false, product: own(), container: true },
            Reading::HugePages { chosen: "always".to_owned() },
            Reading::Swap { used_mb: 300, total_mb: 4000, swappiness: 60 },
            Reading::Numa { nodes: 2, balancing: true },
            Reading::Numa { nodes: 2, balancing: false },
            Reading::OpenFiles { limit: Some(1024) },
            Reading::Ports { ports: 28_232, waiting: 20_000 },
            Reading::Backlog { limit: 128 },
            Reading::DiskSpace { available_gb: 1.5, total_gb: 90.0, directory: "/data".to_owned() },
            file_system(FileSystem::Memory),
            file_system(FileSystem::Network),
            file_system(FileSystem::Copying),
            Reading::SyncSpeed { per_second: 84.0, too_fast: false },
            Reading::SyncSpeed { per_second: 84_000.0, too_fast: true },
            Reading::Build { debug: true },
        ];
        let fine = [
            Reading::Governor { of: 0, slow: 0, names: own() },
            Reading::Governor { of: 4, slow: 0, names: own() },
            Reading::Turbo { on: None, file: own(), off: 0 },
            Reading::Turbo { on: Some(false), file: own(), off: 0 },
            Reading::Limits { cpus: None, memory_mb: None },
            Reading::Virtualisation { virtual_machine: false, product: own(), container: false },
            Reading::Swap { used_mb: 0, total_mb: 0, swappiness: 0 },
            Reading::Numa { nodes: 1, balancing: false },
            Reading::OpenFiles { limit: None },
            file_system(FileSystem::Local),
            Reading::Build { debug: false },
        ];
        for language in Language::ALL {
            let words = Words::of(language);
            for reading in &bad {
                let said = words.examined(Level::Warning, reading);
                let Examined { read, effect, remedy } = &said;
                assert!([read, effect, remedy].iter().all(|text| !text.is_empty()), "{reading:?}");
                assert!(![read, effect, remedy].iter().any(|text| text.contains('{')), "{said:?}");
            }
            for reading in &fine {
                let said = words.examined(Level::Fine, reading);
                assert!(!said.read.is_empty() && !said.read.contains('{'), "{said:?}");
                assert!(said.effect.is_empty() && said.remedy.is_empty(), "{said:?}");
            }
        }
    }

    fn file_system(nature: FileSystem) -> Reading {
        Reading::FileSystem { name: "ext4".to_owned(), nature, directory: "/data".to_owned() }
    }
}
