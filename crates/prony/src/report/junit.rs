//! The claims as test cases in JUnit XML, which CI systems read: a refuted claim has failed, an open one was
//! skipped, and trials that could not be measured are an error.
//!
//! The format follows the schema that Jenkins, GitLab and GitHub Actions share: `testsuites`, one
//! `testsuite`, a `testcase` for each claim and one for the run itself.

use super::document::{Claim, Document};
use crate::{
    analyse::{ClaimTally, ClaimVerdict},
    escape,
    store::RunRecord,
};
use std::fmt::Write as _;

/// The whole file.
pub(super) fn render(document: &Document, record: &RunRecord) -> String {
    let run = &document.run;
    let (missing, all) = missing(record);
    let ClaimTally { refuted, open, .. } = document.answer.claims;
    let counts = format!(
        r#"tests="{}" failures="{refuted}" errors="{}" skipped="{open}""#,
        document.claims.len() + 1,
        u8::from(missing > 0),
    );
    let suite = attribute(&run.name);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // writing to a string does not fail
    let _ = writeln!(text, r#"<testsuites name="prony" {counts}>"#);
    let started = attribute(&run.started);
    let _ = writeln!(text, r#"  <testsuite name="{suite}" timestamp="{started}" {counts}>"#);
    text.push_str("    <properties>\n");
    let trials = format!("{} of {}", run.trials_measured, run.trials_planned);
    let properties = [
        ("title", run.title.clone()),
        ("run", run.id.to_string()),
        ("scale", run.scale.clone().unwrap_or_default()),
        ("seed", run.seed.to_string()),
        ("trials", trials),
        ("prony", document.prony_version.clone()),
    ];
    for (name, value) in properties {
        let _ = writeln!(text, r#"      <property name="{name}" value="{}"/>"#, attribute(&value));
    }
    text.push_str("    </properties>\n");
    for claim in &document.claims {
        text.push_str(&case(&suite, &claim.says, &of_claim(claim)));
    }
    let message = format!("{missing} of {all} trials could not be measured");
    let error = if missing > 0 { element("error", "trials", &message, "") } else { String::new() };
    text.push_str(&case(&suite, "all trials were measured", &error));
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// The number of trials without a measurement, failed or not reached, and how many there should be. A trial
/// that was repeated successfully is not missing.
fn missing(record: &RunRecord) -> (usize, usize) {
    let (unmeasured, begun) = record.unmeasured();
    let all = record.plan.trials.len().max(begun);
    (unmeasured + all - begun, all)
}

fn of_claim(claim: &Claim) -> String {
    match claim.verdict {
        ClaimVerdict::Supported => String::new(),
        ClaimVerdict::Refuted => element("failure", "refuted", &claim.claimed, &claim.text),
        ClaimVerdict::Open => element("skipped", "", &claim.text, ""),
    }
}

/// A test case with its outcome; an empty `result`: it passed.
fn case(suite: &str, name: &str, result: &str) -> String {
    let name = attribute(name);
    match result {
        "" => format!("    <testcase classname=\"{suite}\" name=\"{name}\"/>\n"),
        _ => format!("    <testcase classname=\"{suite}\" name=\"{name}\">\n{result}    </testcase>\n"),
    }
}

fn element(name: &str, kind: &str, message: &str, text: &str) -> String {
    let kind = if kind.is_empty() { String::new() } else { format!(" type=\"{kind}\"") };
    let message = attribute(message);
    format!("      <{name}{kind} message=\"{message}\">{}</{name}>\n", attribute(text))
}

/// Text for an attribute or element, without characters that XML does not allow.
fn attribute(text: &str) -> String {
    escape::html(&escape::line(text)).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
