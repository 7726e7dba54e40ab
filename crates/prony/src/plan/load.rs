//! The load of a plan in plain words: who does what on how many connections, when it starts, when it ends.

use super::{Audit, CrashKind, Goal, Plan, Treatment};
use crate::{
    arrival,
    language::{Language, say},
    quantity::{say_duration as time, show_count},
    study::{Phrase, client_words},
};
use ::load::spec::{Arrival, Begin, ConnectionMode, Destination, Gaps, Limit, Protocol, Stream, Think};
use std::time::Duration;

/// One line for each stream, and one on its connections where something is special about them.
pub(super) fn lines(plan: &Plan, language: Language) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for stream in plan.treatments.iter().flat_map(|treatment| &treatment.streams) {
        if !names.contains(&stream.name.as_str()) {
            names.push(&stream.name);
        }
    }
    let mut lines: Vec<String> = names.iter().map(|name| stream_line(plan, name, language)).collect();
    let clients = plan.treatments.iter().map(|treatment| &treatment.client);
    let said =
        client_words().map(|words| one_of(clients.clone().map(|client| words(client, language)), language));
    let said: Vec<String> = said.filter(|part| !part.is_empty()).collect();
    if !said.is_empty() {
        lines.push(match language {
            Language::English => format!("connections: {}", said.join("; ")),
            Language::Chinese => format!("连接：{}", said.join("；")),
        });
    }
    lines.extend(load_hosts(plan, language));
    lines
}

/// How many of the connections each load host opens, where there are several.
fn load_hosts(plan: &Plan, language: Language) -> Option<String> {
    let of = |treatment: &Treatment| {
        let all: u32 = treatment.streams.iter().map(|stream| stream.connections).sum();
        // none is asked for a part without connections
        let hosts = (treatment.client.agents.len() as u32).min(all);
        (hosts > 1).then(|| [hosts, all / hosts, all.div_ceil(hosts)])
    };
    let shares: Vec<[u32; 3]> = plan.treatments.iter().filter_map(of).collect();
    let range = |low: usize, high: usize| {
        let low = shares.iter().map(|share| share[low]).min()?;
        let high = shares.iter().map(|share| share[high]).max()?;
        let (low_text, high_text) = (show_count(low.into()), show_count(high.into()));
        Some(if low == high {
            low_text
        } else {
            say!(language, "{low_text} to {high_text}", "{low_text} 至 {high_text}")
        })
    };
    let (hosts, each) = (range(0, 0)?, range(1, 2)?);
    Some(say!(
        language,
        "load hosts: {hosts} share each load; each opens {each} of its connections",
        "压测机：{hosts} 台分担每个负载；每台建立其中 {each} 个连接",
    ))
}

/// What all treatments say of a stream; where they differ, all of it.
fn stream_line(plan: &Plan, name: &str, language: Language) -> String {
    let there: Vec<Option<&Stream>> = plan
        .treatments
        .iter()
        .map(|treatment| treatment.streams.iter().find(|stream| stream.name == name))
        .collect();
    let of = |say: fn(&Stream, Language) -> Phrase| {
        one_of(there.iter().flatten().map(|stream| say(stream, language)), language)
    };
    let starts = plan.treatments.iter().zip(&there).filter_map(|(treatment, stream)| {
        let goal = treatment.goal.as_ref().filter(|goal| goal.stream == name);
        stream
            .map(|stream| goal.map_or_else(|| start(stream, language), |goal| search(stream, goal, language)))
    });
    let is_one = there.iter().all(|stream| stream.is_some_and(|stream| stream.connections == 1));
    let connections = there.iter().map(|stream| {
        let count = |stream: &Stream| show_count(u64::from(stream.connections));
        Phrase::plain(stream.map_or_else(|| language.either("no", "0").to_owned(), count))
    });
    let connections = one_of(connections, language);
    let is_primary = |stream: &&Stream| stream.to == Destination::Primary;
    let to = if there.iter().flatten().all(is_primary) {
        String::new()
    } else {
        language.either(" ", "，").to_owned() + &of(destination)
    };
    let noun = if is_one { "connection" } else { "connections" };
    let (workload, protocol) = (of(workload), of(protocol));
    let parts = [
        match language {
            Language::English => format!("{workload} on {connections} {noun}{to}, {protocol}"),
            Language::Chinese => format!("{workload}，{connections} 个连接{to}，{protocol}"),
        },
        of(idle),
        one_of(starts, language),
        if there.iter().flatten().all(|stream| stream.connect == ConnectionMode::Long) {
            String::new()
        } else {
            of(reconnect)
        },
        of(begin),
        of(limit),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    match language {
        Language::English => format!("{name}: {}", parts.join("; ")),
        Language::Chinese => format!("{name}：{}", parts.join("；")),
    }
}

/// Different phrases in their order: `a, b or c`; of those that differ in their value alone the values
/// (`every 10 or 1 ms`). Where only some say something, what the others say is `not at all`.
fn one_of(phrases: impl Iterator<Item = Phrase>, language: Language) -> String {
    let mut different: Vec<Phrase> = Vec::new();
    for phrase in phrases {
        if !different.contains(&phrase) {
            different.push(phrase);
        }
    }
    let all = different.len();
    different.retain(|phrase| *phrase != Phrase::nothing());
    let some_say_nothing = all > 1 && different.len() < all;
    if let [first, others @ ..] = &different[..]
        && !some_say_nothing
        && others.iter().all(|other| (&other.before, &other.after) == (&first.before, &first.after))
    {
        let values = different.iter().map(|phrase| phrase.value.clone()).collect();
        return format!("{}{}{}", first.before, listed(values, language), first.after);
    }
    let texts = different.iter().map(Phrase::text);
    let nothing = language.either("not at all", "无");
    listed(texts.chain(some_say_nothing.then(|| nothing.to_owned())).collect(), language)
}

/// `a, b or c`.
pub(super) fn listed(mut texts: Vec<String>, language: Language) -> String {
    let last = texts.pop().unwrap_or_default();
    match texts.as_slice() {
        [] => last,
        before if language == Language::Chinese => {
            let is_long = before.iter().chain([&last]).any(|text| text.contains('，'));
            format!("{}{}或 {last}", before.join("、"), if is_long { "，" } else { " " })
        }
        before if before.iter().chain([&last]).any(|text| text.contains(", ")) => {
            format!("{}, or {last}", before.join(", or "))
        }
        before => format!("{} or {last}", before.join(", ")),
    }
}

/// What becomes of servers in an audit.
pub(super) fn struck(audit: &Audit, language: Language) -> String {
    let word = |kind: &CrashKind| match kind {
        CrashKind::Kill => language.either("the primary is killed", "杀死主库"),
        CrashKind::Network => language.either(
            "its network is cut (where it has replicas or further nodes)",
            "切断其网络（有从库或其他节点时）",
        ),
        CrashKind::Power => language.either("its power is lost (where it is alone)", "模拟掉电（单机时）"),
    };
    audit.kinds.iter().map(word).collect::<Vec<_>>().join(language.either(", ", "、"))
}

fn workload(stream: &Stream, _: Language) -> Phrase {
    Phrase::plain(stream.workload.name.clone())
}

fn protocol(stream: &Stream, language: Language) -> Phrase {
    Phrase::plain(match stream.protocol {
        Protocol::Prepared => language.either("prepared statements", "预处理语句"),
        Protocol::Text => language.either("plain text", "文本协议"),
    })
}

/// Where it goes.
fn destination(stream: &Stream, language: Language) -> Phrase {
    Phrase::plain(match stream.to {
        Destination::Primary => language.either("to the primary", "连到主库"),
        Destination::Members => {
            language.either("to the replicas or other nodes in turn", "轮流连到各从库或其他节点")
        }
        Destination::All => language.either("to all members in turn", "轮流连到所有成员"),
        Destination::Local => language.either("by the Unix socket of the server", "经服务器的 Unix 套接字"),
        Destination::Stranger => language.either("to the primary as an unknown user", "以未知用户连到主库"),
    })
}

fn idle(stream: &Stream, language: Language) -> Phrase {
    match stream.idle {
        0 => Phrase::nothing(),
        idle => {
            let (before, after) = match language {
                Language::English => ("", " more open and idle"),
                Language::Chinese => ("另有 ", " 个打开的空闲连接"),
            };
            Phrase::new(before, show_count(u64::from(idle)), after)
        }
    }
}

fn start(stream: &Stream, language: Language) -> Phrase {
    let skip = |lateness_max: &Option<Duration>| {
        let said = |most| say!(language, ", skipped when {} late", "，迟到 {} 则跳过", time(most));
        lateness_max.map_or_else(String::new, said)
    };
    match &stream.arrival {
        Arrival::Closed => Phrase::plain(language.either(
            "each transaction starts as soon as the connection's previous one has ended",
            "每个连接上前一个事务结束后立即开始下一个",
        )),
        Arrival::Think(Think::Fixed(pause)) => Phrase::new(
            language.either("each connection pauses ", "每个连接在每个事务之后停顿 "),
            time(*pause),
            language.either(" after a transaction", ""),
        ),
        Arrival::Think(Think::Exponential(mean)) => Phrase::new(
            language.either("each connection pauses ", "每个连接在每个事务之后停顿，平均 "),
            time(*mean),
            language.either(" on average after a transaction, exponentially", "，服从指数分布"),
        ),
        Arrival::Waits(_) => Phrase::new(
            language.either(
                "before and after a transaction, each connection waits as long as people at terminals do, ",
                "每个连接在事务前后像终端前的操作员一样等待，平均 ",
            ),
            time(stream.arrival.wait_mean(&stream.workload)),
            language.either(" on average", ""),
        ),
        Arrival::Paced { every, lateness_max } => {
            let [before, after] = match language {
                Language::English => ["each connection starts a transaction every ", ""],
                Language::Chinese => ["每个连接每 ", " 开始一个事务"],
            };
            Phrase::new(before, time(*every), format!("{after}{}", skip(lateness_max)))
        }
        Arrival::Open { rate, gaps, lateness_max } => {
            let skip = skip(lateness_max);
            let gaps = spacing(*gaps == Gaps::Poisson, language);
            let after =
                say!(language, ", {gaps}, on any free connection{skip}", "，{gaps}，使用任一空闲连接{skip}");
            let before = language.either("transactions start at ", "事务按此速率开始：");
            Phrase::new(before, arrival::write_rate(rate), after)
        }
    }
}

/// How far apart transactions start.
fn spacing(is_random: bool, language: Language) -> &'static str {
    match is_random {
        true => language.either("at random (Poisson)", "随机到达（泊松）"),
        false => language.either("evenly", "间隔均匀"),
    }
}

fn search(stream: &Stream, goal: &Goal, language: Language) -> Phrase {
    let evenly = matches!(stream.arrival, Arrival::Open { gaps: Gaps::Constant, .. });
    let gaps = spacing(!evenly, language);
    let after = say!(
        language,
        ", with transactions that start {gaps} on any free connection, and is then measured at it",
        " 的最高速率（事务{gaps}，使用任一空闲连接），然后在该速率下测量",
    );
    let before =
        language.either("each trial searches for the highest rate that keeps ", "每个试验先搜索仍满足 ");
    Phrase::new(before, goal.objective.clone(), after)
}

fn reconnect(stream: &Stream, language: Language) -> Phrase {
    let [before, after] = match language {
        Language::English => ["a new connection for each ", ""],
        Language::Chinese => ["每个", "使用新连接"],
    };
    match stream.connect {
        ConnectionMode::Long => Phrase::plain(language.either("lasting connections", "长连接")),
        ConnectionMode::Statement => Phrase::new(before, language.either("statement", "语句"), after),
        ConnectionMode::Transactions(1) => Phrase::new(before, language.either("transaction", "事务"), after),
        ConnectionMode::Transactions(count) => Phrase::new(
            language.either("a new connection after ", "每 "),
            count.to_string(),
            language.either(" transactions", " 个事务之后换新连接"),
        ),
    }
}

fn begin(stream: &Stream, language: Language) -> Phrase {
    match &stream.begin {
        Begin::Together => Phrase::nothing(),
        Begin::After(time_after) => Phrase::new(
            language.either("begins ", "在预热之后 "),
            time(*time_after),
            language.either(" after the warm-up", " 开始"),
        ),
        Begin::WhenDone(other) => Phrase::new(
            language.either("begins when ", "在 "),
            other.clone(),
            language.either(" is done", " 完成时开始"),
        ),
    }
}

fn limit(stream: &Stream, language: Language) -> Phrase {
    let last = |limit| say!(language, ", after {} at the latest", "，最迟在 {} 之后", time(limit));
    let last = stream.time_limit.map_or_else(String::new, last);
    let (count, thing) = match stream.limit {
        None => return Phrase::nothing(),
        Some(Limit::Transactions(count)) => (count, language.either("transactions", "个事务")),
        Some(Limit::Rows(count)) => (count, language.either("rows", "行")),
    };
    let after = say!(language, " {thing}{last}", " {thing}之后结束{last}");
    Phrase::new(language.either("ends after ", "在 "), show_count(count), after)
}
