//! What the kernel counts for one process: processor time, memory, threads, context switches, bytes from and
//! to disks; and the cgroup that it runs in, where there is one.

use super::counts::{Counts, Source};
use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Share of a processor that reading every single thread may take: for 4096 threads it takes 40 ms, so it is
/// then done less often.
const THREADS_SHARE: f64 = 0.002;
/// The same for the memory that is shared with other processes, for which the kernel walks through all pages.
const PAGES_SHARE: f64 = 0.001;

/// A process of this machine.
#[derive(Debug)]
pub(super) struct Process {
    /// What its paths begin with: `client`, `node/NAME/process`.
    prefix: String,
    directory: PathBuf,
    ticks_per_second: f64,
    page_bytes: f64,
    group: Option<Group>,
    switches: Switches,
    pages: Sparing,
}

impl Process {
    /// `pid` is reported as `prefix`; the figures of its cgroup as `group`, unless the whole machine is its
    /// cgroup.
    pub(super) fn new(pid: u32, prefix: &str, group: Option<&str>) -> Self {
        Self {
            prefix: prefix.to_owned(),
            directory: PathBuf::from(format!("/proc/{pid}")),
            ticks_per_second: procfs::ticks_per_second() as f64,
            page_bytes: procfs::page_size() as f64,
            group: group.and_then(|prefix| Group::of(Path::new("/"), pid, prefix)),
            switches: Switches::default(),
            pages: Sparing::new(PAGES_SHARE),
        }
    }

    fn path(&self, what: &str) -> String {
        format!("{}/{what}", self.prefix)
    }

    fn disk(&self, counts: &mut Counts) {
        // only the process's own user, and root, may read it
        let Ok(text) = fs::read_to_string(self.directory.join("io")) else { return };
        for (name, value) in text.lines().filter_map(|line| line.split_once(": ")) {
            let path = match name {
                "read_bytes" => "read_bytes",
                "write_bytes" => "written_bytes",
                _ => continue,
            };
            if let Ok(value) = value.trim().parse() {
                counts.count(self.path(path), value);
            }
        }
    }

    fn shared_memory(&mut self, counts: &mut Counts) {
        let file = self.directory.join("smaps_rollup");
        let Some(Ok(text)) = self.pages.look(|| fs::read_to_string(file)) else { return };
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
        let kilobytes = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<f64>().ok());
        if let Some(kilobytes) = kilobytes {
            counts.level(self.path("memory_proportional_bytes"), kilobytes * 1024.0);
        }
    }
}

impl Source for Process {
    fn read(&mut self) -> Option<Counts> {
        let stat = Stat::parse(&fs::read_to_string(self.directory.join("stat")).ok()?)?;
        let mut counts = Counts::new(stat.started);
        counts.count(self.path("cpu_user"), stat.user_ticks / self.ticks_per_second);
        counts.count(self.path("cpu_system"), stat.system_ticks / self.ticks_per_second);
        counts.level(self.path("memory_bytes"), stat.resident_pages * self.page_bytes);
        counts.level(self.path("threads"), stat.threads);
        self.disk(&mut counts);
        self.shared_memory(&mut counts);
        if let Some(per_second) = self.switches.per_second(&self.directory.join("task")) {
            counts.level(self.path("switches_voluntary"), per_second.voluntary);
            counts.level(self.path("switches_involuntary"), per_second.involuntary);
            if per_second.looked_at < per_second.threads {
                counts.level(self.path("threads_looked_at"), per_second.looked_at as f64);
            }
        }
        if let Some(group) = &self.group {
            group.read(&mut counts);
        }
        Some(counts)
    }
}

/// The source of the load: this process, and those that run the load with it, as one.
#[derive(Debug)]
pub(super) struct Client(Vec<Process>);

impl Client {
    /// This process and these.
    pub(super) fn of(processes: &[u32]) -> Self {
        let all = [std::process::id()].into_iter().chain(processes.iter().copied());
        Self(all.map(|pid| Process::new(pid, "client", None)).collect())
    }
}

impl Source for Client {
    fn read(&mut self) -> Option<Counts> {
        let mut all = self.0.iter_mut().map(Source::read);
        let mut sum = all.next()??;
        // where one of them has ended, nothing is known of all together
        for counts in all {
            let counts = counts?;
            sum.life = sum.life.wrapping_add(counts.life);
            add(&mut sum.counters, counts.counters);
            add(&mut sum.levels, counts.levels);
        }
        Some(sum)
    }
}

/// Adds values to those with the same path.
fn add(sums: &mut [(String, f64)], values: Vec<(String, f64)>) {
    for (path, value) in values {
        if let Some((_, sum)) = sums.iter_mut().find(|(known, _)| *known == path) {
            *sum += value;
        }
    }
}

/// What Prony needs of `/proc/PID/stat`.
#[derive(Debug, PartialEq)]
pub(super) struct Stat {
    pub(super) user_ticks: f64,
    pub(super) system_ticks: f64,
    threads: f64,
    started: u64,
    pub(super) resident_pages: f64,
}

impl Stat {
    /// The second column is the program's name, which may have spaces and parentheses in it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // proc(5) numbers the columns from 1; the first one here is number 3
        let at = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Self {
            user_ticks: at(14)?,
            system_ticks: at(15)?,
            threads: at(20)?,
            started: at(22)? as u64,
            resident_pages: at(24)?,
        })
    }
}

/// Something that is read so seldom that it takes no more than a share of a processor.
#[derive(Debug)]
struct Sparing {
    share: f64,
    next: Option<Instant>,
}

impl Sparing {
    fn new(share: f64) -> Self {
        Self { share, next: None }
    }

    fn look<T>(&mut self, look: impl FnOnce() -> T) -> Option<T> {
        let began = Instant::now();
        if self.next.is_some_and(|next| began < next) {
            return None;
        }
        let own = own_time();
        let seen = look();
        let took = own_time().saturating_sub(own);
        self.next = Some(began + took.div_f64(self.share).min(Duration::from_secs(3600)));
        Some(seen)
    }
}

/// Processor time of the calling thread.
pub(super) fn own_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// What a thread had when it was looked at: its number, voluntary switches, the others.
type OfThread = (u32, f64, f64);

/// Up to this many threads are all read; of more, this many, or up to twice as many.
const THREADS_ALL: usize = 256;
/// The oldest of them, the server's own, differ from those of connections: they are all looked at.
const THREADS_OLDEST: usize = 64;

/// Context switches, which the kernel counts for each thread alone.
#[derive(Debug)]
struct Switches {
    sparing: Sparing,
    last: Option<(Instant, Look)>,
}

/// What was seen at one time.
#[derive(Debug)]
struct Look {
    threads: usize,
    /// One of so many is looked at.
    share: u32,
    /// Numbers up to this are of the oldest threads.
    oldest: u32,
    /// In the order of numbers.
    looked_at: Vec<OfThread>,
}

/// Switches per second; where not all threads were read, extrapolated from those that were.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PerSecond {
    voluntary: f64,
    involuntary: f64,
    threads: usize,
    looked_at: usize,
}

impl Default for Switches {
    fn default() -> Self {
        Self { sparing: Sparing::new(THREADS_SHARE), last: None }
    }
}

impl Switches {
    /// Of all threads below `tasks` together since they were looked at last. What a thread did between then
    /// and its end nobody knows.
    fn per_second(&mut self, tasks: &Path) -> Option<PerSecond> {
        let now = self.sparing.look(|| Look::at(tasks, THREADS_ALL))?;
        let at = Instant::now();
        let last = self.last.replace((at, now));
        let (before, old) = last?;
        let (_, now) = self.last.as_ref()?;
        if (now.share, old.share) != (1, 1) && (now.share, now.oldest) != (old.share, old.oldest) {
            return None; // others were chosen, of which nothing is known before
        }
        let seconds = at.saturating_duration_since(before).as_secs_f64();
        (seconds > 0.0).then(|| now.since(&old, seconds))
    }
}

impl Look {
    /// All threads below `tasks`, or, where there are more than `all`, the oldest ones and of the others
    /// those whose numbers fall among a share: the same ones each time.
    fn at(tasks: &Path, all: usize) -> Self {
        let entries = fs::read_dir(tasks).into_iter().flatten().flatten();
        let mut numbers: Vec<u32> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        numbers.sort_unstable();
        let threads = numbers.len();
        let share = threads.div_ceil(all.max(1)).next_power_of_two().max(1) as u32;
        let oldest = numbers.get(THREADS_OLDEST.min(threads.max(1)) - 1).copied().unwrap_or(0);
        let is_chosen =
            |number: &u32| *number <= oldest || number.wrapping_mul(SCATTER) >> 16 & (share - 1) == 0;
        let of_thread = |number: u32| {
            let status = fs::read_to_string(tasks.join(number.to_string()).join("status")).ok()?;
            let (voluntary, others) = switches(&status)?;
            Some((number, voluntary, others))
        };
        let looked_at = numbers.into_iter().filter(is_chosen).filter_map(of_thread).collect();
        Self { threads, share, oldest, looked_at }
    }

    /// What was done since an earlier look.
    fn since(&self, old: &Self, seconds: f64) -> PerSecond {
        // of the oldest, and of the others
        let (mut sums, mut counts) = ([(0.0, 0.0); 2], [0_usize; 2]);
        for (thread, voluntary, others) in &self.looked_at {
            let place = old.looked_at.binary_search_by_key(thread, |(known, ..)| *known);
            let (had_voluntary, had_others) =
                place.map_or((0.0, 0.0), |place| (old.looked_at[place].1, old.looked_at[place].2));
            // lower: the number of a thread that has gone was given to a new one
            let is_same = *voluntary >= had_voluntary && *others >= had_others;
            let kind = usize::from(*thread > self.oldest);
            sums[kind].0 += voluntary - if is_same { had_voluntary } else { 0.0 };
            sums[kind].1 += others - if is_same { had_others } else { 0.0 };
            counts[kind] += 1;
        }
        let looked_at = counts[0] + counts[1];
        let others = self.threads.saturating_sub(counts[0]) as f64 / counts[1].max(1) as f64;
        PerSecond {
            voluntary: (sums[0].0 + sums[1].0 * others) / seconds,
            involuntary: (sums[0].1 + sums[1].1 * others) / seconds,
            threads: self.threads,
            looked_at,
        }
    }
}

/// Spreads numbers that follow each other (Knuth's multiplicative hash).
const SCATTER: u32 = 2_654_435_761;

fn switches(status: &str) -> Option<(f64, f64)> {
    // these lines are the last ones
    let (_, end) = status.rsplit_once("\nvoluntary_ctxt_switches:")?;
    let (voluntary, others) = end.split_once("nonvoluntary_ctxt_switches:")?;
    Some((voluntary.trim().parse().ok()?, others.trim().parse().ok()?))
}

/// The cgroup of a process, of version 2 or 1.
#[derive(Debug)]
struct Group {
    prefix: String,
    /// File with the processor's figures, and how many of its units are a second.
    cpu: Option<(PathBuf, f64)>,
    memory: Option<PathBuf>,
}

impl Group {
    /// `None`: it is in none but that of the whole machine.
    fn of(root: &Path, pid: u32, prefix: &str) -> Option<Self> {
        let text = fs::read_to_string(root.join(format!("proc/{pid}/cgroup"))).ok()?;
        let mount = root.join("sys/fs/cgroup");
        let place = |controller: &str, directory: &str| {
            let path = super::machine::path_of(&text, controller).filter(|path| *path != "/")?;
            Some(mount.join(directory).join(path.trim_start_matches('/')))
        };
        let existing = |path: PathBuf| path.exists().then_some(path);
        let second = |file: &str| existing(place("", "")?.join(file));
        let first = |controller: &str, file: &str| existing(place(controller, controller)?.join(file));
        let cpu = second("cpu.stat").map(|file| (file, 1e6));
        let cpu = cpu.or_else(|| first("cpu", "cpu.stat").map(|file| (file, 1e9)));
        let memory = second("memory.current").or_else(|| first("memory", "memory.usage_in_bytes"));
        (cpu.is_some() || memory.is_some()).then(|| Self { prefix: prefix.to_owned(), cpu, memory })
    }

    fn read(&self, counts: &mut Counts) {
        let prefix = &self.prefix;
        if let Some((file, units)) = &self.cpu {
            let text = fs::read_to_string(file).unwrap_or_default();
            for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
                let Ok(value) = value.trim().parse::<f64>() else { continue };
                match name {
                    "nr_periods" => counts.count(format!("{prefix}/periods"), value),
                    "nr_throttled" => counts.count(format!("{prefix}/periods_throttled"), value),
                    "throttled_usec" | "throttled_time" => {
                        counts.count(format!("{prefix}/throttled"), value / units);
                    }
                    _ => {}
                }
            }
        }
        let memory = self.memory.as_ref().and_then(|file| fs::read_to_string(file).ok());
        if let Some(bytes) = memory.and_then(|text| text.trim().parse().ok()) {
            counts.level(format!("{prefix}/memory_bytes"), bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeMap, thread};

    #[test]
    fn a_line_of_the_kernel_is_read_whatever_the_program_is_called() {
        let text = "42 (a ) b) S 1 1 1 0 -1 4194560 11 0 0 0 1500 250 0 0 20 0 37 0 123456 1000000 777 \
                    18446744073709551615 0";
        let stat = Stat::parse(text).unwrap();
        let expected = Stat {
            user_ticks: 1500.0,
            system_ticks: 250.0,
            threads: 37.0,
            started: 123_456,
            resident_pages: 777.0,
        };
        assert_eq!(stat, expected);
        assert_eq!(Stat::parse("42 (short) S 1"), None);
    }

    #[test]
    fn switches_of_all_threads_are_added_up() {
        let tasks = PathBuf::from(format!("/proc/{}/task", std::process::id()));
        let mut switches = Switches { sparing: Sparing::new(f64::INFINITY), last: None };
        assert!(switches.per_second(&tasks).is_none(), "nothing to compare with");
        let sleeper = thread::spawn(|| (0..50).for_each(|_| thread::sleep(Duration::from_millis(2))));
        while !sleeper.is_finished() {
            thread::sleep(Duration::from_millis(1));
            if let Some(PerSecond { voluntary, .. }) = switches.per_second(&tasks) {
                assert!(voluntary.is_finite() && voluntary >= 0.0);
            }
        }
        sleeper.join().unwrap();
        switches.last = switches.last.map(|(_, threads)| (Instant::now() - Duration::from_secs(1), threads));
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(1));
        }
        let PerSecond { voluntary, .. } = switches.per_second(&tasks).unwrap();
        assert!(voluntary >= 10.0, "this thread alone slept 20 times: {voluntary}");
    }

    #[test]
    fn of_many_threads_some_stand_for_the_others_and_the_oldest_for_themselves() {
        let home = tempfile::tempdir().unwrap();
        // 64 threads of the server's own that switch much, and 1024 of connections alike
        let write = |round: u32| {
            for number in 1..=1088_u32 {
                let each = if number <= 64 { 1000 } else { 10 };
                let directory = home.path().join((100 + number).to_string());
                fs::create_dir_all(&directory).unwrap();
                let status = format!(
                    "Name:\tx\nvoluntary_ctxt_switches:\t{}\nnonvoluntary_ctxt_switches:\t{round}\n",
                    each * round
                );
                fs::write(directory.join("status"), status).unwrap();
            }
        };
        write(1);
        let before = Look::at(home.path(), 256);
        write(3);
        let told = Look::at(home.path(), 256).since(&before, 2.0);
        assert_eq!(told.threads, 1088);
        assert!((128..512).contains(&told.looked_at), "{told:?}");
        assert!((told.voluntary - (64_000.0 + 10_240.0)).abs() < 1e-6, "{told:?}");
        assert!((told.involuntary - 1088.0).abs() < 1e-6, "{told:?}");
        let all = Look::at(home.path(), 2000);
        assert_eq!((all.threads, all.looked_at.len()), (1088, 1088));
    }

    #[test]
    fn what_costs_much_is_done_seldom() {
        let mut sparing = Sparing::new(0.001);
        let work = || (0..2_000_000_u64).fold(0, |sum, each| std::hint::black_box(sum + each));
        assert!(sparing.look(work).is_some());
        assert!(sparing.look(work).is_none(), "it took milliseconds, so it waits for seconds");
    }

    #[test]
    fn both_versions_of_control_groups_tell_how_long_they_held_the_server_back() {
        let home = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let path = home.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let read = |pid: u32| {
            let mut counts = Counts::new(0);
            Group::of(home.path(), pid, "g").unwrap().read(&mut counts);
            counts.counters.into_iter().chain(counts.levels).collect::<BTreeMap<String, f64>>()
        };
        put("proc/7/cgroup", "0::/small\n");
        put(
            "sys/fs/cgroup/small/cpu.stat",
            "usage_usec 5\nnr_periods 10\nnr_throttled 4\nthrottled_usec 2500000\n",
        );
        put("sys/fs/cgroup/small/memory.current", "4096\n");
        let second = read(7);
        assert_eq!((second["g/throttled"], second["g/memory_bytes"]), (2.5, 4096.0));
        put("proc/8/cgroup", "4:memory:/m\n1:cpu,cpuacct:/c\n0::/\n");
        put("sys/fs/cgroup/cpu/c/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 1500000000\n");
        put("sys/fs/cgroup/memory/m/memory.usage_in_bytes", "8192\n");
        let first = read(8);
        assert_eq!((first["g/throttled"], first["g/memory_bytes"]), (1.5, 8192.0));
        put("proc/9/cgroup", "1:cpu:/\n0::/\n");
        assert!(Group::of(home.path(), 9, "g").is_none());
    }
}
