// Made by types.mjs from schemas/report.json; do not edit. What `prony report --format json` prints.

/**
 * Kinds of axis.
 */
export type AxisKind = "rate" | "connections" | "number" | "names";
/**
 * What a run says of a claim.
 */
export type ClaimVerdict = "supported" | "refuted" | "open";
/**
 * What a comparison means.
 */
export type Verdict = "better" | "worse" | "same" | "undecided" | "overloaded";
/**
 * How the values of a condition compare.
 */
export type ConditionVerdict = "same" | "on_purpose" | "different";
/**
 * What a finding is.
 */
export type FindingKind =
  | "effect"
  | "advantage"
  | "no_difference"
  | "not_compared"
  | "peak"
  | "overloaded"
  | "doubtful"
  | "unfair"
  | "died"
  | "failed"
  | "incomplete"
  | "nothing";
/**
 * How far a trial's figures can be trusted.
 */
export type Level = "fine" | "suspicious" | "invalid";
/**
 * What a load is for.
 */
export type Purpose = "bracket" | "narrow" | "confirm" | "above" | "rest" | "beyond";
/**
 * Why a ladder has no law.
 */
export type NoLaw = "too_few_points" | "residual" | "peak";

/**
 * A report.
 */
export interface Report {
  axis: Axis;
  /**
   * What the study claimed, and what the run says of it.
   */
  claims: Claim[];
  /**
   * Pairs of servers, or of levels that are compared, at otherwise equal levels.
   */
  comparisons: Comparison[];
  /**
   * What each server ran with, as far as it decides what a comparison is worth.
   */
  conditions: Condition[];
  /**
   * How the run went, in sentences: what of the machine disturbed it, which trials were repeated or left
   * out, why repeating ended.
   */
  conduct: string[];
  /**
   * Machine, client and servers second by second, of one trial of each treatment.
   */
  courses: Course[];
  /**
   * What whole ladders say: the same pairs, all places on the axis together.
   */
  effects: Effect[];
  /**
   * What was found, in words, most important first.
   */
  findings: Finding[];
  /**
   * Version of this form: 2.
   */
  format: number;
  /**
   * Points that belong in one table and one chart: everything but the axis and what the series are is
   * equal.
   */
  groups: Group[];
  /**
   * Language of the sentences: `en`.
   */
  language: string;
  machine: Machine;
  /**
   * One for each stream of each treatment with a result.
   */
  points: Point[];
  /**
   * Where servers spent their processor time, if the study asks for it.
   */
  profiles: Profiled[];
  /**
   * Version of Prony that made the run.
   */
  prony_version: string;
  /**
   * The highest rates that were searched, in the order of the points.
   */
  rates: FoundRate[];
  /**
   * What each treatment took of machine and servers.
   */
  resources: Resources[];
  run: Run;
  /**
   * How throughput grows along a ladder of connections, by the universal scalability law.
   */
  scalings: Scaling[];
  /**
   * The servers, in the study's order.
   */
  servers: Server[];
  /**
   * Factors whose levels are what servers are called, where they are variants of one; `server` before them
   * where there are variants of several; empty: servers are called by their own names.
   */
  servers_by: string[];
  /**
   * Settings whose values differ between servers.
   */
  settings_that_differ: Difference[];
  /**
   * Every trial in the order of execution.
   */
  trials: Trial[];
  /**
   * Ladders of connections that have no such law, and why; `conduct` says it in words.
   */
  unscaled: Unscaled[];
  /**
   * Waits that grew with the load, of each ladder.
   */
  waits_that_grew: Grown[];
}
/**
 * What points are drawn along.
 */
export interface Axis {
  /**
   * The factors whose levels are compared; empty: servers are.
   */
  compared: string[];
  /**
   * The factors that it shows; empty: connections that do not vary.
   */
  factors: string[];
  kind: AxisKind;
  /**
   * The stream that it is about; null: all, or the study has only one.
   */
  stream: string | null;
  /**
   * What to write beside it.
   */
  title: string;
}
/**
 * A claim of the study.
 */
export interface Claim {
  /**
   * What was claimed: `>= 2`.
   */
  claimed: string;
  /**
   * `throughput`, `p99`, `errors` ...
   */
  metric: string;
  /**
   * Everything that it is about.
   */
  parts: ClaimPart[];
  /**
   * As the study says it.
   */
  says: string;
  /**
   * The numbers that decide, in words; where it is open, why.
   */
  text: string;
  verdict: ClaimVerdict;
  /**
   * The same in the report's language.
   */
  verdict_words: string;
}
/**
 * One thing that a claim is about.
 */
export interface ClaimPart {
  estimate: Estimate;
  /**
   * Whether what it rests on is invalid.
   */
  invalid: boolean;
  /**
   * Levels of its point, as far as they differ in the study; those that are held against others or run
   * along an axis not included.
   */
  levels: {
    [k: string]: string;
  };
  /**
   * What is held against `other`; null: the number stands for itself.
   */
  one: string | null;
  /**
   * What it is held against.
   */
  other: string | null;
  verdict: ClaimVerdict;
}
/**
 * A number with its uncertainty.
 */
export interface Estimate {
  /**
   * Upper end.
   */
  high: number | null;
  /**
   * Lower end of its confidence interval, however wide, and never NaN; null: one trial, nothing is known.
   */
  low: number | null;
  /**
   * The number.
   */
  value: number;
}
/**
 * One server, or one level of what is compared, against another where everything else is equal.
 */
export interface Comparison {
  /**
   * Index in `points` of the one it is held against (the study's first server or level).
   */
  base: number;
  /**
   * The smallest difference, as a share, that would have been called one in nine of ten such runs: by the
   * run's own variance, and no smaller than what matters; null: unknown.
   */
  detectable: number | null;
  /**
   * Levels that both share (all factors but what is compared).
   */
  levels: {
    [k: string]: string;
  };
  /**
   * `throughput`, `p95` or `p99`.
   */
  metric: string;
  /**
   * Probability of a difference as great if there were none, corrected for the number of comparisons.
   */
  p_value: number;
  /**
   * Index in `points` of the one.
   */
  point: number;
  ratio: Estimate;
  /**
   * Where it is undecided: repeats of all after which it probably would not be; null: no number that is
   * reasonable.
   */
  repeats_needed: number | null;
  verdict: Verdict;
}
/**
 * One condition, by meaning, on every server.
 */
export interface Condition {
  /**
   * Its key: `redo_capacity`.
   */
  key: string;
  /**
   * The word of `[settings]` that makes it the same.
   */
  remedy: string | null;
  /**
   * In words.
   */
  title: string;
  /**
   * Value on each server, in the order of `servers`; null: not known, or without a meaning there.
   */
  values: (string | null)[];
  verdict: ConditionVerdict;
}
/**
 * The seconds of one trial, warm-up included.
 */
export interface Course {
  /**
   * What it is of, in words: server and levels.
   */
  about: string;
  /**
   * Ends of its steps, s since the load began.
   */
  at_s: number[];
  /**
   * Figures by name, one value for each step, null where it is not known: `cpu/user` (CPUs of the servers'
   * machine by kind), `server/...`, `client/...` and `relay/...` (processes), `disk/...`, `network/...`
   * (MB/s), `pressure/...` (share of the time), `status/NAME` (what servers count, per second or as it
   * is), `state/NAME` (connections).
   */
  figures: {
    [k: string]: (number | null)[];
  };
  /**
   * When the measurement interval began and ended, s since the load began.
   *
   * @minItems 2
   * @maxItems 2
   */
  interval_s: [number, number];
  /**
   * How far each replica or further node was behind, ms, the longest of each second; empty: there is
   * none.
   */
  lag_ms: (number | null)[][];
  /**
   * Index in `trials`.
   */
  trial: number;
}
/**
 * One server, or one level of what is compared, against another along the axis, in one metric.
 */
export interface Effect {
  /**
   * What it is held against.
   */
  base: string;
  /**
   * How the ratio changes along the ladder; null: not known, or places are no numbers.
   */
  change: RatioChange | null;
  /**
   * From the knee on, the first place with nine tenths of the highest throughput of both together; null:
   * there is none, or it is the first place or the last.
   */
  from_knee: MeanRatio | null;
  /**
   * Levels that stay the same along the ladder.
   */
  levels: {
    [k: string]: string;
  };
  /**
   * `throughput`, `p95` or `p99`.
   */
  metric: string;
  /**
   * The one: a server, or the levels that are compared.
   */
  side: string;
  /**
   * Over all places; null: no repeat has them all.
   */
  whole: MeanRatio | null;
}
/**
 * How a ratio changes along a ladder.
 */
export interface RatioChange {
  doubling: Estimate;
  /**
   * Whether it is significant, and over the ladder more than what matters.
   */
  is_significant: boolean;
  /**
   * Probability of as great a change if there were none, corrected for all that is asked of the metric.
   */
  p_value: number;
}
/**
 * The geometric mean of ratios; its interval comes from how it differs from repeat to repeat.
 */
export interface MeanRatio {
  /**
   * The smallest difference, as a share, that would have been called one in nine of ten such runs; null:
   * unknown.
   */
  detectable: number | null;
  /**
   * First place, on the axis.
   */
  first: number;
  /**
   * Last place.
   */
  last: number;
  /**
   * Probability of a difference as great if there were none, corrected for all that is asked of the
   * metric.
   */
  p_value: number;
  ratio: Estimate;
  /**
   * Where it is undecided: repeats of all after which it probably would not be.
   */
  repeats_needed: number | null;
  /**
   * Places.
   */
  rungs: number;
  verdict: Verdict;
}
/**
 * One thing that was found.
 */
export interface Finding {
  /**
   * What it is about, in words; empty: the whole run.
   */
  about: string;
  kind: FindingKind;
  /**
   * The sentence.
   */
  text: string;
}
/**
 * Points that are drawn together.
 */
export interface Group {
  /**
   * Places on the axis, ascending or in the order of the study.
   */
  rungs: Rung[];
  /**
   * One for each server or level.
   */
  series: Series[];
  /**
   * What tells the series apart: `server`, or a factor where there is only one server.
   */
  series_by: string;
  /**
   * The stream.
   */
  stream: string;
  /**
   * What its points have in common, in words: the stream, the workload.
   */
  title: string;
}
/**
 * A place on the axis.
 */
export interface Rung {
  /**
   * As it is written.
   */
  label: string;
  /**
   * As a number; null: it is none.
   */
  value: number | null;
}
/**
 * Points that one line joins.
 */
export interface Series {
  /**
   * What it is called: the server, or the level of the factor.
   */
  name: string;
  /**
   * Index in `points` for each of the group's rungs; null: no valid trial.
   */
  points: (number | null)[];
}
/**
 * What the run was made on.
 */
export interface Machine {
  /**
   * Processor's name.
   */
  cpu_model: string;
  /**
   * Processors.
   */
  cpus: number;
  /**
   * Distribution.
   */
  distribution: string;
  /**
   * Kernel.
   */
  kernel: string;
  /**
   * Main memory, bytes.
   */
  memory_bytes: number;
  /**
   * Virtualisation or container; empty: none.
   */
  virtualisation: string;
}
/**
 * One stream of a treatment, all valid trials together.
 */
export interface Point {
  /**
   * CPUs that Prony kept busy.
   */
  client_cpu: number;
  /**
   * Connections that work.
   */
  connections: number;
  /**
   * Reasons to doubt the numbers.
   */
  doubts: Doubt[];
  /**
   * Errors per transaction tried, 0 to 1.
   */
  error_share: number;
  /**
   * Errors by the server's code.
   */
  errors: {
    [k: string]: number;
  };
  /**
   * How equally connections were served; null: unknown, or only one connection.
   */
  fairness: Fairness | null;
  /**
   * How replicas or further nodes followed; missing: one server alone.
   */
  following?: Following | null;
  /**
   * The same in full: HdrHistogram V2, compressed, base64, in ns.
   */
  histogram: string;
  /**
   * Connections that are only open.
   */
  idle: number;
  /**
   * Distribution of response times: share of transactions (0 to 1) and the time, ms, that they stay
   * below.
   */
  latency_curve: [number, number][];
  /**
   * Longest response time, ms.
   */
  latency_max_ms: number;
  /**
   * Response time of a transaction, ms: `mean`, `p50`, `p95`, `p99`, `p99.9`.
   */
  latency_ms: {
    [k: string]: Estimate;
  };
  /**
   * Trials left out, with reasons.
   */
  left_out: string[];
  /**
   * Level of each factor, and the `stream` where several run together.
   */
  levels: {
    [k: string]: string;
  };
  /**
   * What became of the stream's limit; null: it has none.
   */
  limit: Limit | null;
  /**
   * What each transaction of the workload did over the whole interval; missing: it has only one.
   */
  mix?: MixPart[];
  opening: Connects;
  /**
   * Times without any success.
   */
  outages: Outage[];
  /**
   * Trials that could not keep up with what was offered: their response times tell how long the load
   * lasted.
   */
  overloaded: number;
  reconnecting: Connects;
  /**
   * Rows received and affected per second.
   */
  rows_per_second: number;
  /**
   * What became of the starts that were due; null: the arrival has no schedule.
   */
  schedule: Schedule | null;
  /**
   * The server.
   */
  server: string;
  /**
   * CPUs that the server kept busy.
   */
  server_cpu: number | null;
  /**
   * Service time of a transaction, from the actual send, ms, by the same names; empty: it is the response
   * time.
   */
  service_ms: {
    [k: string]: number;
  };
  /**
   * What it is called where it is held against others: the server, or the levels that are compared.
   */
  side: string;
  statements_per_second: Estimate;
  /**
   * The stream.
   */
  stream: string;
  throughput: Estimate;
  /**
   * Transactions per second of each trial used.
   */
  throughput_by_trial: number[];
  /**
   * Trials used.
   */
  trials: number;
  /**
   * What was offered as a share of what the server can do, the most that it completed at any rung; null:
   * no schedule, or no rung was too much for it.
   */
  utilisation: number | null;
  verdict: Level;
}
/**
 * A reason to doubt a number.
 */
export interface Doubt {
  figures: Figures;
  /**
   * What it is, for programs: `worker_busy`.
   */
  id: string;
  level: Level;
  /**
   * The stream that it is about; null: all, or what it stands at is one stream.
   */
  stream: string | null;
  /**
   * In words, with what to do.
   */
  text: string;
}
/**
 * Figures by name: a number, lowest and highest of several, or what others said.
 */
export interface Figures {
  [k: string]: number | [number, number] | string;
}
/**
 * How transactions were spread over the connections; of several trials, in the one where they differ most.
 */
export interface Fairness {
  /**
   * Of the fastest.
   */
  max: number;
  /**
   * Of the one in the middle.
   */
  median: number;
  /**
   * Transactions of the slowest connection.
   */
  min: number;
  /**
   * Connections that finished nothing; of several trials, in the one where they were most.
   */
  starved: number;
  /**
   * Standard deviation as a share of the mean.
   */
  variation: number;
}
/**
 * How replicas, or further nodes of a cluster, followed the server that was written to, all trials together.
 */
export interface Following {
  all: Member;
  /**
   * In the order of the group.
   */
  members: Member[];
  /**
   * Share of the time for which a cluster held writes back because a node could not follow, 0 to 1.
   */
  paused_share: number | null;
  /**
   * Commits of these trials, where they waited for replicas.
   */
  semi_sync: SemiSync | null;
}
/**
 * How one member followed.
 */
export interface Member {
  /**
   * From the end of the load until it had all of it, the longest of all trials, s; missing: it never had.
   */
  drain_s: number | null;
  /**
   * The longest of them, ms.
   */
  lag_max_ms: number;
  /**
   * From when a row was to be written at the primary until it was seen here, ms: `p50`, `p95`, `p99` and
   * so on.
   */
  lag_ms: {
    [k: string]: number;
  };
}
/**
 * Commits that waited for replicas.
 */
export interface SemiSync {
  /**
   * A replica acknowledged them.
   */
  acknowledged: number;
  /**
   * Times that waiting was given up.
   */
  given_up: number;
  /**
   * They went on without.
   */
  unacknowledged: number;
  /**
   * Mean wait of one, ms, as the primary counts it.
   */
  wait_mean_ms: number | null;
}
/**
 * What became of a stream's limit.
 */
export interface Limit {
  /**
   * Trials in which it was reached.
   */
  reached: number;
  seconds: Estimate;
}
/**
 * One transaction of a mix, all trials together. Seconds at the beginning of a trial that other figures
 * leave out count here.
 */
export interface MixPart {
  /**
   * Ended well.
   */
  count: number;
  /**
   * Ended with an error.
   */
  errors: number;
  /**
   * Longest response time, ms.
   */
  latency_max_ms: number;
  /**
   * Response time, ms, by name: `mean`, `p50`, `p95`, `p99`, from merged histograms; empty where none
   * ended well.
   */
  latency_ms: {
    [k: string]: number;
  };
  /**
   * Its name in the workload.
   */
  name: string;
  /**
   * The same as a share of all transactions that ended well, 0 to 1.
   */
  share: number;
  /**
   * The same by time, transactions per second.
   */
  throughput: number;
}
/**
 * How connections were opened. Times are of those that logged in, ms: `mean`, `p50`, `p95`, `p99`, `p99.9`,
 * `max`; empty where there were none.
 */
export interface Connects {
  /**
   * Attempts that failed.
   */
  failed: number;
  /**
   * From the first statement after it to its reply.
   */
  first_reply_ms: {
    [k: string]: number;
  };
  /**
   * Of that, greeting and authentication.
   */
  login_ms: {
    [k: string]: number;
  };
  /**
   * Logged in.
   */
  opened: number;
  /**
   * Of that, until TCP or the Unix socket was connected.
   */
  tcp_ms: {
    [k: string]: number;
  };
  /**
   * Of that, the TLS handshake; empty without TLS.
   */
  tls_ms: {
    [k: string]: number;
  };
  /**
   * From the beginning to the end of the login.
   */
  total_ms: {
    [k: string]: number;
  };
}
/**
 * A time without success.
 */
export interface Outage {
  /**
   * The first failure, s since the load began.
   */
  from_s: number;
  /**
   * Whether there was one.
   */
  recovered: boolean;
  /**
   * Place of the trial in the order, from 0; missing: it was no trial.
   */
  trial?: number | null;
  /**
   * The first success after it, or the end.
   */
  until_s: number;
}
/**
 * What became of the starts of a schedule. backlog + offered = started + skipped + never_sent.
 */
export interface Schedule {
  /**
   * Due before the interval, and not yet started when it began.
   */
  backlog: number;
  /**
   * From due to sent, of those that were started, ms: `mean`, `p50`, `p95`, `p99`, `p99.9`, `max`.
   */
  delay_ms: {
    [k: string]: number;
  };
  /**
   * Of those that were started: more than 1 ms after they were due.
   */
  late: number;
  /**
   * Due, and not started at the end.
   */
  never_sent: number;
  /**
   * Became due.
   */
  offered: number;
  /**
   * The same in a second.
   */
  offered_per_second: number;
  /**
   * Given up because they were too late.
   */
  skipped: number;
  /**
   * Were started.
   */
  started: number;
  /**
   * The same in a second.
   */
  started_per_second: number;
}
/**
 * Where a server spent its processor time at its highest throughput, under a load beside the trials.
 */
export interface Profiled {
  /**
   * Why there is no profile; null: there is one.
   */
  failure: string | null;
  /**
   * Level of each factor.
   */
  levels: {
    [k: string]: string;
  };
  /**
   * The server.
   */
  server: string;
  /**
   * How often each stack was met, frames from the root on joined by semicolons.
   */
  stacks: {
    [k: string]: number;
  };
}
/**
 * The highest rate at which a treatment keeps an objective.
 */
export interface FoundRate {
  /**
   * The lowest rate above that was shown to break the objective; null: in no trial.
   */
  broken_at_per_second: number | null;
  /**
   * What a closed loop of the same connections reached, transactions per second.
   */
  closed_loop_per_second: number;
  /**
   * Loads of all searches together.
   */
  loads: number;
  /**
   * What is kept: `p99 < 20ms`.
   */
  objective: string;
  /**
   * Index in `points`.
   */
  point: number;
  rate_per_second: Estimate;
  /**
   * The searches, one for each trial.
   */
  searches: Search[];
}
/**
 * One search for a rate.
 */
export interface Search {
  /**
   * Its loads, in order, without the closed loop that it began from.
   */
  loads: Probed[];
  /**
   * What it found, starts in a second; null: nothing.
   */
  rate_per_second: number | null;
  /**
   * Number of the trial.
   */
  trial: number;
}
/**
 * One load of a search.
 */
export interface Probed {
  /**
   * Transactions that ended well in a second.
   */
  achieved_per_second: number;
  /**
   * Whether it held too few transactions to say so.
   */
  cannot_tell: boolean;
  /**
   * Whether the client was at its limit.
   */
  client_limited: boolean;
  /**
   * Stable names of the reasons to doubt this load.
   */
  doubts: string[];
  /**
   * Length of the measurement, seconds.
   */
  interval_s: number;
  /**
   * Whether all were kept.
   */
  kept: boolean;
  /**
   * Starts offered in a second.
   */
  offered_per_second: number;
  /**
   * Whether more was offered than could start.
   */
  overloaded: boolean;
  purpose: Purpose;
  /**
   * Processors that neighbours on the physical machine took from this one, on average; null: unknown.
   */
  steal_processors: number | null;
  /**
   * What each objective compares, in ms or, for errors, as a share of 1.
   */
  values: number[];
}
/**
 * What a treatment took, all its streams and valid trials together, within the measurement intervals.
 */
export interface Resources {
  cost: Cost;
  /**
   * Level of each factor.
   */
  levels: {
    [k: string]: string;
  };
  /**
   * What held it back; empty: nothing that was sampled.
   */
  limited_by: LimitedBy[];
  /**
   * Means of everything that was sampled, by path; rates per second.
   */
  means: {
    [k: string]: number;
  };
  /**
   * Processors of the servers' machine by what they did: `user`, `system`, `iowait`, `steal`, `idle`;
   * empty: unknown.
   */
  processors: {
    [k: string]: number;
  };
  /**
   * The server.
   */
  server: string;
  /**
   * Transactions per second, all streams together.
   */
  transactions_per_second: number;
  /**
   * Trials used.
   */
  trials: number;
}
/**
 * What one transaction costs; null: unknown.
 */
export interface Cost {
  /**
   * Processor time of Prony, us.
   */
  client_cpu_us: number | null;
  /**
   * Context switches of the servers' threads.
   */
  context_switches: number | null;
  /**
   * Of these, those where a thread had to give way.
   */
  context_switches_involuntary: number | null;
  /**
   * Syncs of the log.
   */
  log_syncs: number | null;
  /**
   * Reads from disks, as the servers count them.
   */
  reads: number | null;
  /**
   * Processor time of the relays that make Prony's networks, us; null also where there are none.
   */
  relay_cpu_us: number | null;
  /**
   * Of that, in the kernel.
   */
  server_cpu_system_us: number | null;
  /**
   * Processor time of the servers, us.
   */
  server_cpu_us: number | null;
  /**
   * Written to disks, kB.
   */
  written_kb: number | null;
}
/**
 * Something that held a treatment back.
 */
export interface LimitedBy {
  /**
   * `throttled`, `processors`, `steal` (neighbours on the physical machine), `disk`, `row_locks`,
   * `table_locks`, `state`.
   */
  kind: string;
  /**
   * In a word.
   */
  name: string;
  /**
   * The evidence, in words.
   */
  text: string;
}
/**
 * One execution of a study.
 */
export interface Run {
  /**
   * Whether every trial of the plan has an outcome.
   */
  complete: boolean;
  /**
   * What varied.
   */
  factors: Factor[];
  /**
   * When it ended; null: it was killed, or is still running.
   */
  finished: string | null;
  /**
   * Number in the store.
   */
  id: number;
  /**
   * Measurement interval of each trial, s.
   */
  interval_s: number;
  /**
   * Names that people gave the run.
   */
  labels: string[];
  /**
   * Short name of the study.
   */
  name: string;
  /**
   * What people wrote down about it.
   */
  note: string;
  /**
   * Differences up to this share do not matter: 0.03 is 3 %.
   */
  relevant: number;
  /**
   * Trials of each treatment.
   */
  repeats: number;
  /**
   * Scale that was applied.
   */
  scale: string | null;
  /**
   * Seed of everything random.
   */
  seed: number;
  /**
   * When it began, RFC 3339, UTC.
   */
  started: string;
  /**
   * The study, as it was read.
   */
  study_text: string;
  /**
   * Title of the study.
   */
  title: string;
  /**
   * Trials that could not be run.
   */
  trials_failed: number;
  /**
   * Trials that ran.
   */
  trials_measured: number;
  /**
   * Trials of the plan.
   */
  trials_planned: number;
  /**
   * Whether it ended as soon as throughput was steady.
   */
  warm_up_auto: boolean;
  /**
   * Warm-up of each trial, s; the longest, where `warm_up_auto` is true.
   */
  warm_up_s: number;
}
/**
 * Something that varied.
 */
export interface Factor {
  /**
   * Its levels.
   */
  levels: string[];
  /**
   * Its name.
   */
  name: string;
}
/**
 * The universal scalability law, `X(N) = single N / (1 + contention (N - 1) + coherency N (N - 1))`, fitted
 * to the closed loops of one server on N connections.
 */
export interface Scaling {
  coherency: Estimate;
  contention: Estimate;
  /**
   * Fewest connections with 95 % of the law's highest throughput within the ladder.
   */
  enough: number;
  /**
   * Index in `groups` of the one that its points belong to.
   */
  group: number;
  /**
   * Points that were left out since their throughput is not the server's own.
   */
  left_out: LeftOut[];
  /**
   * Connections of the highest throughput; null: it rises without end, or the points leave open how far
   * beyond the ladder it is.
   */
  peak: Estimate | null;
  /**
   * Points that it was fitted to.
   */
  points: FittedPoint[];
  /**
   * Name of the series there.
   */
  series: string;
  single: Estimate;
}
/**
 * A point that the law was not fitted to.
 */
export interface LeftOut {
  /**
   * Id of the doubt that excludes it.
   */
  doubt: string;
  /**
   * Index in `points`.
   */
  point: number;
}
/**
 * A point beside what the law expects there.
 */
export interface FittedPoint {
  /**
   * Connections.
   */
  connections: number;
  /**
   * What the law expects, transactions per second.
   */
  expected: number;
  /**
   * Index in `points`.
   */
  point: number;
  /**
   * Measured by expected less 1.
   */
  residual: number;
}
/**
 * A server.
 */
export interface Server {
  /**
   * Build and platform.
   */
  build: string;
  /**
   * How long loading the data took, s, all data sets together.
   */
  data_loaded_s: number;
  /**
   * Limits that held for it, with what it used of them, in words.
   */
  limits: string[];
  /**
   * Name in the study, with the levels that make it a variant; all other parts of a report refer to it.
   */
  name: string;
  /**
   * Networks before it and between it and its replicas, as stated and as measured, in words.
   */
  networks: string[];
  /**
   * Where it came from, in words.
   */
  origin: string;
  /**
   * `mariadb`, `mysql`.
   */
  product: string;
  /**
   * How clients reached it, with the fastest connect of all, in words; empty: they never did.
   */
  reached: string[];
  /**
   * Settings that the study asked for.
   */
  settings: {
    [k: string]: string;
  };
  /**
   * What it is called: its own name, or the levels in which it differs from the others.
   */
  shown: string;
  /**
   * The servers that work together as this one, in words; null: it is alone.
   */
  topology: string | null;
  /**
   * All global variables.
   */
  variables: {
    [k: string]: string;
  };
  /**
   * As it says itself; empty: it never answered.
   */
  version: string;
}
/**
 * A setting that is not the same on all servers.
 */
export interface Difference {
  /**
   * Value on each server, in the order of `servers`; null: the server does not have it.
   */
  values: (string | null)[];
  /**
   * Its name.
   */
  variable: string;
}
/**
 * One execution of a treatment.
 */
export interface Trial {
  /**
   * Repeat it belongs to, from 0.
   */
  block: number;
  /**
   * Reasons to doubt it.
   */
  doubts: Doubt[];
  /**
   * Why it could not be measured; null: it was.
   */
  failure: string | null;
  /**
   * Level of each factor.
   */
  levels: {
    [k: string]: string;
  };
  /**
   * Place in the order, from 0.
   */
  number: number;
  /**
   * The server.
   */
  server: string;
  /**
   * CPUs that the server kept busy.
   */
  server_cpu: number | null;
  /**
   * When it began, RFC 3339, UTC.
   */
  started: string;
  /**
   * Its streams, in the study's order.
   */
  streams: TrialStream[];
  verdict: Level;
}
/**
 * One stream of a trial.
 */
export interface TrialStream {
  /**
   * How long it was active in the interval, s.
   */
  active_s: number | null;
  /**
   * Connections that work.
   */
  connections: number;
  /**
   * Errors by the server's code.
   */
  errors: {
    [k: string]: number;
  };
  /**
   * Response time of a transaction, ms: `mean`, `p50`, `p95`, `p99`, `p99.9`, `max`.
   */
  latency_ms: {
    [k: string]: number;
  };
  /**
   * Its name.
   */
  name: string;
  /**
   * Starts that became due in a second; null: the arrival has no schedule.
   */
  offered: number | null;
  seconds: Seconds;
  /**
   * Transactions per second.
   */
  throughput: number | null;
}
/**
 * The seconds of a stream in a trial; all lists are equally long, but for `offered`.
 */
export interface Seconds {
  /**
   * When each ended, s since the load began: the last of the warm-up may be shorter than others.
   */
  end_s: number[];
  /**
   * Errors.
   */
  errors: number[];
  /**
   * Starts that became due in a second; empty: the arrival has no schedule.
   */
  offered: number[];
  /**
   * 95th percentile of response time, ms; null: nothing ended.
   */
  p95_ms: (number | null)[];
  /**
   * 99th percentile of response time, ms; null: nothing ended.
   */
  p99_ms: (number | null)[];
  /**
   * Since the load began.
   */
  second: number[];
  /**
   * Transactions per second.
   */
  throughput: number[];
  /**
   * How many of them, at the beginning, are warm-up.
   */
  warm_up: number;
}
/**
 * A ladder of connections that is long enough for the universal scalability law and has none.
 */
export interface Unscaled {
  /**
   * Connections of the point that is off by most, where that is the reason.
   */
  connections: number | null;
  /**
   * Levels that stay the same along the ladder.
   */
  levels: {
    [k: string]: string;
  };
  /**
   * The same, upper end.
   */
  peak_high: number | null;
  /**
   * Connections that the top may be at, lower end, where that is the reason.
   */
  peak_low: number | null;
  reason: NoLaw;
  /**
   * Measured by expected less 1 there.
   */
  residual: number | null;
  /**
   * The server or level that it is of.
   */
  side: string;
}
/**
 * A wait of which a transaction has more at the end of a ladder than at its beginning.
 */
export interface Grown {
  /**
   * Of a thousand transactions at the first rung.
   */
  at_first: number;
  /**
   * Of a thousand transactions at the last one.
   */
  at_last: number;
  /**
   * The counter: `status/lock_waits`.
   */
  counter: string;
  /**
   * Index in `resources` of the first rung.
   */
  first: number;
  /**
   * Index in `resources` of the last rung.
   */
  last: number;
}
