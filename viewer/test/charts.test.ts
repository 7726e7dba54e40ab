import { describe, expect, it } from "vitest";
import { bars, heightOf as heightOfBars, wrapped } from "../src/bars";
import { besideEachOther, chosen, type Row } from "../src/chart";
import type { Axis, Chart, Drawing, Line, Lines, Panel, Scale } from "../src/charts";
import { firstOf, optionOf, svgOf } from "../src/draw";
import { colour, flame, heightOf as heightOfFlame } from "../src/flame";
import { cells, shadeOf } from "../src/heat";
import { csvOf } from "../src/files";
import { escape, number, percentile, tick } from "../src/format";
import { inLanguage, preferred } from "../src/language";
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

describe("lines with one place", () => {
  const at = axis("Connections", "", "doubling", [{ at: 32, label: "32" }]);
  const one = drawing(at, [[32]], [panel([line("a", 0, [100], { low: [95], high: [105] }), line("b", 1, [300], { hollow: { 0: "overloaded" } })])]);
  it("become rows beside each other, each with its name, its look and its interval", () => {
    const placed = besideEachOther(one);
    expect(placed.x).toMatchObject({ scale: "names", ticks: [{ at: 0, label: "a" }, { at: 1, label: "b" }] });
    expect(placed.panels[0]?.lines).toMatchObject([
      { name: "a", look: 0, values: [100, null], low: [95, null], high: [105, null] },
      { name: "b", look: 1, values: [null, 300], hollow: { 1: "overloaded" } },
    ]);
    const { option, height } = optionOf(context, chart(one), []);
    expect(series(option).map(({ type, data }) => [type, data.length])).toEqual([["custom", 1], ["custom", 1]]);
    expect(height).toBeLessThan(150);
  });
  it("stay lines where there are several places, or something else is drawn beside", () => {
    expect(besideEachOther(ladder)).toBe(ladder);
    const offered = drawing(at, [[32]], [panel([line("a", 0, [100]), line("offered", null, [500])])]);
    expect(besideEachOther(offered)).toBe(offered);
  });
});

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

describe("bars", () => {
  const names = axis("mode", "", "names", [{ at: 0, label: "socket" }, { at: 1, label: "tcp, a new connection for each transaction" }]);
  const modes = drawing(names, [[0, 1]], [panel([
    line("a", 0, [100, 300], { stroke: "none", low: [90, 280], high: [110, 320], hollow: { 0: "overloaded" } }),
    line("b", 1, [120, null], { stroke: "none", low: [110, null], high: [130, null] }),
  ])]);
  const option = bars(context, modes);
  const all = option["series"] as { data: unknown[]; renderItem: (params: unknown, api: unknown) => { children: Record<string, Record<string, unknown>>[] } }[];
  it("stand below each other, the greatest first, and belong to names of any length", () => {
    expect((option["yAxis"] as { data: string[] }).data).toEqual(["tcp, a new connection\nfor each transaction", "socket"]);
    expect(all.map((one) => one.data)).toEqual([[[0, 300, 280, 320, 1], [1, 100, 90, 110, 0]], [[1, 120, 110, 130, 0]]]);
    expect(heightOfBars(context, modes)).toBeGreaterThan(2 * 2 * 17);
    expect(wrapped("innodb_flush_log_at_trx_commit=2", 120).every((part) => part.length * 7.6 <= 128)).toBe(true);
  });
  it("have intervals, marks of their server, and are hollow where something speaks against them", () => {
    const api = (value: number[]) => ({ value: (index: number) => value[index], coord: ([x, row]: [number, number]) => [x, row * 40 + 20] });
    const shapes = (of: number, row: number) => all[of]?.renderItem({ coordSys: { x: 0, width: 400 } }, api((all[of]?.data[row] ?? []) as number[])).children ?? [];
    const [bar, interval] = shapes(0, 0);
    expect(bar).toMatchObject({ type: "rect", shape: { x: 0, width: 300 }, style: { fill: "#0067b8" } });
    expect(interval).toMatchObject({ type: "line", shape: { x1: 280, x2: 320 } });
    expect(shapes(0, 1)[0]).toMatchObject({ style: { fill: "#ffffff", stroke: "#0067b8" } });
    expect(shapes(0, 0).at(-2)?.["type"]).toBe("circle");
    expect(shapes(1, 0).at(-2)?.["type"]).toBe("rect");
  });
  it("tell their numbers", () => {
    const { formatter } = option["tooltip"] as { formatter: (hovered: unknown[]) => string };
    expect(formatter([{ seriesIndex: 0, color: "red", value: [1, 100, 90, 110, 0] }])).toMatch(/socket.*100 \(90.0 – 110\) \/s, overloaded/);
  });
  it("are marks around 1 where they are ratios, in their own order, below the names of their groups", () => {
    const rungs = axis("Connections", "", "names", [{ at: 0, label: "reads" }, { at: 1, label: "8" }, { at: 2, label: "64" }]);
    const ratio = { y: axis("ratio to a", "", "ratio") };
    const forest = bars(context, drawing(rungs, [[0, 1, 2]], [panel([line("b", 1, [null, 1.1, 1.4], { low: [null, 0.9, 1.2], high: [null, 1.3, 1.6] })], ratio)]));
    expect((forest["yAxis"] as { data: string[] }).data).toEqual(["{head|reads}", "8", "64"]);
    const { min, max } = forest["xAxis"] as { min: number; max: number };
    expect(min).toBeLessThan(0.9);
    expect(max).toBeGreaterThan(1.6);
    expect(JSON.stringify((forest["series"] as unknown[]).at(-1))).toContain('"xAxis":1');
  });
});

describe("throughput against response time", () => {
  const of = drawing(axis("transactions per second", "/s", "from_zero"), [[1000, 1500]], [
    panel([line("a", 0, [2, 9], { left: [950, 1400], right: [1050, 1600], labels: ["8", "64"] })], { y: axis("p95", "ms", "logarithmic") }),
  ]);
  const [points, lying] = lines(context, of)["series"] as { data: unknown[]; label: { formatter: (of: { dataIndex: number }) => string } }[];
  it("says at each point which it is, with intervals both ways", () => {
    expect(points?.label.formatter({ dataIndex: 1 })).toBe("64");
    expect(lying?.data).toEqual([[1000, 2, 950, 1050], [1500, 9, 1400, 1600]]);
  });
});

describe("a page of several languages", () => {
  const both = { title: { in: { en: "One", "zh-CN": "一" } }, values: [1, { in: { en: "x", "zh-CN": "y" } }], none: null };
  it("has each of them whole", () => {
    expect(inLanguage(both, "zh-CN")).toEqual({ title: "一", values: [1, "y"], none: null });
    expect(inLanguage(both, "en")).toEqual({ title: "One", values: [1, "x"], none: null });
  });
  it("opens in what its reader likes most", () => {
    expect(preferred(["en", "zh-CN"], ["de", "zh-TW", "en"])).toBe("zh-CN");
    expect(preferred(["en", "zh-CN"], ["en-GB", "zh"])).toBe("en");
    expect(preferred(["en", "zh-CN"], ["de"])).toBeUndefined();
  });
});

describe("the numbers of a chart", () => {
  it("are a table that no spreadsheet takes for formulas", () => {
    const text = csvOf(chart(drawing(connections, [[4, 16]], [panel([line('=a"b', 0, [1, null], { low: [0.5, null], high: [2, null] })])])), []);
    expect(text.split("\r\n")).toEqual(['what,of,note,Connections,value,low,high,unit,remark', 'transactions per second,"\'=a""b",,4,1,0.5,2,/s,', ""]);
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

describe("a map of response times", () => {
  const heat = { title: "transactions per second", until: [1, 2], edges: [1, 1.26, 1.58, 2], first: [1, 0], values: [[10, 0], [1, 100, 1000]] };
  const of = drawing(axis("Seconds", "s", "from_zero"), [], [
    panel([], { title: "<a>", y: axis("Response time, ms", "ms", "logarithmic"), heat }),
    panel([], { title: "b", y: axis("Response time, ms", "ms", "logarithmic"), heat }),
  ], { shades: [{ from: 0, until: 1, name: "warm-up", when: [] }] });
  it("has a cell for each value that is not 0, between the edges of its column and row", () => {
    expect(cells(heat)).toEqual([[0, 1, 1.26, 1.58, 10], [1, 2, 1, 1.26, 1], [1, 2, 1.26, 1.58, 100], [1, 2, 1.58, 2, 1000]]);
  });
  it("has lighter colours for less, by factors", () => {
    expect([1, 9, 11, 999, 1000].map((value) => shadeOf(value, 1, 1000, 3))).toEqual([0, 0, 1, 2, 2]);
    expect(shadeOf(5, 5, 5, 3)).toBe(2);
  });
  it("is drawn below each other with one legend, and tells numbers with units", () => {
    const { option, height } = optionOf(context, chart(of), []);
    expect(series(option).map((one) => one.data.length)).toEqual([4, 4]);
    expect(height).toBeGreaterThan(2 * 150);
    const { formatter } = option["tooltip"] as { formatter: (item: unknown) => string };
    expect(formatter({ seriesIndex: 0, value: [1, 2, 1, 1.26, 1] })).toMatch(/&lt;a&gt;, 1 – 2 s.*1\.00 – 1\.26 ms.*1\.00 \/s/);
    expect(svgOf(chart(of), 600)).toContain("transactions per second");
  });
  it("is handed over as numbers", () => {
    const lines = csvOf(chart(of), []).split("\r\n");
    expect(lines[0]).toBe('of,"from, s","until, s","from, ms","until, ms",transactions per second');
    expect([lines[1], lines.length]).toEqual(["<a>,0,1,1.26,1.58,10", 10]);
  });
});
