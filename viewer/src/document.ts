// The data contract: what `prony report --format json` prints, as far as charts need it. Its types are made from the JSON
// schema that Prony makes of the report itself (report.ts): what is named here is there.

import type * as whole from "./report";
import type { Seconds } from "./report";

/** The version of the form that this viewer knows. */
export const FORMAT = 2;

export type { Estimate, Rung, Seconds, Series } from "./report";

export type Group = Pick<whole.Group, "title" | "stream" | "rungs" | "series">;

export type Point = Pick<
  whole.Point,
  "levels" | "server" | "stream" | "connections" | "trials" | "throughput" | "overloaded" | "latency_ms" | "latency_curve"
> & { schedule: Pick<whole.Schedule, "offered_per_second"> | null };

export type Trial = Pick<whole.Trial, "number" | "block" | "server" | "levels" | "failure"> & {
  streams: Pick<whole.TrialStream, "name" | "seconds">[];
};

/** Machine, client and servers second by second, of one trial of a treatment. */
export type Sampled = Pick<whole.Course, "about" | "trial" | "interval_s" | "at_s" | "figures" | "lag_ms">;

export interface Report extends Pick<whole.Report, "format"> {
  axis: Pick<whole.Axis, "kind" | "title">;
  groups: Group[];
  points: Point[];
  /** The law of growth with connections, where one could be fitted. */
  scalings: (Pick<whole.Scaling, "group" | "series"> & { points: Pick<whole.FittedPoint, "connections" | "expected">[] })[];
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
