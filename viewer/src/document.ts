// The data contract: what `prony report --format json` prints, as far as charts need it. The whole of it is described by
// schemas/report.json.

/** The version of the form that this viewer knows. */
export const FORMAT = 2;

export interface Estimate {
  value: number;
  low: number | null;
  high: number | null;
}

export interface Point {
  levels: Record<string, string>;
  server: string;
  stream: string;
  connections: number;
  trials: number;
  throughput: Estimate;
  schedule: { offered_per_second: number } | null;
  /** Trials that could not keep up with what was offered. */
  overloaded: number;
  latency_ms: Record<string, Estimate>;
  latency_curve: [share: number, ms: number][];
}

export interface Series {
  name: string;
  points: (number | null)[];
}

export interface Rung {
  label: string;
  /** Null: it is no number. */
  value: number | null;
}

export interface Group {
  title: string;
  stream: string;
  rungs: Rung[];
  series: Series[];
}

export interface Seconds {
  second: number[];
  end_s: number[];
  warm_up: number;
  throughput: number[];
  /** Empty where nothing is offered at times fixed beforehand. */
  offered: number[];
  p95_ms: (number | null)[];
  p99_ms: (number | null)[];
  errors: number[];
}

export interface Trial {
  number: number;
  block: number;
  server: string;
  levels: Record<string, string>;
  failure: string | null;
  streams: { name: string; seconds: Seconds }[];
}

/** Machine, client and servers second by second, of one trial of a treatment. */
export interface Sampled {
  about: string;
  /** Index in `trials`. */
  trial: number;
  interval_s: [number, number];
  at_s: number[];
  figures: Record<string, (number | null)[]>;
  /** How far each further member was behind, the longest of each second. */
  lag_ms: (number | null)[][];
}

export interface Report {
  format: number;
  axis: { kind: "rate" | "connections" | "number" | "names"; title: string };
  groups: Group[];
  points: Point[];
  /** The law of growth with connections, where one could be fitted. */
  scalings: { group: number; series: string; points: { connections: number; expected: number }[] }[];
  trials: Trial[];
  courses: Sampled[];
}

/** Texts by section and key; see crates/prony/src/report/words. */
export type Words = Record<string, Record<string, string>>;

/** The seconds of one stream in one trial, and the series that it belongs to. */
export interface Course {
  number: number;
  block: number;
  series: string;
  seconds: Seconds;
}

/** Trials of a group at one place of the axis, in the order of execution. */
export function coursesOf(report: Report, group: Group, place: number): Course[] {
  const courses = group.series.flatMap((series) => {
    const index = series.points[place];
    const point = index == null ? undefined : report.points[index];
    if (!point) return [];
    // Which stream it is stands among the levels of a point; a trial has all streams.
    const levels = Object.entries(point.levels).filter(([factor]) => factor !== "stream");
    const belongs = (trial: Trial) =>
      trial.failure === null &&
      trial.server === point.server &&
      levels.every(([factor, level]) => trial.levels[factor] === level);
    return report.trials.filter(belongs).flatMap((trial) => {
      const stream = trial.streams.find((one) => one.name === point.stream);
      return stream ? [{ number: trial.number, block: trial.block, series: series.name, seconds: stream.seconds }] : [];
    });
  });
  return courses.sort((a, b) => a.number - b.number);
}
