// The data contract: what `prony report --format json` prints, as far as charts need it. The whole of it is described by
// schemas/report.json.

/** The version of the form that this viewer knows. */
export const FORMAT = 1;

export interface Estimate {
  value: number;
  low: number | null;
  high: number | null;
}

export interface Point {
  levels: Record<string, string>;
  server: string;
  connections: number;
  trials: number;
  throughput: Estimate;
  latency_ms: Record<string, Estimate>;
  latency_curve: [share: number, ms: number][];
  doubts: string[];
}

export interface Series {
  server: string;
  points: (number | null)[];
}

export interface Group {
  title: string;
  connections: number[];
  series: Series[];
}

export interface Seconds {
  second: number[];
  warm_up: number;
  throughput: number[];
  p95_ms: (number | null)[];
  p99_ms: (number | null)[];
  errors: number[];
}

export interface Trial {
  number: number;
  block: number;
  server: string;
  connections: number;
  levels: Record<string, string>;
  failure: string | null;
  seconds: Seconds;
}

export interface Report {
  format: number;
  servers: { name: string }[];
  groups: Group[];
  points: Point[];
  trials: Trial[];
}

/** Texts by section and key; see crates/prony/src/report/words. */
export type Words = Record<string, Record<string, string>>;

/** Trials of a group at one number of connections, in the order of execution. */
export function trialsOf(report: Report, group: Group, connections: number): Trial[] {
  const members = group.series.flatMap((series) => series.points).filter((index) => index !== null);
  const levels = members.map((index) => report.points[index]?.levels ?? {});
  const belongs = (trial: Trial) =>
    levels.some((known) => Object.entries(known).every(([factor, level]) => trial.levels[factor] === level));
  return report.trials.filter(
    (trial) => trial.failure === null && trial.connections === connections && belongs(trial),
  );
}
