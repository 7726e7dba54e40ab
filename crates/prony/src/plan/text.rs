//! A plan in words, as `prony plan` shows it: what will be done, in which order, how long it takes.

use super::{
    Act, DataPlan, Plan, Repetition, Replication, ServerNames, ServerPlan, ServerSource, Topology, Trial,
    WaitPoint, claims,
    estimate::{self, estimate, estimate_at_most},
    load, state,
};
use crate::{
    escape::wrap::{columns, padded},
    language::{Language, say},
    layout::Layout as _,
    quantity::show_size_about,
    study::server_words,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    time::Duration,
};

/// Trials that are listed; of more, the first block, as far as that goes.
const TRIALS_SHOWN: usize = 48;

/// The whole plan as text.
#[must_use]
pub fn render(plan: &Plan, language: Language) -> String {
    let mut text = String::new();
    write_to(&mut text, plan, language).expect("writing to memory");
    text
}

fn write_to(text: &mut String, plan: &Plan, language: Language) -> std::fmt::Result {
    write_head(text, plan, language)?;
    for line in repetition(plan, language) {
        writeln!(text, "{line}")?;
    }
    writeln!(text)?;
    if !plan.factors.is_empty() {
        writeln!(text, "{}", language.either("Varied", "变化的因素"))?;
        let width = plan.factors.iter().map(|factor| columns(&factor.name)).max().unwrap_or(0);
        for factor in &plan.factors {
            writeln!(text, "  {}  {}", padded(&factor.name, width, false), factor.levels.join(", "))?;
        }
        writeln!(text)?;
    }
    let names = ServerNames::of(plan);
    match &names.factors {
        by if by.is_empty() => writeln!(text, "{}", language.either("Servers", "服务器"))?,
        by => writeln!(text, "{}", say!(language, "Servers by {}", "服务器（按 {} 区分）", by.join(", ")))?,
    }
    let common = common_settings(plan.servers.iter().map(|server| &server.settings));
    for server in &plan.servers {
        write_server(text, (plan, server), names.shown(&server.name), &common, language)?;
    }
    if !common.is_empty() {
        writeln!(text, "  {}", language.either("all servers:", "所有服务器："))?;
    }
    for (name, value) in common {
        writeln!(text, "      {name} = {value}")?;
    }
    if plan.servers.iter().any(|server| server.may(Act::Start)) {
        let own = language.either(
            "Each server that Prony starts gets its own data directory, port and socket, which are removed \
             afterwards; servers that are not installed are fetched into the cache.",
            "Prony 启动的每个服务器都有自己的数据目录、端口和套接字，结束后删除；未安装的服务器会下载到缓存中。",
        );
        writeln!(text, "  {own}")?;
    }
    writeln!(text, "\n{}", language.either("Data", "数据"))?;
    for data in &plan.data_sets {
        writeln!(text, "  {}", data_words(data, language))?;
    }
    let state = state::lines(plan, &estimate::put_back(plan, &plan.trials), language);
    if !state.is_empty() {
        writeln!(text, "\n{}", language.either("Before a trial", "每个试验开始之前"))?;
    }
    for line in state {
        writeln!(text, "  {line}")?;
    }
    writeln!(text, "\n{}", language.either("Load", "负载"))?;
    for line in load::lines(plan, language) {
        writeln!(text, "  {line}")?;
    }
    write_aims(text, plan, language)?;
    writeln!(text, "\n{}", language.either("Trials in order of execution", "试验（按执行顺序）"))?;
    write_trials(text, plan, language)
}

/// What the run is to answer beside its trials: what a crash loses, what a buyer asks, what was claimed.
fn write_aims(text: &mut String, plan: &Plan, language: Language) -> std::fmt::Result {
    if let Some(audit) = &plan.audit {
        let told = say!(
            language,
            "After the trials\n  Of each server that Prony starts, {}: each {} while {} commit for {}. \
             Acknowledged commits that are missing afterwards are counted as lost.",
            "所有试验之后\n  对 Prony 启动的每个服务器，{}：每种情况 {}，其间 {}持续提交 {}。\
             已得到确认而事后缺失的提交计为丢失。",
            load::struck(audit, language),
            count(audit.crashes as usize, language, "time", "次"),
            count(audit.writers as usize, language, "connection", "个连接"),
            seconds(audit.length),
        );
        writeln!(text, "\n{told}")?;
    }
    if let Some(buy) = &plan.buy {
        let rates: Vec<String> = buy.rates_per_second.iter().map(ToString::to_string).collect();
        let of_rates = if rates.is_empty() {
            String::new()
        } else {
            let rates = load::listed(rates, language);
            say!(
                language,
                "; which is enough for {rates} transactions per second",
                "；哪些足以承受每秒 {rates} 个事务"
            )
        };
        let objective = &buy.objective;
        let told = say!(
            language,
            "For a buyer\n  How much each server sustains at {objective}{of_rates}.",
            "选购参考\n  各服务器在 {objective} 的前提下能承受多少负载{of_rates}。",
        );
        writeln!(text, "\n{told}")?;
    }
    if !plan.claims.is_empty() {
        writeln!(text, "\n{}", language.either("Claims to be checked", "待检验的论断"))?;
        for claim in &plan.claims {
            writeln!(text, "  {}", translated(language, &claim.says, &claim.says_zh))?;
            writeln!(text, "      {}", claims::asked(plan, claim, language))?;
        }
    }
    Ok(())
}

/// What it is, how much it is, what it costs.
fn write_head(text: &mut String, plan: &Plan, language: Language) -> std::fmt::Result {
    let cost = estimate(plan);
    writeln!(text, "{}", translated(language, &plan.title, &plan.title_zh))?;
    let scale = |scale: &String| say!(language, ", scale {scale}", "，规模 {scale}");
    let scale = plan.scale.as_ref().map_or_else(String::new, scale);
    let (name, seed) = (&plan.name, plan.seed);
    writeln!(
        text,
        "{}\n",
        say!(language, "study {name}{scale}, seed {seed}", "研究 {name}{scale}，种子 {seed}")
    )?;
    let at_most = |is_most: bool| {
        if is_most { language.either("at most ", "最多 ") } else { language.either("", " ") }
    };
    let trials = say!(
        language,
        "{}: {} x {}, each {}{} of warm-up{} and {}{} of measurement{}",
        "{}：{} x {}，每个先预热{}{}{}，再测量{}{}{}",
        count(plan.trials.len(), language, "trial", "个试验"),
        count(plan.treatments.len(), language, "combination", "种组合"),
        count(plan.repeats as usize, language, "repeat", "次重复"),
        at_most(plan.warm_up_auto),
        seconds(plan.warm_up),
        match plan.alone {
            Duration::ZERO => String::new(),
            alone => {
                let alone = seconds(alone);
                say!(language, ", {alone} of the background alone", "，单独运行背景负载 {alone}")
            }
        },
        at_most(has_limit(plan)),
        seconds(plan.interval),
        match plan.treatments.iter().filter(|treatment| treatment.goal.is_some()).count() {
            0 => "",
            some if some == plan.treatments.len() =>
                language.either(", after a search for its rate", "，此前先搜索其速率"),
            _ => language.either(", some after a search for their rate", "，其中一些此前先搜索其速率"),
        },
    );
    writeln!(text, "{trials}")?;
    let time = time_words(plan, language);
    let (disk, memory) = (show_size_about(cost.disk_bytes), show_size_about(cost.memory_bytes));
    let cost = say!(
        language,
        "{time}, {disk} on disk, {memory} of memory",
        "{time}，占用磁盘 {disk}、内存 {memory}",
    );
    writeln!(text, "{cost}\n")
}

/// What a study says of itself, in Chinese where it has that.
fn translated<'a>(language: Language, english: &'a str, chinese: &'a str) -> &'a str {
    if chinese.is_empty() { english } else { language.either(english, chinese) }
}

/// How long a run takes, probably.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    /// Without any trial that a wish for precision may add.
    pub least: Duration,
    /// With all of them.
    pub most: Duration,
    /// Whether a trial ends as soon as its limit is reached.
    pub may_be_less: bool,
}

/// How long a share of a plan takes.
#[must_use]
pub fn time(plan: &Plan, share: f64) -> Time {
    let (least, most) = (estimate(plan).time.mul_f64(share), estimate_at_most(plan).time.mul_f64(share));
    Time { least, most, may_be_less: has_limit(plan) }
}

/// The same in words: `about 35 s`.
fn time_words(plan: &Plan, language: Language) -> String {
    let Time { least, most, may_be_less } = time(plan, 1.0);
    let is_wide = most > least;
    let (least, most) = (minutes(least, language), minutes(most, language));
    match (may_be_less, is_wide) {
        (true, _) => say!(language, "at most {most}", "最多 {most}"),
        (false, true) => say!(language, "from {least} to {most}", "{least}至 {most}"),
        (false, false) => say!(language, "about {least}", "约 {least}"),
    }
}

/// How trials are repeated, in sentences.
fn repetition(plan: &Plan, language: Language) -> Vec<String> {
    let Repetition { restarts, precision, budget, repeat_invalid, .. } = &plan.repetition;
    let mut lines = Vec::new();
    lines.push(
        match (plan.servers.len(), plan.repeats_at_most()) {
            (_, 1) => {
                language.either("Trials run in one block of random order.", "所有试验在一个区组内按随机顺序执行。")
            }
            (1, _) => language.either(
                "Trials run in blocks, each with every combination once, in random order.",
                "试验分区组执行，每个区组包含每种组合各一次，顺序随机。",
            ),
            _ => language.either(
                "Trials run in blocks, each with every combination once, in random order; the servers of a \
                 combination run one after another and take turns in going first.",
                "试验分区组执行，每个区组包含每种组合各一次，顺序随机；同一组合的各服务器依次执行，轮流先行。",
            ),
        }
        .to_owned(),
    );
    if let Some(precision) = precision {
        let limit = budget.map_or_else(String::new, |budget| {
            let budget = minutes(budget, language);
            say!(language, ", for at most {budget}", "，最多用时 {budget}")
        });
        lines.push(say!(
            language,
            "Blocks are added until every interval is within ±{} %{limit}; at most {} ({} trials).",
            "不断增加区组，直到每个置信区间都在 ±{} % 以内{limit}；最多 {}（{} 个试验）。",
            precision * 100.0,
            count(plan.repeats_at_most() as usize, language, "repeat", "次重复"),
            plan.trials_at_most().len(),
        ));
    }
    if *restarts > 1 && plan.start_of(plan.repeats_at_most() - 1) > 0 {
        let blocks = (1..=plan.repeats).take_while(|&block| plan.start_of(block) == 0).count() + 1;
        lines.push(match blocks {
            1 => language
                .either(
                    "Servers that Prony started are restarted after every block.",
                    "每个区组之后，重启 Prony 启动的服务器。",
                )
                .to_owned(),
            _ => say!(
                language,
                "Servers that Prony started are restarted after every {blocks} blocks.",
                "每 {blocks} 个区组之后，重启 Prony 启动的服务器。",
            ),
        });
    }
    if *repeat_invalid > 0 {
        lines.push(match repeat_invalid {
            1 => language
                .either(
                    "A trial that fails or is invalid is repeated once, at the end of its block.",
                    "失败或无效的试验在其区组末尾重做一次。",
                )
                .to_owned(),
            times => say!(
                language,
                "A trial that fails or is invalid is repeated up to {times} times, at the end of its block.",
                "失败或无效的试验在其区组末尾重做，最多 {times} 次。",
            ),
        });
    }
    lines
}

/// Whether a trial may end before its interval is over.
fn has_limit(plan: &Plan) -> bool {
    plan.treatments.iter().flat_map(|treatment| &treatment.streams).any(|stream| stream.limit.is_some())
}

fn write_server(
    text: &mut String,
    (plan, server): (&Plan, &ServerPlan),
    name: &str,
    common: &BTreeMap<&String, &String>,
    language: Language,
) -> std::fmt::Result {
    // a Chinese colon needs no space behind it
    let colon = language.either(": ", "：");
    match &server.source {
        ServerSource::Product { product, version } => {
            let version = version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
            writeln!(text, "  {name}{colon}{product}{version}")?;
        }
        ServerSource::Path(path) => {
            let at = say!(language, "unpacked in {}", "解压于 {}", path.display());
            writeln!(text, "  {name}{colon}{at}")?;
        }
        ServerSource::Image(image) => {
            let within = say!(language, "in a container of the image {image}", "运行于镜像 {image} 的容器中");
            writeln!(text, "  {name}{colon}{within}")?;
        }
        ServerSource::Url(url) => writeln!(text, "  {}", elsewhere((plan, server), name, url, language))?,
    }
    if let Some(words) = topology_words(server.topology, language) {
        writeln!(text, "      {words}")?;
    }
    for (name, value) in &server.settings {
        if !common.contains_key(name) {
            writeln!(text, "      {name} = {value}")?;
        }
    }
    for words in server_words(server, language) {
        writeln!(text, "      {words}")?;
    }
    Ok(())
}

/// What works together as this server; `None`: it is alone.
fn topology_words(topology: Topology, language: Language) -> Option<String> {
    match topology {
        Topology::Single => None,
        Topology::Galera { nodes } => Some(say!(
            language,
            "a Galera cluster of {nodes} nodes on this machine",
            "本机上由 {nodes} 个节点组成的 Galera 集群"
        )),
        Topology::Replicas { count, replication } => {
            let replicas = self::count(count as usize, language, "replica", "个从库");
            let how = match replication {
                Replication::Asynchronous => language
                    .either("asynchronous: a commit waits for none", "异步复制：提交不等待任何从库")
                    .to_owned(),
                Replication::SemiSynchronous { wait_point, acknowledgements, timeout } => {
                    let wait_point = match wait_point {
                        None => language.either("where the server does by default", "在服务器的默认位置"),
                        Some(WaitPoint::AfterSync) => {
                            language.either("before it is in the engine", "在写入引擎之前")
                        }
                        Some(WaitPoint::AfterCommit) => {
                            language.either("after it is in the engine", "在写入引擎之后")
                        }
                    };
                    let seconds = seconds(timeout);
                    let has = if acknowledgements == 1 { "has" } else { "have" };
                    say!(
                        language,
                        "semi-synchronous: a commit waits, {wait_point}, until {acknowledgements} of them \
                         {has} received it, {seconds} at most",
                        "半同步复制：提交{wait_point}等待，直到 {acknowledgements} 个从库收到，最多 {seconds}",
                    )
                }
            };
            Some(say!(language, "with {replicas} on this machine, {how}", "本机上有 {replicas}，{how}"))
        }
    }
}

/// What will be done to each server that Prony does not start, in words.
#[must_use]
pub fn servers_elsewhere(plan: &Plan, language: Language) -> Vec<String> {
    let names = ServerNames::of(plan);
    let of_server = |server: &ServerPlan| match &server.source {
        ServerSource::Url(url) => Some(elsewhere((plan, server), names.shown(&server.name), url, language)),
        _ => None,
    };
    plan.servers.iter().filter_map(of_server).collect()
}

fn elsewhere((plan, server): (&Plan, &ServerPlan), name: &str, url: &str, language: Language) -> String {
    let of_server = || plan.treatments.iter().filter(|one| plan.servers[one.server] == *server);
    let tables = if of_server().any(|one| !plan.data_sets[one.data].is_empty()) {
        language.either(
            "gets the tables of the data set in the database of its URL; they stay until `prony cleanup`",
            "数据集的表建在其 URL 所指的数据库中，保留到执行 `prony cleanup` 为止",
        )
    } else {
        language.either(
            "gets no tables, because no statement uses Prony's",
            "不建表，因为没有语句使用 Prony 的表",
        )
    };
    let foreign: BTreeSet<String> =
        of_server().flat_map(|treatment| plan.foreign_written(treatment)).collect();
    let touched = if foreign.is_empty() {
        language
            .either("No table that Prony did not create is changed", "不修改任何并非 Prony 所建的表")
            .to_owned()
    } else {
        let tables = foreign.into_iter().collect::<Vec<_>>().join(", ");
        if server.write_to_my_tables {
            say!(
                language,
                "The study's own statements change {tables}, which are not restored; no other table is \
                 changed",
                "研究自带的语句会修改 {tables}，事后不恢复；其他表不修改",
            )
        } else {
            say!(
                language,
                "The study's own statements would change {tables}, which is refused without \
                 `write_to_my_tables = true`",
                "研究自带的语句会修改 {tables}；没有 `write_to_my_tables = true` 时拒绝执行",
            )
        }
    };
    let configured = if server.apply_settings && !server.settings.is_empty() {
        let names: Vec<_> = server.settings.keys().map(String::as_str).collect();
        say!(
            language,
            "{} are set during the run and restored afterwards",
            "运行期间设置 {}，事后恢复",
            names.join(", ")
        )
    } else {
        language.either("none of its variables is changed", "不修改其任何变量").to_owned()
    };
    say!(
        language,
        "{name}: running at {url}; {tables}. {touched}; {configured}",
        "{name}：运行于 {url}；{tables}。{touched}；{configured}",
    )
}

/// Settings that every one of several servers has with the same value; `servers` has those of each.
pub fn common_settings<'a>(
    servers: impl Iterator<Item = &'a BTreeMap<String, String>>,
) -> BTreeMap<&'a String, &'a String> {
    let all: Vec<_> = servers.collect();
    let [first, others @ ..] = all.as_slice() else { return BTreeMap::new() };
    let everywhere = |(name, value): &(&String, &String)| {
        !others.is_empty() && others.iter().all(|server| server.get(*name) == Some(*value))
    };
    first.iter().filter(everywhere).collect()
}

fn write_trials(text: &mut String, plan: &Plan, language: Language) -> std::fmt::Result {
    let heads = [language.either("trial", "试验"), language.either("block", "区组")];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows[0].extend(plan.factors.iter().map(|factor| factor.name.clone()));
    let shown = |trial: &&Trial| plan.trials.len() <= TRIALS_SHOWN || trial.block == 0;
    for trial in plan.trials.iter().filter(shown).take(TRIALS_SHOWN) {
        let levels = &plan.treatments[trial.treatment].levels;
        let mut row = vec![(trial.number + 1).to_string(), (trial.block + 1).to_string()];
        row.extend(
            plan.factors
                .iter()
                .map(|factor| levels.get(&factor.name).cloned().unwrap_or_else(|| "-".to_owned())),
        );
        rows.push(row);
    }
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| columns(&row[column])).max().unwrap_or(0))
        .collect();
    let right: Vec<bool> =
        [true, true].into_iter().chain(plan.factors.iter().map(|factor| factor.numeric)).collect();
    for row in &rows {
        let cells = row.iter().zip(widths.iter().zip(&right));
        let cells: Vec<String> = cells.map(|(cell, (width, right))| padded(cell, *width, *right)).collect();
        writeln!(text, "  {}", cells.join("  ").trim_end())?;
    }
    let blocks = plan.repeats as usize - 1;
    match plan.trials.len() + 1 - rows.len() {
        0 => Ok(()),
        more if rows.len() <= plan.treatments.len() => {
            let blocks = match blocks {
                0 => String::new(),
                more => say!(
                    language,
                    " of this block and {}",
                    "（本区组及其余 {}）",
                    count(more, language, "other", "个区组")
                ),
            };
            let rest = say!(
                language,
                "... and {more} more{blocks}, which --json lists",
                "……另有 {more} 个{blocks}，用 --json 列出",
            );
            writeln!(text, "  {rest}")
        }
        more => {
            let orders = if blocks == 1 { "another random order" } else { "other random orders" };
            let blocks = count(blocks, language, "block", "个区组");
            let rest = match language {
                Language::English => {
                    format!("... and {more} more in {blocks} of {orders}, which --json lists")
                }
                Language::Chinese => {
                    format!("……另有 {more} 个，在顺序各不相同的 {blocks}中，用 --json 列出")
                }
            };
            writeln!(text, "  {rest}")
        }
    }
}

fn data_words(data: &DataPlan, language: Language) -> String {
    if data.is_empty() {
        let none = "no Prony tables, because no statement uses them";
        return language.either(none, "不建 Prony 的表，因为没有语句使用它们").to_owned();
    }
    data.about(language)
}

/// `3 trials`; Chinese has a measure word instead of a plural.
fn count(number: usize, language: Language, thing: &str, measure: &str) -> String {
    match language {
        Language::English if number == 1 => format!("1 {thing}"),
        Language::English => format!("{number} {thing}s"),
        Language::Chinese => format!("{number} {measure}"),
    }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

fn minutes(duration: Duration, language: Language) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => "1 s".to_owned(),
        1..120 => format!("{seconds} s"),
        120..7200 => say!(language, "{} min", "{} 分钟", seconds.div_ceil(60)),
        172_800.. => say!(language, "{:.1} days", "{:.1} 天", duration.as_secs_f64() / 86_400.0),
        _ => say!(language, "{:.1} h", "{:.1} 小时", duration.as_secs_f64() / 3600.0),
    }
}
