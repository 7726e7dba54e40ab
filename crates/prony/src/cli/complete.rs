//! Shell completion: the script that clap makes, and around it the completion of names of studies, workloads,
//! servers and runs. It asks Prony itself for them (`prony complete KIND`, hidden), so that a script knows
//! new ones, too.

use super::{
    failure::{Failure, chain},
    flags::StoreOptions,
    stored::{open_store, store_path},
    terminal::print,
};
use crate::{
    provision::{Places, Standing, catalogue},
    study, workload,
};
use clap::ValueEnum;
use clap_complete::Shell;
use std::collections::BTreeSet;

/// How many runs are offered by number: the newest.
const RUNS_MAX: usize = 50;

/// Kinds of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Names {
    /// Built-in studies; files are the shell's
    Studies,
    /// Built-in workloads
    Workloads,
    /// Servers that can be downloaded
    Servers,
    /// Servers that `prony server start` started
    Standing,
    /// Runs in the store: numbers, labels, studies
    Runs,
}

/// Prints names, one per line. What cannot be found out is left out, since nobody reads an error there.
pub(super) fn names(kind: Names, store: &StoreOptions) -> Result<(), Failure> {
    let names = match kind {
        Names::Studies => study::builtin().iter().map(|study| study.name.to_owned()).collect(),
        Names::Workloads => workload::list().iter().map(|workload| workload.name.to_owned()).collect(),
        Names::Servers => places()
            .and_then(|places| catalogue::all(&places).ok())
            .map(|all| all.into_iter().map(|entry| entry.name).collect())
            .unwrap_or_default(),
        Names::Standing => places()
            .and_then(|places| Standing::all(&places).ok())
            .map(|all| all.into_iter().map(|each| each.name).collect())
            .unwrap_or_default(),
        Names::Runs => runs(store).unwrap_or_default(),
    };
    let names: Vec<String> = names;
    print(&names.into_iter().map(|name| name + "\n").collect::<String>())
}

fn places() -> Option<Places> {
    Places::of_user().ok()
}

fn runs(options: &StoreOptions) -> Option<Vec<String>> {
    if !store_path(options).ok()?.exists() {
        return None;
    }
    let runs = open_store(options).ok()?.list().ok()?;
    let mut known: BTreeSet<String> = runs.iter().flat_map(|run| run.labels.iter().cloned()).collect();
    known.extend(runs.iter().map(|run| run.name.clone()));
    let mut numbers: Vec<i64> = runs.iter().map(|run| run.id).collect();
    numbers.sort_unstable();
    let newest = numbers.into_iter().rev().take(RUNS_MAX).map(|number| number.to_string());
    Some(std::iter::once("last".to_owned()).chain(known).chain(newest).collect())
}

/// Prints a completion script.
pub(super) fn script(shell: Shell, mut command: clap::Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "prony", &mut script);
    let script = String::from_utf8(script)
        .map_err(|error| Failure::failed(format!("the completion script is no text: {}", chain(&error))))?;
    print(&match shell {
        Shell::Bash => script + BASH,
        Shell::Zsh => zsh(&script),
        Shell::Fish => script + FISH,
        _ => script,
    })
}

/// Names are completed as the first word that is no option, and after an option that takes one.
const BASH: &str = r#"
_prony_with_names() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" kind=
    case "$word" in
        -*) ;;
        *) case "$before" in
            --study) [ "${COMP_WORDS[1]}" = load ] && kind=studies ;;
            -*) ;;
            *) case "${COMP_WORDS[1]}" in
                run | plan) kind=studies ;;
                load | prepare | cleanup) kind=workloads ;;
                report | compare | label | note | delete | export | history) kind=runs ;;
                server) case "${COMP_WORDS[2]}" in
                    fetch | start) kind=servers ;;
                    stop) kind=standing ;;
                esac ;;
            esac ;;
        esac ;;
    esac
    [ "$COMP_CWORD" -gt 1 ] && [ "$before" != server ] || kind=
    if [ -n "$kind" ]; then
        COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" complete "$kind" 2>/dev/null)" -- "$word"))
        [ "$kind" = studies ] && COMPREPLY+=($(compgen -f -- "$word"))
        [ ${#COMPREPLY[@]} -gt 0 ] && return 0
    fi
    _prony "$@"
}
complete -F _prony_with_names -o nosort -o bashdefault -o default prony 2>/dev/null ||
    complete -F _prony_with_names -o bashdefault -o default prony
"#;

const FISH: &str = r#"
function __prony_offers
    complete -c prony -n "__fish_seen_subcommand_from $argv[1]" -a "(prony complete $argv[2] 2>/dev/null)"
end
__prony_offers "run plan" studies
__prony_offers "load prepare cleanup" workloads
__prony_offers "report compare label note delete export history" runs
__prony_offers "server; and __fish_seen_subcommand_from fetch start" servers
__prony_offers "server; and __fish_seen_subcommand_from stop" standing
complete -c prony -n "__fish_seen_subcommand_from load" -l study -r -a "(prony complete studies 2>/dev/null)"
"#;

/// What zsh offers instead of files, by the first words of an argument's description.
const ZSH_ARGUMENTS: [(&str, &str); 9] = [
    ("study -- The study", "studies"),
    ("workload -- A built-in workload", "workloads"),
    ("workload -- The workload", "workloads"),
    ("run -- ", "runs"),
    ("runs -- ", "runs"),
    ("base -- ", "runs"),
    ("server -- A name from", "servers"),
    ("names -- A name from", "servers"),
    ("names -- Their names", "standing"),
];

const ZSH: &str = r#"
_prony_names() {
    compadd -- ${(f)"$(_call_program names $words[1] complete $1 2>/dev/null)"}
    [[ $1 == studies ]] && _files
}
"#;

fn zsh(script: &str) -> String {
    let line = |line: &str| {
        let what = line.trim_start().trim_start_matches(['\'', '*', ':']);
        let found = ZSH_ARGUMENTS.iter().find(|(begins, _)| what.starts_with(begins));
        match found {
            Some((_, kind)) => line.replace(":_default'", &format!(":_prony_names {kind}'")),
            None => line.to_owned(),
        }
    };
    let text: String = script.lines().map(|one| line(one) + "\n").collect();
    // the functions stand before the last lines, which call the first one
    match text.rsplit_once("\nif [ \"$funcstack[1]\"") {
        Some((functions, call)) => format!("{functions}\n{ZSH}\nif [ \"$funcstack[1]\"{call}"),
        None => text + ZSH,
    }
}
