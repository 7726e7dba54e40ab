// From the report to the options of each chart. Pure: no page, no ECharts instance.

import type { Estimate, Group, Point, Report, Words } from "./document";
import { coursesOf } from "./document";
import { escape, number, percentile, tick } from "./format";
import { SYMBOLS, type Theme } from "./theme";

/** What a chart is made from. */
export interface Context {
  report: Report;
  words: Words;
  theme: Theme;
  /** Width of the chart in pixels: a narrow one has fewer ticks. */
  width: number;
}

/** ECharts' own option type allows anything; its parts are checked where they are built. */
export type Option = Record<string, unknown>;

type Row = [x: number, value: number | null, low: number | null, high: number | null];

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif';

export function word(context: Context, section: string, key: string): string {
  return context.words[section]?.[key] ?? key;
}

/** Colour and symbol of a series are the same in every chart of a report. */
function look(context: Context, name: string): { colour: string; symbol: string } {
  const names = [...new Set(context.report.groups.flatMap((group) => group.series.map((series) => series.name)))];
  const place = Math.max(0, names.indexOf(name));
  const { series } = context.theme;
  return { colour: series[place % series.length] ?? "", symbol: SYMBOLS[place % SYMBOLS.length] ?? "circle" };
}

/** Gap between the entries of a legend, and height of one of its rows, px. */
const LEGEND_GAP = 14;
const LEGEND_ROW = 28;

/** Height that a legend takes beyond its first row, px: names are as wide as letters of 13 px are on average, or a little less. */
export function legendRest(width: number, names: string[]): number {
  let rows = 1;
  let used = 0;
  for (const name of names) {
    const letters = [...name].reduce((sum, letter) => sum + (letter > "\u2e7f" ? 13 : 7.6), 0);
    const entry = 22 + 5 + letters + LEGEND_GAP;
    if (used > 0 && used + entry > width) {
      rows += 1;
      used = 0;
    }
    used += entry;
  }
  return (rows - 1) * LEGEND_ROW;
}

/** What all charts share. */
function base(context: Context, legend: string[]): Option {
  const { theme } = context;
  return {
    animation: false,
    textStyle: { fontFamily: FONT, color: theme.text },
    legend: {
      data: legend,
      top: 0,
      left: 0,
      itemWidth: 22,
      itemGap: LEGEND_GAP,
      icon: undefined,
      inactiveColor: theme.line,
      textStyle: { color: theme.text, fontSize: 13 },
    },
    tooltip: {
      trigger: "axis",
      confine: true,
      backgroundColor: theme.surface,
      borderColor: theme.line,
      textStyle: { color: theme.text, fontSize: 13, fontFamily: FONT },
      axisPointer: { type: "line", lineStyle: { color: theme.faint } },
    },
  };
}

function axis(context: Context, name: string, more: Option): Option {
  const { theme } = context;
  return {
    name,
    nameTextStyle: { color: theme.faint, fontSize: 12 },
    axisLine: { show: true, lineStyle: { color: theme.faint } },
    axisTick: { lineStyle: { color: theme.faint } },
    axisLabel: { color: theme.faint, fontSize: 12, hideOverlap: true },
    splitLine: { lineStyle: { color: theme.line } },
    ...more,
  };
}

/** The horizontal axis: below, its name under it in the middle. */
export function below(context: Context, name: string, more: Option): Option {
  return axis(context, name, { nameLocation: "middle", nameGap: 30, splitLine: { show: false }, ...more });
}

/** The vertical axis, its name above it. */
export function beside(context: Context, name: string, more: Option): Option {
  return axis(context, name, {
    nameLocation: "end",
    nameGap: 12,
    nameTextStyle: { color: context.theme.faint, fontSize: 12, align: "left", padding: [0, 0, 0, -8] },
    ...more,
  });
}

/** A logarithmic axis from just below the smallest value to just above the largest, with ticks at 1, 2, 5, 10 and so on. */
export function logarithmic(values: (number | null | undefined)[]): Option {
  const known = values.filter((value): value is number => typeof value === "number" && value > 0);
  if (known.length === 0) return { type: "log" };
  const steps: number[] = [];
  const [low, high] = [Math.min(...known), Math.max(...known)];
  for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.ceil(Math.log10(high)) + 1; power++) {
    for (const digit of [1, 2, 5]) steps.push(Number(`${digit}e${power}`));
  }
  const first = steps.findLastIndex((step) => step <= low);
  const last = steps.findIndex((step) => step >= high && step > (steps[first] ?? 0));
  let ticks = steps.slice(first, last + 1);
  // Over many powers of ten the powers alone are enough.
  if (ticks.length > 9) ticks = ticks.filter((step) => Number.isInteger(Math.round(Math.log10(step) * 1e9) / 1e9));
  return { type: "log", min: steps[first], max: steps[last], ticks };
}

/** Where a rung stands on the horizontal axis: names one after another. */
function placeOf(group: Group, place: number): number {
  return group.rungs[place]?.value ?? place;
}

/** The horizontal axis with a tick at each rung. What doubles from rung to rung gets a logarithmic one. */
function rungs(context: Context, group: Group): Option {
  const { axis } = context.report;
  if (axis.kind === "names") {
    return below(context, axis.title, {
      type: "category",
      data: group.rungs.map((rung) => rung.label),
      axisLabel: { color: context.theme.faint, fontSize: 11, interval: 0, rotate: group.rungs.length > 3 ? 25 : 0, hideOverlap: false },
      nameGap: group.rungs.length > 3 ? 62 : 30,
    });
  }
  const values = group.rungs.map((rung) => rung.value ?? 0);
  const first = values[0] ?? 1;
  const last = values.at(-1) ?? 1;
  const marks = {
    axisLabel: { color: context.theme.faint, fontSize: 12, hideOverlap: true, formatter: tick, customValues: values },
    axisTick: { lineStyle: { color: context.theme.faint }, customValues: values },
  };
  if (first > 0 && (axis.kind === "connections" || last / first > 8)) {
    return below(context, axis.title, { type: "log", logBase: 2, min: first / 1.25, max: last * 1.25, ...marks });
  }
  const room = (last - first || Math.abs(last) || 1) * 0.06;
  return below(context, axis.title, { type: "value", min: first - room, max: last + room, ...marks });
}

/** The vertical logarithmic axis of these values. */
function besideLogarithmic(context: Context, name: string, values: (number | null | undefined)[], more: Option = {}): Option {
  const { ticks, ...range } = logarithmic(values);
  const { faint } = context.theme;
  const label = { color: faint, fontSize: 12, hideOverlap: true, formatter: tick };
  return beside(context, name, {
    ...range,
    axisLabel: ticks ? { ...label, customValues: ticks } : label,
    axisTick: { lineStyle: { color: faint }, ...(ticks ? { customValues: ticks } : {}) },
    ...more,
  });
}

/** A short vertical line with caps for each interval. */
function whiskers(server: string, rows: Row[], colour: string, axes: Option = {}): Option {
  return {
    name: server,
    type: "custom",
    silent: true,
    clip: true,
    data: rows.filter((row) => row[2] !== null && row[3] !== null),
    encode: { x: 0, y: [2, 3] },
    itemStyle: { color: colour },
    tooltip: { show: false },
    z: 3,
    renderItem: (
      _: unknown,
      api: { value: (index: number) => number; coord: (point: [number, number]) => [number, number] },
    ) => {
      const [x, low] = api.coord([api.value(0), api.value(2)]);
      const [, high] = api.coord([api.value(0), api.value(3)]);
      const style = { stroke: colour, lineWidth: 1.5, fill: "none" };
      const line = (x1: number, y1: number, x2: number, y2: number) => ({
        type: "line",
        shape: { x1, y1, x2, y2 },
        style,
      });
      return {
        type: "group",
        children: [line(x, low, x, high), line(x - 5, low, x + 5, low), line(x - 5, high, x + 5, high)],
      };
    },
    ...axes,
  };
}

/** Lines with error bars along the axis, one for each series. An overloaded point is hollow. Names are not joined. */
function ladder(context: Context, group: Group, pick: (point: Point) => Point["throughput"] | undefined): Option[] {
  const joined = context.report.axis.kind !== "names";
  return group.series.flatMap((series) => {
    const { colour, symbol } = look(context, series.name);
    const points = series.points.map((index) => (index === null ? undefined : context.report.points[index]));
    const rows: Row[] = points.map((point, place) => {
      const estimate = point?.trials ? pick(point) : undefined;
      const x = placeOf(group, place);
      return estimate ? [x, estimate.value, estimate.low, estimate.high] : [x, null, null, null];
    });
    const hollow = { color: context.theme.surface, borderColor: colour, borderWidth: 2 };
    const line = {
      name: series.name,
      type: "line",
      data: rows.map((value, place) => (points[place]?.overloaded ? { value, itemStyle: hollow, symbolSize: 11 } : value)),
      encode: { x: 0, y: 1 },
      symbol,
      symbolSize: 8,
      showAllSymbol: true,
      connectNulls: false,
      itemStyle: { color: colour },
      lineStyle: { color: colour, width: joined ? 2 : 0 },
      emphasis: { focus: "series" },
    };
    return [line, whiskers(series.name, rows, colour)];
  });
}

function pointsOf(context: Context, group: Group): Point[] {
  const indices = group.series.flatMap((series) => series.points);
  return indices.flatMap((index) => (index === null ? [] : (context.report.points[index] ?? [])));
}

/** What the law of growth with connections expects: a dashed line beside that of each series. */
function laws(context: Context, group: Group): Option[] {
  const place = context.report.groups.indexOf(group);
  return context.report.scalings
    .filter((law) => law.group === place)
    .map((law) => {
      const { colour } = look(context, law.series);
      return {
        name: law.series,
        type: "line",
        data: law.points.map((point) => [point.connections, point.expected, null, null, 1]),
        encode: { x: 0, y: 1 },
        symbol: "none",
        itemStyle: { color: colour },
        lineStyle: { color: colour, width: 1.5, type: "dotted" },
        z: 1,
      };
    });
}

/** What was offered, where starts have times fixed beforehand: one faint line, since all series are offered the same. */
function offered(context: Context, group: Group): Option[] {
  const data = group.rungs.map((_, place) => {
    const indices = group.series.map((series) => series.points[place] ?? null);
    const found = indices.map((index) => (index === null ? null : context.report.points[index]?.schedule));
    return [placeOf(group, place), found.find((schedule) => schedule)?.offered_per_second ?? null];
  });
  if (data.every(([, rate]) => rate === null)) return [];
  const { faint } = context.theme;
  return [
    {
      name: word(context, "html", "offered"),
      type: "line",
      data,
      symbol: "none",
      itemStyle: { color: faint },
      lineStyle: { color: faint, width: 1.5, type: "dashed" },
      z: 1,
    },
  ];
}

interface Hovered {
  seriesName: string;
  seriesType: string;
  color: string;
  marker: string;
  value: (number | null)[];
  axisValue: number;
}

/** Rows of a tooltip as a small table. */
export function tooltip(title: string, rows: { colour: string; name: string; value: string }[]): string {
  const cells = rows.map(
    ({ colour, name, value }) =>
      `<tr><td style="padding-right:14px"><span style="display:inline-block;width:10px;height:10px;border-radius:5px;` +
      `margin-right:6px;background:${colour}"></span>${escape(name)}</td>` +
      `<td style="text-align:right;font-variant-numeric:tabular-nums">${escape(value)}</td></tr>`,
  );
  return `<strong>${escape(title)}</strong><table style="margin-top:4px;border-collapse:collapse">${cells.join("")}</table>`;
}

function ladderTooltip(context: Context, group: Group, unit: string): (hovered: Hovered[]) => string {
  return (hovered) => {
    const lines = hovered.filter((item) => item.seriesType === "line" && item.value[1] !== null);
    const place = group.rungs.findIndex((_, index) => placeOf(group, index) === hovered[0]?.value[0]);
    const remark = (name: string) => {
      const index = group.series.find((series) => series.name === name)?.points[place];
      const point = index == null ? undefined : context.report.points[index];
      return point?.overloaded ? `, ${word(context, "html", "overloaded")}` : "";
    };
    const rows = lines.map((item) => {
      const [, value, low, high] = item.value;
      const interval = low != null && high != null ? ` (${number(low)} – ${number(high)})` : "";
      const name = item.value[4] ? `${item.seriesName}, ${word(context, "html", "law")}` : item.seriesName;
      return { colour: item.color, name, value: `${number(value ?? NaN)}${interval} ${unit}${item.value[4] ? "" : remark(item.seriesName)}` };
    });
    return tooltip(`${context.report.axis.title}: ${group.rungs[place]?.label ?? ""}`, rows);
  };
}

const GRID = { left: 8, right: 20, top: 64, bottom: 34, outerBoundsMode: "same", outerBoundsContain: "axisLabel" };

/** Names on the axis need more room below, since they stand aslant, and many in the legend more above. */
function gridOf(context: Context, group: Group, legend: string[]): Option {
  const aslant = context.report.axis.kind === "names" && group.rungs.length > 3;
  return { ...GRID, top: GRID.top + legendRest(context.width, legend), ...(aslant ? { bottom: 66 } : {}) };
}

/** How far error bars may reach beyond the values, as a factor: those of two trials alone would leave no room for anything else. */
const REACH = 2;
const REACH_LOGARITHMIC = 10;

/** Upper end of an axis from 0 where error bars would reach too far; undefined: they do not. */
export function bounded(estimates: Estimate[]): number | undefined {
  const value = Math.max(0, ...estimates.map((one) => one.value));
  const high = Math.max(0, ...estimates.map((one) => one.high ?? one.value));
  if (high <= REACH * value) return undefined;
  const step = 10 ** Math.floor(Math.log10(REACH * value));
  return Math.ceil((REACH * value) / step) * step;
}

/** What a logarithmic axis must show: values, and error bars as far as they do not reach too far. */
function spread(estimates: Estimate[]): number[] {
  const values = estimates.map((one) => one.value).filter((value) => value > 0);
  const [low, high] = [Math.min(...values) / REACH_LOGARITHMIC, Math.max(...values) * REACH_LOGARITHMIC];
  const ends = estimates.flatMap((one) => [one.low, one.high]).filter((end): end is number => end !== null);
  return [...values, ...ends.map((end) => Math.min(Math.max(end, low), high))];
}

/** Throughput along the axis, beside what was offered. */
export function throughput(context: Context, group: Group): Option {
  const members = pointsOf(context, group).map((point) => point.throughput);
  const schedule = offered(context, group);
  const names = [...group.series.map((series) => series.name), ...schedule.map((line) => String(line["name"]))];
  const shared = base(context, names);
  return {
    ...shared,
    tooltip: { ...(shared["tooltip"] as Option), formatter: ladderTooltip(context, group, "/s") },
    grid: gridOf(context, group, names),
    xAxis: rungs(context, group),
    yAxis: beside(context, word(context, "text", "unit_throughput"), {
      type: "value",
      min: 0,
      max: bounded(members),
      axisLabel: { color: context.theme.faint, fontSize: 12, formatter: tick },
    }),
    series: [...ladder(context, group, (point) => point.throughput), ...laws(context, group), ...schedule],
  };
}

/** A percentile of response time along the axis. */
export function latency(context: Context, group: Group, name: string): Option {
  const names = group.series.map((series) => series.name);
  const shared = base(context, names);
  const values = spread(pointsOf(context, group).flatMap((point) => point.latency_ms[name] ?? []));
  return {
    ...shared,
    tooltip: { ...(shared["tooltip"] as Option), formatter: ladderTooltip(context, group, "ms") },
    grid: gridOf(context, group, names),
    xAxis: rungs(context, group),
    yAxis: besideLogarithmic(context, `${name} – ${word(context, "text", "unit_latency")}`, values),
    series: ladder(context, group, (point) => point.latency_ms[name]),
  };
}

/** Distribution of response times at one place of the axis, drawn so that the tail has room. */
export function distribution(context: Context, group: Group, place: number): Option {
  const names = group.series.map((series) => series.name);
  const shared = base(context, names);
  const series = group.series.map((one) => {
    const { colour, symbol } = look(context, one.name);
    const index = one.points[place];
    const point = index == null ? undefined : context.report.points[index];
    const curve = (point?.latency_curve ?? []).filter(([share]) => share < 1);
    return {
      name: one.name,
      type: "line",
      data: curve.map(([share, ms]) => [1 / (1 - share), ms]),
      symbol,
      symbolSize: 5,
      itemStyle: { color: colour },
      lineStyle: { color: colour, width: 2 },
      emphasis: { focus: "series" },
    };
  });
  const far = Math.max(10, ...series.flatMap((one) => one.data.map(([x]) => x ?? 1)));
  const ticks = [1, 2, 10, 100, 1000, 10_000, 100_000, 1_000_000].filter((x) => x <= far * 1.01);
  const formatter = (hovered: Hovered[]) =>
    tooltip(
      percentile(1 - 1 / (hovered[0]?.value[0] ?? 1)),
      hovered.map((item) => ({
        colour: item.color,
        name: item.seriesName,
        value: `${number(item.value[1] ?? NaN)} ms`,
      })),
    );
  const label = (x: number) => percentile(1 - 1 / x);
  return {
    ...shared,
    tooltip: { ...(shared["tooltip"] as Option), formatter },
    grid: { ...GRID, top: GRID.top + legendRest(context.width, names) },
    xAxis: below(context, word(context, "html", "share_below"), {
      type: "log",
      logBase: 10,
      min: 1,
      max: far,
      axisLabel: { color: context.theme.faint, fontSize: 12, formatter: label, customValues: ticks, hideOverlap: true },
      axisTick: { lineStyle: { color: context.theme.faint }, customValues: ticks },
    }),
    yAxis: besideLogarithmic(
      context,
      word(context, "text", "unit_latency"),
      series.flatMap((one) => one.data.map(([, ms]) => ms)),
    ),
    series,
  };
}

const DASHES = ["solid", "dashed", "dotted"];

/** Throughput and p99 second by second, one line for each trial at one place of the axis. */
export function timeline(context: Context, group: Group, place: number): Option {
  const trials = coursesOf(context.report, group, place);
  const scheduled = trials.find((trial) => trial.seconds.offered.length > 0);
  const offeredName = word(context, "html", "offered");
  const names = group.series.map((series) => series.name);
  const legend = scheduled ? [...names, offeredName] : names;
  const shared = base(context, legend);
  const rest = legendRest(context.width, legend);
  const warmUp = Math.max(0, ...trials.map(({ seconds }) => seconds.end_s[seconds.warm_up - 1] ?? 0));
  const lines = trials.flatMap((trial) => {
    const { colour } = look(context, trial.series);
    const row = (values: (number | null)[]) => trial.seconds.end_s.map((end, i) => [end, values[i] ?? null]);
    const line = (values: (number | null)[], panel: number) => ({
      name: trial.series,
      id: `${trial.number}-${panel}`,
      type: "line",
      xAxisIndex: panel,
      yAxisIndex: panel,
      data: row(values),
      showSymbol: trial.seconds.second.length < 3,
      symbolSize: 5,
      connectNulls: false,
      itemStyle: { color: colour },
      lineStyle: { color: colour, width: 1.6, type: DASHES[trial.block % DASHES.length], opacity: 0.9 },
      emphasis: { focus: "series" },
      repeat: trial.block + 1,
    });
    return [line(trial.seconds.throughput, 0), line(trial.seconds.p99_ms, 1)];
  });
  const due = scheduled?.seconds.offered.map((rate, i) => [scheduled.seconds.end_s[i] ?? 0, rate]);
  const dueLine = due && {
    name: offeredName,
    id: "offered-0",
    type: "line",
    xAxisIndex: 0,
    yAxisIndex: 0,
    data: due,
    symbol: "none",
    itemStyle: { color: context.theme.faint },
    lineStyle: { color: context.theme.faint, width: 1.2, type: "dashed" },
    z: 1,
  };
  const shade = (panel: number) => ({
    id: `warm-up-${panel}`,
    type: "line",
    xAxisIndex: panel,
    yAxisIndex: panel,
    data: [],
    silent: true,
    markArea: {
      silent: true,
      itemStyle: { color: context.theme.shade },
      label: { color: context.theme.faint, position: "insideTop", fontSize: 11 },
      data: warmUp > 0 ? [[{ name: panel === 0 ? word(context, "html", "warm_up") : "", xAxis: 0 }, { xAxis: warmUp }]] : [],
    },
  });
  const last = Math.max(1, ...trials.flatMap((trial) => trial.seconds.end_s));
  const time = (panel: number, more: Option) =>
    below(context, panel === 1 ? word(context, "html", "seconds") : "", {
      type: "value",
      gridIndex: panel,
      min: 0,
      max: last,
      minInterval: 1,
      ...more,
    });
  const repeats = new Map(trials.map((trial) => [trial.number, trial.block + 1]));
  const formatter = (hovered: (Hovered & { seriesId: string })[]) => {
    const rows = hovered.map((item) => {
      const [trial, panel] = item.seriesId.split("-");
      const repeat = word(context, "html", "repeat").replace("{number}", String(repeats.get(Number(trial)) ?? ""));
      const unit = panel === "0" ? "/s" : "ms";
      return {
        colour: item.color,
        name: trial === "offered" ? item.seriesName : `${item.seriesName}, ${repeat}`,
        value: `${number(item.value[1] ?? NaN)} ${unit}`,
      };
    });
    return tooltip(`${tick(hovered[0]?.value[0] ?? 0)} s`, rows);
  };
  const label = { color: context.theme.faint, fontSize: 12, formatter: tick };
  return {
    ...shared,
    tooltip: { ...(shared["tooltip"] as Option), formatter },
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    grid: [
      { left: 58, right: 20, top: 64 + rest, height: 130 - rest / 2 },
      { left: 58, right: 20, top: 244 + rest / 2, bottom: 44 },
    ],
    xAxis: [time(0, { axisLabel: { show: false }, axisTick: { show: false } }), time(1, {})],
    yAxis: [
      beside(context, word(context, "text", "unit_throughput"), { type: "value", min: 0, gridIndex: 0, splitNumber: 3, axisLabel: label }),
      besideLogarithmic(
        context,
        word(context, "html", "p99_of_second"),
        trials.flatMap((trial) => trial.seconds.p99_ms),
        { gridIndex: 1 },
      ),
    ],
    series: [...lines, ...(dueLine ? [dueLine] : []), shade(0), shade(1)],
  };
}
