//! The state in which trials begin, in words and figures: how often data are restored, and how long that
//! takes.

use super::{Act, Fresh, Plan, Reuse, Treatment, Trial, Warm};
use crate::{
    language::{Language, say},
    layout::Layout as _,
    quantity::show_size_about,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// The time to stop a server, copy what a trial changed in its own files, and start it again: without its
/// data.
const PUT_BACK: Duration = Duration::from_millis(2000);
/// Bytes that are copied and written to the disk per second.
const COPY_BYTES_PER_SECOND: u64 = 300_000_000;
/// Bytes that are read into a buffer pool per second.
const READ_BYTES_PER_SECOND: u64 = 300_000_000;

/// How often data are restored in the course of a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PutBack {
    /// From a snapshot, with a restart of the server.
    pub(super) restored: u32,
    /// By reloading.
    pub(super) reloaded: u32,
    /// What both take.
    pub(super) time: Duration,
    /// Snapshots that are taken.
    pub(super) snapshots: u32,
    /// What these take on the disk.
    pub(super) disk_bytes: u64,
}

/// Goes through the trials in their order.
pub(super) fn put_back(plan: &Plan, trials: &[Trial], server_bytes: u64, bytes_per_second: u64) -> PutBack {
    let snapshots = plan.snapshots();
    let bytes = |data: usize| plan.data_sets[data].size_bytes();
    let mut sum = PutBack {
        snapshots: u32::try_from(snapshots.len()).unwrap_or(u32::MAX),
        disk_bytes: snapshots.iter().map(|&(_, data)| bytes(data) + server_bytes).sum(),
        ..PutBack::default()
    };
    let copy = |bytes: u64| Duration::from_secs(bytes / COPY_BYTES_PER_SECOND);
    sum.time +=
        snapshots.iter().map(|&(_, data)| PUT_BACK + copy(bytes(data) + server_bytes)).sum::<Duration>();
    // Data set that each server holds, and whether the next trial is to find another state of it.
    let mut held: BTreeMap<usize, (usize, bool)> = BTreeMap::new();
    for trial in trials {
        let treatment = &plan.treatments[trial.treatment];
        let (server, data) = (treatment.server, treatment.data);
        let &mut (holds, stale) = held.entry(server).or_insert((data, false));
        if (holds != data || stale) && !plan.data_sets[data].is_empty() {
            let warm = if plan.state.warm == Warm::None { 0 } else { bytes(data) / READ_BYTES_PER_SECOND };
            sum.time += Duration::from_secs(warm);
            if snapshots.contains(&(server, data)) {
                sum.restored += 1;
                sum.time += PUT_BACK + copy(bytes(data));
            } else {
                sum.reloaded += 1;
                sum.time += Duration::from_secs(bytes(data) / bytes_per_second);
            }
        }
        let stale = match plan.state.fresh {
            Fresh::Never => false,
            Fresh::Always => true,
            Fresh::Auto | Fresh::Snapshot | Fresh::Reload => treatment.writes(),
        };
        held.insert(server, (data, stale));
    }
    sum
}

/// Sentences for a reader of the plan.
pub(super) fn lines(plan: &Plan, put_back: &PutBack, language: Language) -> Vec<String> {
    let elsewhere = plan.servers.iter().any(|server| !server.may(Act::Restart));
    let mut lines = restored(plan, put_back, elsewhere, language);
    if plan.state.fresh == Fresh::Never && plan.treatments.iter().any(Treatment::writes) {
        let stays = language.either("data stays as earlier trials left it", "数据保持此前试验留下的样子");
        lines.push(stays.to_owned());
    }
    let foreign: BTreeSet<String> =
        plan.treatments.iter().flat_map(|treatment| plan.foreign_written(treatment)).collect();
    if !foreign.is_empty() {
        let tables = foreign.into_iter().collect::<Vec<_>>().join(language.either(", ", "、"));
        lines.push(say!(
            language,
            "not restored: {tables}, which trials write to and Prony did not create; each trial finds them \
             as earlier ones left them",
            "不恢复：{tables}，试验会写入而并非 Prony 所建；每个试验看到的是此前试验留下的样子",
        ));
    }
    if !plan.state.settle.is_zero() {
        let only = language.either(
            "; on a server that Prony did not start, it only waits for the purge",
            "；对并非 Prony 启动的服务器，只等待清理完成",
        );
        lines.push(say!(
            language,
            "dirty pages are written and old row versions purged, for at most {} s{}",
            "写出脏页并清理旧的行版本，最多 {} s{}",
            plan.state.settle.as_secs_f64(),
            if elsewhere { only } else { "" }
        ));
    }
    lines.extend(kept(plan, language).into_iter().map(str::to_owned));
    lines
}

/// How often data are restored, and by what.
fn restored(plan: &Plan, put_back: &PutBack, elsewhere: bool, language: Language) -> Vec<String> {
    let mut lines = Vec::new();
    let times = |count: u32| match count {
        1 => language.either("once", "1 次").to_owned(),
        _ => say!(language, "{count} times", "{count} 次"),
    };
    if put_back.restored > 0 {
        let snapshots = match put_back.snapshots {
            1 => language.either("a snapshot", "1 个快照").to_owned(),
            count => say!(language, "{count} snapshots", "{count} 个快照"),
        };
        lines.push(say!(
            language,
            "data is restored to its loaded state {}, each time with a restart of the server: from {}, {} on \
             disk",
            "数据恢复到刚装载的状态，共 {}，每次都重启服务器：来自 {}，占用磁盘 {}",
            times(put_back.restored),
            snapshots,
            show_size_about(put_back.disk_bytes)
        ));
    }
    if put_back.reloaded > 0 {
        let stays = "; a server that runs elsewhere is not stopped";
        let here =
            if elsewhere { language.either(stays, "；不停止运行在别处的服务器") } else { "" };
        let after = match plan.state.fresh {
            Fresh::Always => "",
            _ => language.either(" if an earlier trial has changed it", "（如果此前的试验修改过）"),
        };
        let times = times(put_back.reloaded);
        lines.push(say!(
            language,
            "data is reloaded{after}, {times}{here}",
            "重新装载数据{after}，{times}{here}"
        ));
    }
    lines
}

/// What is in memory when a trial begins, and what is kept for later runs.
fn kept(plan: &Plan, language: Language) -> impl IntoIterator<Item = &'static str> {
    let warm = match plan.state.warm {
        Warm::None => None,
        Warm::Tables => Some(language.either(
            "after a start or a change of data, tables and indexes are read into memory once",
            "启动或更换数据之后，把表和索引读入内存一次",
        )),
        Warm::Pages => Some(language.either(
            "after a start, the pages that were in memory before are read back",
            "启动之后，读回此前在内存中的页",
        )),
    };
    let reuse = match plan.state.reuse {
        Reuse::Never => None,
        Reuse::Auto => Some(language.either(
            "data that takes long to load is cached for later runs (`prony server data` lists it)",
            "装载耗时的数据会缓存，供以后的运行使用（`prony server data` 列出它们）",
        )),
        Reuse::Always => Some(language.either(
            "loaded data is cached for later runs (`prony server data` lists it)",
            "装载的数据会缓存，供以后的运行使用（`prony server data` 列出它们）",
        )),
    };
    [warm, reuse].into_iter().flatten()
}
