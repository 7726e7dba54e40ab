use super::{Law, Published, judge, of, studies};
use crate::study::{Adjustments, Study, builtin, parse};
use std::{collections::BTreeSet, fs};

/// A built-in study at the scale whose levels are those of the document.
fn published_scale(name: &str) -> Study {
    let study = builtin().iter().find(|study| study.name == name).expect("a study");
    let adjustments = Adjustments { scale: Some("published".to_owned()), ..Adjustments::default() };
    parse(name, name, study.text, &adjustments).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn figures(name: &str) -> Published {
    of(name).unwrap_or_else(|error| panic!("{error}")).expect("published figures")
}

#[test]
fn every_mapping_reads_its_files_and_every_level_is_one_of_its_study() {
    for name in studies() {
        let (published, study) = (figures(name), published_scale(name));
        assert!(!published.figures.is_empty() && !published.conditions.is_empty(), "{name}");
        let levels_of = |factor: &str| -> BTreeSet<String> {
            let factor = study.factors.iter().find(|known| known.name == factor);
            factor.map_or_else(BTreeSet::new, |factor| factor.levels.iter().cloned().collect())
        };
        for figure in &published.figures {
            for (factor, level) in &figure.levels {
                let known = levels_of(factor);
                // what a study does not vary is no factor of it; a server that is not available is no level
                let is_known = known.is_empty() || known.contains(level) || level.starts_with("mysql-5.1");
                assert!(is_known, "{name}: {factor} has no level `{level}`: {known:?}");
            }
        }
        for server in published.stands_for.keys() {
            let section = [format!("[server.{server}]"), format!("[server.\"{server}\"]")];
            assert!(section.iter().any(|one| study.text.contains(one)), "{name}: no server {server}");
        }
    }
}

/// Claims that are taken from a document hold on its own figures.
#[test]
fn claims_hold_on_the_figures_of_their_documents() {
    let mut judged = BTreeSet::new();
    for name in studies() {
        let (published, study) = (figures(name), published_scale(name));
        for claim in study.claims.iter().filter(|claim| claim.conclusion.is_some()) {
            for held in judge(claim, &published) {
                judged.insert(claim.conclusion.clone().expect("one"));
                let (says, number, levels) = (&claim.says, held.number, &held.levels);
                assert!(held.holds, "{name}: \"{says}\" comes out as {number:.3} on {levels:?}");
            }
        }
    }
    let expected = [
        "B1", "B2", "B4", "B5", "B6", "B7", "C1", "C2", "C3", "I1", "I2", "M1", "M2", "M3", "M4", "R1", "R2",
        "S2", "T1", "T2", "T3", "T5",
    ];
    assert_eq!(judged.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn a_claim_that_contradicts_its_document_is_found() {
    let published = figures("many-tables");
    let mut study = published_scale("many-tables");
    // what an earlier study claimed of InnoDB's inserts, where the document has 0.43
    let claim = study.claims.iter_mut().find(|claim| claim.says.contains("InnoDB's inserts")).expect("it");
    let crate::plan::Statement::Ratio { bound, .. } = &mut claim.statement else { panic!("a ratio") };
    bound.relation = crate::plan::Relation::Above;
    let held = judge(claim, &published);
    assert_eq!(held.len(), 1);
    assert!(!held[0].holds && (held[0].number - 0.425).abs() < 1e-3, "{held:?}");
}

#[test]
fn what_does_not_agree_with_itself_is_remarked_with_the_row_it_may_be_exchanged_with() {
    let remarks = figures("background-pressure").remarks;
    assert_eq!(remarks.len(), 14, "{remarks:#?}");
    assert!(remarks.iter().all(|remark| remark.law == Law::RateTimesTime));
    // the look-ups beside 100 readers that pause 1 ms have the rate of 50 + 50 at 10 ms, and vice versa
    let slow = remarks.iter().find(|remark| remark.published == 2283.11).expect("a row");
    let fast = remarks.iter().find(|remark| remark.published == 477.78).expect("a row");
    assert_eq!((slow.exchanged_with, fast.exchanged_with), (Some(fast.at.line), Some(slow.at.line)));
    // the one that was stopped stands alone
    let stalled = remarks.iter().find(|remark| remark.published == 0.5).expect("a row");
    assert_eq!(stalled.exchanged_with, None);
    assert!((stalled.computed - 5.0).abs() < 1e-9);
}

#[test]
fn figures_that_break_littles_law_are_remarked() {
    let remarks = figures("strong-sync").remarks;
    assert!(remarks.iter().all(|remark| remark.law == Law::Little));
    let lines: Vec<(u64, f64)> = remarks.iter().map(|remark| (remark.at.line, remark.published)).collect();
    // read: 200 connections on both, 500 and 1000 ...
    assert!(lines.contains(&(7, 200.0)) && lines.contains(&(8, 200.0)), "{lines:?}");
    assert!(!lines.iter().any(|(line, _)| (3..=4).contains(line)), "{lines:?}");
    assert_eq!(figures("many-tables").remarks, []);
    assert_eq!(figures("instance-sizes").remarks, []);
}

/// `docs/evaluations.md` has a line for each conclusion: `| T1 | what it says | claim or reason |`.
#[test]
fn every_conclusion_is_a_claim_or_has_its_reason() {
    let root = env!("CARGO_MANIFEST_DIR");
    let text = fs::read_to_string(format!("{root}/../../docs/evaluations.md")).expect("the list");
    let mut listed = BTreeSet::new();
    let mut claimed = BTreeSet::new();
    let (lists, outcomes) = text.split_once("\n## What came out").expect("both parts");
    for line in lists.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, number, says, how, _] = cells.as_slice() else { continue };
        let is_number = number.len() <= 3
            && number.starts_with(|c: char| c.is_ascii_uppercase())
            && number[1..].parse::<u32>().is_ok();
        if !is_number {
            continue;
        }
        assert!(listed.insert((*number).to_owned()), "{number} is there twice");
        assert!(!says.is_empty() && !how.is_empty(), "{number} says nothing");
        if how.starts_with("claim") {
            claimed.insert((*number).to_owned());
        }
    }
    let of_studies: BTreeSet<String> = builtin()
        .iter()
        .flat_map(|study| {
            let study = parse(study.name, study.name, study.text, &Adjustments::default());
            study.unwrap_or_else(|mistakes| panic!("{mistakes}")).claims
        })
        .filter_map(|claim| claim.conclusion)
        .collect();
    assert_eq!(claimed, of_studies, "left: claims according to the list; right: those of the studies");
    let counts = [("T", 6), ("G", 6), ("B", 7), ("M", 4), ("C", 4), ("S", 10), ("A", 2), ("I", 2), ("R", 2)];
    for (letter, count) in counts {
        for number in 1..=count {
            let number = format!("{letter}{number}");
            assert!(listed.contains(&number), "{number} is missing");
            let has_outcome = outcomes.split(['|', ',', ' ']).any(|word| word == number);
            assert_eq!(has_outcome, claimed.contains(&number), "{number} has an outcome");
        }
    }
}
