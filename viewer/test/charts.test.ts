import { describe, expect, it } from "vitest";
import { chosen, type Row } from "../src/chart";
import type { Axis, Chart, Drawing, Line, Lines, Panel, Scale } from "../src/charts";
import { firstOf, optionOf, svgOf } from "../src/draw";
import { colour, flame, heightOf as heightOfFlame } from "../src/flame";
import { escape, number, percentile, tick } from "../src/format";
import { around, bounded, type Context, heightOf, legendRest, lines, logarithmic } from "../src/lines";
import { heightOf as heightOfPanels, panels } from "../src/panels";
import { theme } from "../src/theme";

const context: Context = { theme: theme(false), width: 500 };

const axis = (title: string, unit: string, scale: Scale, ticks: Axis["ticks"] = []): Axis => ({ title, unit, scale, ticks });
const line = (name: string, look: number | null, values: Line["values"], more: Partial<Line> = {}): Line => ({
  name, look, values, stroke: "solid", has_points: true, over_gaps: false, at: 0, ...more,
});
const panel = (of: Line[], more: Partial<Panel> = {}): Panel => ({
  title: "", y: axis("transactions per second", "/s", "from_zero"), stacked: false, lines: of, when: [], ...more,
});
const drawing = (x: Axis, places: number[][], all: Panel[], more: Partial<Lines> = {}): Extract<Drawing, { kind: "lines" }> => ({
  kind: "lines", choices: [], x, places, panels: all, shades: [], marks: [], ...more,
});
const chart = (of: Chart["drawing"]): Chart => ({ id: "one", title: "One", about: "", drawing: of });

const connections = axis("Connections", "", "doubling", [{ at: 4, label: "4" }, { at: 16, label: "16" }]);
const ladder = drawing(connections, [[4, 16]], [
  panel([
    line("a", 0, [100, 300], { low: [95, null], high: [105, null], hollow: { 1: "overloaded" } }),
    line("<b>", 1, [110, null], { low: [104, null], high: [116, null] }),
    line("offered", null, [500, 500], { stroke: "dashed", has_points: false }),
  ]),
]);

const series = (option: Record<string, unknown>) => option["series"] as { name: string; type: string; data: unknown[] }[];

describe("numbers", () => {
  it("read like the rest of the report, in an engine that knows no languages too", () => {
    expect([1234.4, 123.4, 12.34, 1.234, 0.01234, -1234567, NaN].map(number)).toEqual(["1,234", "123", "12.3", "1.23", "0.012", "-1,234,567", "–"]);
    expect([1024, 0.5, 1e6, 1234.5678, 1e-7].map(tick)).toEqual(["1,024", "0.5", "1,000,000", "1,234.57", "0"]);
    expect(percentile(0.999)).toBe("99.9 %");
  });
  it("let no name become markup", () => {
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

describe("an axis of values", () => {
  const row = (value: number, low: number, high: number): Row => [0, value, low, high];
  it("is not made for error bars alone", () => {
    expect(bounded([row(100, 90, 110)])).toBeUndefined();
    expect(bounded([row(212, 0, 177_000), row(462, 0, 1860)])).toBe(1000);
  });
  it("that does not begin at 0 is not filled by little noise", () => {
    const { min, max } = around([row(100, 100, 100), row(101, 101, 101)]);
    expect(max - min).toBeGreaterThanOrEqual(10);
    expect([min, max]).toEqual([95, 110]);
    expect(around([row(100, 0, 10_000)]).max).toBeLessThan(120);
  });
});

describe("lines along an axis", () => {
  it("have error bars, a gap where there is no value, and hollow points", () => {
    const [one, bars, other] = series(lines(context, ladder));
    expect(one?.data[0]).toEqual([4, 100, 95, 105]);
    expect(one?.data[1]).toMatchObject({ value: [16, 300, null, null], itemStyle: { borderColor: expect.any(String) } });
    expect(bars?.data).toEqual([[4, 100, 95, 105]]);
    expect(other?.data[1]).toEqual([16, null, null, null]);
  });
  it("tell numbers with intervals, units and reasons, and escape names", () => {
    const { formatter } = lines(context, ladder)["tooltip"] as { formatter: (hovered: unknown[]) => string };
    const hover = (seriesIndex: number, dataIndex: number, value: unknown) => formatter([{ seriesIndex, seriesType: "line", dataIndex, color: "red", value }]);
    expect(hover(2, 0, [4, 110, 104, 116])).toMatch(/Connections: 4.*&lt;b&gt;.*110 \(104 – 116\) \/s/);
    expect(hover(0, 1, [16, 300, null, null])).toContain("300 /s, overloaded");
    expect(hover(4, 1, [16, 500, null, null])).toMatch(/offered.*500 \/s/);
  });
  it("put names side by side and join nothing", () => {
    const names = axis("mode", "", "names", [{ at: 0, label: "socket" }, { at: 1, label: "tcp" }]);
    const option = lines(context, drawing(names, [[0, 1]], [panel([line("a", 0, [100, 300], { stroke: "none" })])]));
    expect((option["xAxis"] as unknown[])[0]).toMatchObject({ type: "category", data: ["socket", "tcp"] });
    expect(series(option)[0]).toMatchObject({ data: [[0, 100, null, null], [1, 300, null, null]], lineStyle: { width: 0 } });
  });
  it("spread the tail of a distribution", () => {
    const option = lines(context, drawing(axis("share", "", "tail"), [[0, 0.5, 0.99]], [panel([line("a", 0, [1, 2, 9])])]));
    expect(series(option)[0]?.data).toEqual([[1, 1, null, null], [2, 2, null, null], [expect.closeTo(100), 9, null, null]]);
  });
  it("mark where something changed, and shade what is not measured", () => {
    const seconds = drawing(axis("seconds", "s", "from_zero"), [[1, 2, 3]], [panel([line("a", 0, [1, 2, 3])])], {
      shades: [{ from: 0, until: 1, name: "warm-up", when: [] }],
      marks: [{ at: 2, text: "-10 %", is_good: false }],
    });
    const all = lines(context, seconds)["series"] as Record<string, { data: unknown[][] }>[];
    expect(all.find((one) => one["markArea"])?.["markArea"]?.data).toEqual([[{ name: "warm-up", xAxis: 0 }, { xAxis: 1 }]]);
    expect(all.find((one) => one["markLine"])?.["markLine"]?.data).toMatchObject([{ xAxis: 2, label: { formatter: "-10 %", color: "#b3261e" } }]);
  });
});

describe("a choice", () => {
  const both = drawing(connections, [[4, 16]], [
    panel([line("a", 0, [1, 2])], { when: [[0, 0]] }),
    panel([line("a", 0, [3, 4])], { when: [[0, 1]] }),
  ], { choices: [{ title: "Percentile", options: ["p50", "p95"], first: 1 }] });
  it("shows what belongs to it", () => {
    expect(firstOf(chart(both))).toEqual([1]);
    expect(chosen(both, [0]).panels.map((one) => one.lines[0]?.values)).toEqual([[1, 2]]);
    const { option } = optionOf(context, chart(both), [1]);
    expect(series(option)[0]?.data).toEqual([[4, 3, null, null], [16, 4, null, null]]);
  });
});

describe("many panels", () => {
  const titled = (title: string, of: Line[], more: Partial<Panel> = {}) => panel(of, { title, y: axis("", "CPU", "from_zero"), ...more });
  const course = drawing(axis("seconds", "s", "from_zero"), [[1, 2, 3]], [
    titled("Throughput", [line("Throughput", 0, [5, 9, 10])]),
    titled("Processors", [line("user", 0, [0.5, 1, null]), line("system", 1, [0.1, 0.2, 0.3])], { stacked: true }),
    titled("Lag", [line("replica 1", 0, [1, null, 5], { over_gaps: true })]),
  ], { shades: [{ from: 0, until: 1, name: "warm-up", when: [] }, { from: 3, until: null, name: "", when: [] }] });
  const drawn = panels(context, course);
  const all = drawn["series"] as { name: string; stack?: string; connectNulls: boolean; data: unknown[] }[];
  it("stand on one axis, each with its title", () => {
    expect(drawn["title"]).toHaveLength(3);
    expect((drawn["xAxis"] as { min: number; max: number }[]).every(({ min, max }) => min === 0 && max === 3)).toBe(true);
    expect(all.find((one) => one.name === "replica 1")).toMatchObject({ connectNulls: true, data: [[1, 1], [2, null], [3, 5]] });
  });
  it("stack what is a part of a whole", () => {
    expect(all.filter((one) => one.stack !== undefined).map((one) => one.name)).toEqual(["user", "system"]);
  });
  it("stand in two columns where there is room", () => {
    expect(heightOfPanels({ ...context, width: 1200 }, course)).toBeLessThan(heightOfPanels(context, course));
    expect(heightOf(context, ladder)).toBe(350);
  });
});

describe("a flame graph", () => {
  const of = { kind: "flame" as const, samples: 8, frames: [{ name: "m", depth: 0, from: 0, samples: 8 }, { name: "<c>_[k]", depth: 1, from: 4, samples: 4 }] };
  it("has a frame for each function, and tells its share", () => {
    const option = flame(context, of);
    expect(series(option)[0]?.data).toEqual([[0, 0, 8], [4, 1, 4]]);
    const { formatter } = option["tooltip"] as { formatter: (hovered: { dataIndex: number }) => string };
    expect(formatter({ dataIndex: 1 })).toMatch(/50\.0 %.*&lt;c&gt;_\[k\]/);
    expect(heightOfFlame(of)).toBeGreaterThan(2 * 16);
    expect(colour("x_[k]")).toMatch(/^hsl\((19[5-9]|2[0-3]\d), 55%/);
  });
});

describe("a file", () => {
  it("shows the same chart without a page", () => {
    const svg = svgOf(chart(ladder), 720);
    expect(svg).toMatch(/^<svg width="720" height="350"/);
    for (const text of [">a<", ">&lt;b&gt;<", ">Connections<", ">16<", "#0067b8", "#c2410c"]) expect(svg).toContain(text);
    // an attribute that ends too early makes a file that nobody can open
    const tags = svg.match(/<\w[^>]*>/g) ?? [];
    expect(tags.filter((tag) => !/^<\w+(\s+[\w:-]+="[^"<]*")*\s*\/?>$/.test(tag))).toEqual([]);
    expect(tags.length).toBeGreaterThan(20);
    expect(svgOf(chart({ kind: "flame", samples: 2, frames: [{ name: "mysqld", depth: 0, from: 0, samples: 2 }] }), 720)).toContain(">mysqld<");
  });
});

describe("a legend", () => {
  it("takes as many rows as its names need", () => {
    expect(legendRest(500, ["a", "b"])).toBe(0);
    expect(legendRest(500, Array.from({ length: 6 }, () => "mariadb-10.11"))).toBe(28);
  });
});
