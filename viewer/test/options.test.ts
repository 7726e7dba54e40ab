import { describe, expect, it } from "vitest";
import { counted, course, heightOf } from "../src/course";
import type { Report } from "../src/document";
import { coursesOf } from "../src/document";
import { escape, number, percentile, tick } from "../src/format";
import { bounded, type Context, distribution, latency, legendRest, logarithmic, throughput, timeline } from "../src/options";
import { theme } from "../src/theme";

const point = (server: string, connections: number, value: number, half: number | null) => {
  const estimate = { value, low: half && value - half, high: half && value + half };
  return {
    levels: { server, connections: String(connections), workload: "w" },
    server,
    stream: "main",
    connections,
    trials: 3,
    throughput: estimate,
    schedule: null as { offered_per_second: number } | null,
    overloaded: 0,
    latency_ms: { p95: estimate },
    latency_curve: [[0, 1], [0.5, 2], [0.99, 9], [1, 12]] as [number, number][],
  };
};

const trial = (number: number, server: string, failure: string | null) => ({
  number,
  block: 0,
  server,
  levels: { server, connections: "4", workload: "w" },
  failure,
  streams: ["other", "main"].map((name) => ({
    name,
    seconds: {
      second: [0, 1, 2],
      end_s: [1, 2, 3],
      warm_up: 1,
      throughput: name === "main" ? [5, 9, 10] : [1, 1, 1],
      offered: [] as number[],
      p95_ms: [1, 2, 3],
      p99_ms: [2, null, 4],
      errors: [0, 0, 0],
    },
  })),
});

const report: Report = {
  format: 2,
  axis: { kind: "connections", title: "Connections" },
  points: [point("a", 4, 100, 5), point("a", 16, 300, null), point("<b>", 4, 110, 6)],
  groups: [
    {
      title: "w",
      stream: "main",
      rungs: [
        { label: "4", value: 4 },
        { label: "16", value: 16 },
      ],
      series: [
        { name: "a", points: [0, 1] },
        { name: "<b>", points: [2, null] },
      ],
    },
  ],
  scalings: [],
  trials: [trial(0, "a", null), trial(1, "<b>", null), trial(2, "a", "it fell over")],
  courses: [
    {
      about: "a, 4",
      trial: 0,
      interval_s: [1, 3],
      at_s: [1, 2, 3],
      figures: { "cpu/user": [0.5, 1, null], "cpu/system": [0.1, 0.2, 0.3], "status/Questions": [1, 2, 3] },
      lag_ms: [[1, null, 5]],
    },
  ],
};
const group = report.groups[0]!;
const context: Context = { report, words: {}, theme: theme(false), width: 500 };
const series = (option: Record<string, unknown>) => option["series"] as { name: string; type: string; data: unknown[] }[];

describe("numbers", () => {
  it("reads like the rest of the report", () => {
    expect([1234.4, 123.4, 12.34, 1.234, 0.01234, NaN].map(number)).toEqual(["1,234", "123", "12.3", "1.23", "0.012", "–"]);
    expect(tick(1024)).toBe("1,024");
    expect(percentile(0.999)).toBe("99.9 %");
  });
  it("lets no name become markup", () => {
    expect(escape('<b>&"')).toBe("&lt;b&gt;&amp;&quot;");
  });
});

describe("a logarithmic axis", () => {
  it("goes from just below to just above, by 1, 2, 5", () => {
    expect(logarithmic([7, 300, null, 40])).toEqual({ type: "log", min: 5, max: 500, ticks: [5, 10, 20, 50, 100, 200, 500] });
  });
  it("has powers of ten alone over a wide range", () => {
    expect(logarithmic([0.3, 90000])["ticks"]).toEqual([1, 10, 100, 1000, 10000, 100000]);
  });
  it("has some room for a single value", () => {
    expect(logarithmic([2])).toMatchObject({ min: 2, max: 5 });
  });
});

describe("charts over connections", () => {
  it("have a line and error bars for each server, and a gap where there is no point", () => {
    const [line, bars, other] = series(throughput(context, group));
    expect(line?.data).toEqual([[4, 100, 95, 105], [16, 300, null, null]]);
    expect(bars?.data).toEqual([[4, 100, 95, 105]]);
    expect(other?.data[1]).toEqual([16, null, null, null]);
  });
  it("have a gap for a percentile that nobody estimated", () => {
    expect(series(latency(context, group, "p99"))[0]?.data[0]).toEqual([4, null, null, null]);
  });
  it("escape names in tooltips", () => {
    const { formatter } = throughput(context, group)["tooltip"] as { formatter: (hovered: unknown[]) => string };
    const html = formatter([{ seriesType: "line", seriesName: "<b>", color: "red", value: [4, 110, 104, 116] }]);
    expect(html).toContain("&lt;b&gt;");
    expect(html).toContain("110 (104 – 116) /s");
  });
});

describe("other charts", () => {
  it("spread the tail of a distribution, and draw nothing where there is no point", () => {
    expect(series(distribution(context, group, 0))[0]?.data).toEqual([[1, 1], [2, 2], [expect.closeTo(100), 9]]);
    expect(series(distribution(context, group, 1))[1]?.data).toEqual([]);
  });
  it("show trials that ran, with gaps", () => {
    expect(coursesOf(report, group, 0).map((one) => one.number)).toEqual([0, 1]);
    const lines = series(timeline(context, group, 0)).filter((one) => one.name);
    expect(lines.length).toBe(4);
    expect(lines[1]?.data).toEqual([[1, 2], [2, null], [3, 4]]);
  });
});

describe("open loops and names", () => {
  const loaded = structuredClone(report);
  for (const one of loaded.points) one.schedule = { offered_per_second: 500 };
  loaded.points[1]!.overloaded = 3;
  for (const one of loaded.trials) for (const stream of one.streams) stream.seconds.offered = [500, 500, 500];
  const open: Context = { ...context, report: loaded };
  it("shows what was offered beside what was done, and an overloaded point hollow", () => {
    const [line, , , , offered] = series(throughput(open, group));
    expect(offered).toMatchObject({ name: "offered", data: [[4, 500], [16, 500]] });
    expect(line?.data[1]).toMatchObject({ value: [16, 300, null, null], itemStyle: { borderColor: expect.any(String) } });
    const { formatter } = throughput(open, group)["tooltip"] as { formatter: (hovered: unknown[]) => string };
    expect(formatter([{ seriesType: "line", seriesName: "a", color: "red", value: [16, 300, null, null] }])).toContain(", overloaded");
    expect(series(timeline(open, group, 0)).some((one) => one.name === "offered")).toBe(true);
  });
  it("puts names side by side and joins nothing", () => {
    const named = structuredClone(report);
    named.axis = { kind: "names", title: "mode" };
    named.groups[0]!.rungs = [{ label: "socket", value: null }, { label: "tcp", value: null }];
    const option = throughput({ ...context, report: named }, named.groups[0]!);
    expect(option["xAxis"]).toMatchObject({ type: "category", data: ["socket", "tcp"] });
    expect(series(option)[0]).toMatchObject({ data: [[0, 100, 95, 105], [1, 300, null, null]], lineStyle: { width: 0 } });
  });
});

describe("one trial second by second", () => {
  const [of] = report.courses;
  const drawn = course(context, of!, "status/Questions");
  const lines = drawn["series"] as { name: string; stack?: string; xAxisIndex: number; data: [number, number | null][] }[];
  const titles = drawn["title"] as { text: string }[];

  it("has a panel for each thing that is known, on one time axis", () => {
    expect(titles).toHaveLength(5);
    const axes = drawn["xAxis"] as { min: number; max: number }[];
    expect(axes.every(({ min, max }) => min === 0 && max === 3)).toBe(true);
    expect(lines.find((line) => line.name === "Questions")?.data).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  });

  it("stacks the kinds of processor time", () => {
    expect(lines.filter((line) => line.stack !== undefined).map((line) => line.name)).toEqual(["user", "system"]);
  });

  it("tells the streams of the trial apart", () => {
    expect(lines.slice(0, 2).map((line) => line.data[1])).toEqual([
      [2, 1],
      [2, 9],
    ]);
  });

  it("stands in two columns where there is room", () => {
    expect(heightOf({ ...context, width: 1200 }, of!, "")).toBeLessThan(heightOf(context, of!, ""));
    expect(counted(of!)).toEqual(["status/Questions"]);
  });
});

describe("an axis", () => {
  it("is not made for error bars alone", () => {
    expect(bounded([{ value: 100, low: 90, high: 110 }])).toBeUndefined();
    expect(bounded([{ value: 212, low: 0, high: 177_000 }, { value: 462, low: 0, high: 1860 }])).toBe(1000);
  });
});

describe("a legend", () => {
  it("takes as many rows as its names need", () => {
    expect(legendRest(500, ["a", "b"])).toBe(0);
    expect(legendRest(500, Array.from({ length: 6 }, () => "mariadb-10.11"))).toBe(28);
  });
});
