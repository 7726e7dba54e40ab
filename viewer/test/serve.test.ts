import { expect, test } from "vitest";
import { chartOf, host_cells, sentence } from "../src/serve/live";
import { clock, length } from "../src/serve/time";
import { Course, type Line, type Trial } from "../src/serve/told";
import { LANGUAGES } from "../src/serve/words";

const { words } = LANGUAGES.en;
const trial = (after: number, place: number, left: number): Trial & Line =>
  ({ after, told: "trial", levels: "pool, connections 64", streams: ["main"], place, total: 4, takes: 5, left }) as Trial & Line;
const second = (after: number, second: number, rate: number): Line =>
  ({ after, told: "second", stream: 0, second, warm_up: second < 2, rate, times: [1, 2, 3], errors: 0 });

test("what is known of a run follows from what it told", () => {
  const course = new Course();
  course.heed({ after: 0, told: "began", servers: ["a"], total: 3, left: 30 });
  course.heed({ after: 1, told: "added", levels: "x", because: "precision" });
  expect(course.total).toBe(4);
  course.heed(trial(2, 1, 24));
  for (const at of [0, 1, 2]) course.heed(second(3 + at, at, 100 + at));
  expect(course.seconds.map(({ rate }) => rate)).toEqual([100, 101, 102]);
  expect(course.left).toBe(24 - 3);
  course.heed({ after: 8, told: "finished", levels: "x", figures: { rate: 101, p95: 2 }, said: {}, done: 1, total: 4, left: 18 });
  expect([course.done, course.left, course.finished.length]).toEqual([1, 18, 1]);
  course.heed(trial(9, 2, 17));
  expect(course.seconds).toEqual([]);
});

test("loading is one line of the log, however often it tells", () => {
  const course = new Course();
  for (const rows of [10, 20, 30]) course.heed({ after: rows, told: "loading", server: "a", rows, rows_total: 40 });
  expect(course.events.map((line) => sentence(words, "en", line))).toEqual(["a: loading data, 75 %"]);
});

test("the chart has the seconds that were told", () => {
  const seconds = [0, 1, 2].map((at) => second(at, at, 100 * at)).filter((line) => line.told === "second");
  const { drawing } = chartOf(words, trial(0, 1, 0), seconds);
  if (drawing.kind !== "lines") throw new Error("lines");
  expect(drawing.places).toEqual([[0, 1, 2]]);
  expect(drawing.panels[0]?.lines.map(({ values }) => values)).toEqual([[0, 100, 200]]);
  expect(drawing.panels[1]?.lines.map(({ name, values }) => [name, values[0]])).toEqual([["median", 1], ["p95", 2], ["p99", 3]]);
  expect(drawing.shades[0]).toMatchObject({ from: 0, until: 2, name: "warm-up" });
});

test("load hosts are shown as they were told last, and forgotten with their trial", () => {
  const course = new Course();
  const host = { host: "a:7433", connections: 50, busy: 1.5, own: 0.25, waiting: 0.1, bytes: 12_340_000, lag: null };
  course.heed(trial(0, 1, 9));
  course.heed({ after: 1, told: "load_hosts", hosts: [{ ...host, busy: 1 }], total: 1 });
  course.heed({ after: 2, told: "load_hosts", hosts: [{ ...host, host: "b:7433", lag: 4.4 }, host], total: 20 });
  expect(course.hosts.map((one) => host_cells(words, one))).toEqual([
    ["b:7433", "50", "1.50", "0.25", "0.10", "12.3", "lags: no results for 4 s"],
    ["a:7433", "50", "1.50", "0.25", "0.10", "12.3", ""],
  ]);
  expect(words.load_hosts(course.hosts.length, course.hosts_total)).toMatch("2 of 20");
  expect(course.events.length).toBe(1);
  course.heed(trial(9, 2, 1));
  expect([course.hosts, course.hosts_total]).toEqual([[], 0]);
});

test("times are told no finer than they are known", () => {
  expect([5, 119, 121, 7199, 7300].map((seconds) => length(words, seconds))).toEqual(["5 s", "119 s", "3 min", "2 h 0 min", "2 h 2 min"]);
  expect([7, 61, 3723].map(clock)).toEqual(["0:07", "1:01", "1:02:03"]);
});
