//! The claims of a plan in words: exactly what the figures will be asked, beside the study's own wording.

use super::{Beside, Bound, Claim, CrashKind, Levels, Metric, Plan, Relation, Statement, Unit, load::listed};
use crate::language::{Language, say};

/// Whether a claim is about anything that this plan measures: its levels may be those of another scale.
#[must_use]
pub fn is_measured(plan: &Plan, claim: &Claim) -> bool {
    let over = match &claim.statement {
        Statement::Ratio { over, .. }
        | Statement::Within { over, .. }
        | Statement::Variation { by: Some(Beside::Over(over)), .. } => Some(over),
        _ => None,
    };
    let is_there = |(factor, wanted): (&String, &Vec<String>)| {
        let known = plan.factors.iter().find(|known| known.name == *factor);
        known.is_none_or(|known| wanted.iter().any(|level| known.levels.contains(level)))
    };
    claim.of.iter().chain(over.into_iter().flatten()).all(is_there)
}

/// What is asked: `throughput where server is pool and connections is 128, divided by that where server is
/// threads: at least 1`.
pub(super) fn asked(plan: &Plan, claim: &Claim, language: Language) -> String {
    if !is_measured(plan, claim) {
        let none = "not tested at this scale, which has no such combination";
        return language.either(none, "本规模没有这样的组合，不检验").to_owned();
    }
    let metric = metric(claim.metric, language);
    let of = place(plan, &claim.of, language);
    // Chinese says first where, then what
    let what = say!(language, "{metric}{of}", "{of}{metric}").trim().to_owned();
    let to = |bound: &Bound, unit| limit(bound, &figure(unit, bound.value, language), language);
    match &claim.statement {
        Statement::Ratio { over, bound } => {
            let (over, to) = (place(plan, over, language), to(bound, Unit::One));
            say!(language, "{what}, divided by the same{over}: {to}", "{what}，除以{over}同一指标：{to}")
        }
        Statement::Within { over, share } => {
            let (over, share) = (place(plan, over, language), rounded(share * 100.0));
            say!(
                language,
                "{what} and the same{over} differ by no more than {share} %",
                "{what}与{over}同一指标相差不超过 {share} %",
            )
        }
        Statement::Value(bound) => {
            let to = to(bound, claim.metric.unit());
            say!(language, "{what}: {to}", "{what}：{to}")
        }
        Statement::Order { by, levels } => say!(
            language,
            "ranked by {what}, the best {by} is {}",
            "按 {what} 排序，{by} 从优到劣：{}",
            levels.join(language.either(", then ", "、"))
        ),
        Statement::Slope { along, bound, .. } => say!(
            language,
            "{what} grows along {along} with an exponent of {} (1: in proportion)",
            "{what}随 {along} 增长的指数（1 为成正比）：{}",
            to(bound, Unit::One)
        ),
        Statement::Linear { along, share, .. } => say!(
            language,
            "{what} lies on a straight line along {along}, at no level further from it than {} % of \
             the highest value",
            "{what}随 {along} 呈直线，任一水平的偏离不超过最高值的 {} %",
            rounded(share * 100.0)
        ),
        Statement::Variation { along, by, bound } => {
            let by = match by {
                None => String::new(),
                Some(Beside::Over(over)) => {
                    let over = place(plan, over, language);
                    say!(language, ", divided by that{over}", "，除以{over}变异系数")
                }
                Some(Beside::Than(than)) => {
                    say!(language, ", divided by that along {than}", "，除以沿 {than} 的变异系数")
                }
            };
            let to = to(bound, Unit::One);
            say!(
                language,
                "the coefficient of variation of {what} along {along}{by}: {to}",
                "{what}沿 {along} 的变异系数{by}：{to}",
            )
        }
    }
}

fn metric(metric: Metric, language: Language) -> String {
    let (english, chinese) = match metric {
        Metric::Active => ("the time taken", "所用时间"),
        Metric::Mean => ("the mean response time", "平均响应时间"),
        Metric::Errors => ("the share of errors", "错误比例"),
        Metric::Rate => ("the highest rate", "最高速率"),
        Metric::ServerCpu => ("the servers' processor time per transaction", "每事务的服务器处理器时间"),
        Metric::ClientCpu => ("the client's processor time per transaction", "每事务的客户端处理器时间"),
        Metric::Lag => ("the mean lag", "平均复制延迟"),
        Metric::LagP99 => ("the p99 of the lag", "复制延迟的 p99"),
        Metric::Lost(CrashKind::Kill) => {
            ("the share of acknowledged commits lost in a crash", "崩溃时丢失的已确认提交的比例")
        }
        Metric::Lost(CrashKind::Network) => {
            ("the share of acknowledged commits lost when the network is cut", "断网时丢失的已确认提交的比例")
        }
        Metric::Lost(CrashKind::Power) => {
            ("the share of acknowledged commits lost in a power loss", "掉电时丢失的已确认提交的比例")
        }
        other => return named(other, language),
    };
    language.either(english, chinese).to_owned()
}

/// Metrics that are called by their names in a study, and percentiles.
fn named(metric: Metric, language: Language) -> String {
    let name = metric.to_string();
    match (language, &*name) {
        (Language::Chinese, "throughput") => "吞吐量".to_owned(),
        (Language::Chinese, name) if name.starts_with('p') => format!("{name} 响应时间"),
        (Language::Chinese, name) => format!(" {name} "),
        (Language::English, name) => name.replace('_', " "),
    }
}

/// ` where server is pool and connections is 4 or 8`; empty where every level is meant.
fn place(plan: &Plan, levels: &Levels, language: Language) -> String {
    let said = levels.iter().filter_map(|(factor, wanted)| {
        let known = plan.factors.iter().find(|known| known.name == *factor);
        let is_all = known.is_some_and(|known| known.levels.iter().all(|level| wanted.contains(level)));
        let here = |level: &&String| known.is_none_or(|known| known.levels.contains(level));
        let wanted: Vec<String> = wanted.iter().filter(here).cloned().collect();
        let wanted = listed(wanted, language);
        (!is_all).then(|| say!(language, "{factor} is {wanted}", "{factor} 为 {wanted}"))
    });
    let said: Vec<String> = said.collect();
    match language {
        _ if said.is_empty() => String::new(),
        Language::English => format!(" where {}", said.join(" and ")),
        Language::Chinese => format!(" {} 时的", said.join("、")),
    }
}

fn limit(bound: &Bound, figure: &str, language: Language) -> String {
    let words = match bound.relation {
        Relation::Above => language.either("above", "大于"),
        Relation::AtLeast => language.either("at least", "至少"),
        Relation::Below => language.either("below", "小于"),
        Relation::AtMost => language.either("at most", "至多"),
    };
    format!("{words} {figure}")
}

/// A number in the unit of its metric.
fn figure(unit: Unit, value: f64, language: Language) -> String {
    match unit {
        Unit::One => rounded(value),
        Unit::PerSecond => say!(language, "{} per second", "每秒 {}", rounded(value)),
        Unit::Share => format!("{} %", rounded(value * 100.0)),
        Unit::Kilobytes => format!("{} kB", rounded(value)),
        Unit::Seconds => format!("{} s", rounded(value)),
        Unit::Milliseconds => format!("{} ms", rounded(value)),
    }
}

/// Without the digits that binary fractions leave behind.
fn rounded(value: f64) -> String {
    ((value * 1e6).round() / 1e6).to_string()
}
