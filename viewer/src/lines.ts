// From a chart's values to an option of ECharts: panels over one horizontal axis, with one legend. Pure: no page, no instance.

import { type Row, rows } from "./chart";
import type { Axis, Line, Lines, Mark, Panel, Shade } from "./charts";
import { escape, number, percentile, tick } from "./format";
import { SYMBOLS, type Theme } from "./theme";

/** What a chart is drawn for. */
export interface Context {
  theme: Theme;
  /** Width of the chart in pixels: a narrow one has fewer ticks. */
  width: number;
  /** Whether a reader may zoom: on a page, with a mouse. */
  canZoom?: boolean;
}

/** ECharts' own option type allows anything; its parts are checked where they are built. */
export type Option = Record<string, unknown>;

/** With single quotes: a file's attributes have double ones. */
export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', sans-serif";

/** Colour and symbol of a line: the same for the same server in every chart. */
export function look(context: Context, line: Line): { colour: string; symbol: string } {
  const { series, faint } = context.theme;
  const place = line.look;
  if (place === null) return { colour: faint, symbol: "none" };
  // beyond the colours that there are, one comes again with another symbol
  const round = Math.floor(place / series.length);
  return { colour: series[place % series.length] ?? faint, symbol: SYMBOLS[(place + round) % SYMBOLS.length] ?? "circle" };
}

/** Gap between the entries of a legend, and height of one of its rows, px. */
const LEGEND_GAP = 14;
const LEGEND_ROW = 28;

/** About how wide a text of 13 px is, px. */
export function letters(text: string): number {
  return [...text].reduce((sum, letter) => sum + (letter > "\u2e7f" ? 13 : 7.6), 0);
}

/** Height that a legend takes beyond its first row, px: names are as wide as letters of 13 px are on average, or a little less. */
export function legendRest(width: number, names: string[]): number {
  let rows = 1;
  let used = 0;
  for (const name of names) {
    const entry = Math.min(22 + 5 + letters(name), width) + LEGEND_GAP;
    if (used > 0 && used + entry > width) {
      rows += 1;
      used = 0;
    }
    used += entry;
  }
  return (rows - 1) * LEGEND_ROW;
}

/** The wheel with Ctrl zooms along the axis, and dragging with Shift moves it: without these keys the page scrolls as ever. */
export function zoom(context: Context): Option {
  const inside = { type: "inside", xAxisIndex: "all", filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseMove: "shift", preventDefaultMouseMove: false };
  return context.canZoom ? { dataZoom: [inside] } : {};
}

/** A name as far as there is room for it. */
function fitting(name: string, width: number): string {
  if (letters(name) <= width) return name;
  let end = name.length;
  while (end > 1 && letters(`${name.slice(0, end)}…`) > width) end -= 1;
  return `${name.slice(0, end)}…`;
}

/** What all charts share. */
export function base(context: Context, legend: string[]): Option {
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
      formatter: (name: string) => fitting(name, context.width - 44),
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
    axisLine: { show: true, onZero: false, lineStyle: { color: theme.faint } },
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

/** Share as a place on the axis of a distribution, where the tail has room. */
const tail = (share: number) => 1 / (1 - share);

/** Where a value stands on the horizontal axis. */
export function placeOf(axis: Axis, x: number): number {
  return axis.scale === "tail" ? tail(x) : x;
}

/** Where lines of the drawing lie along the axis. */
function extent(of: Lines): number[] {
  return of.panels.flatMap((panel) => panel.lines.flatMap((line) => of.places[line.at] ?? []));
}

/** Room for labels that stand below each other, px each, beyond which some are left out. */
const ORDER_LABEL = 60;

/** The horizontal axis, with a tick at each place that has a label. */
function along(context: Context, of: Lines, more: Option = {}): Option {
  const { x } = of;
  const { faint } = context.theme;
  const values = x.ticks.map((one) => one.at);
  const labels = new Map(x.ticks.map((one) => [one.at, one.label.split("\n")[0] ?? ""]));
  const label = { color: faint, fontSize: 12, hideOverlap: true };
  const ticked = (at: number[]) => ({
    axisLabel: { ...label, formatter: (value: number) => labels.get(value) ?? tick(value), customValues: at },
    axisTick: { lineStyle: { color: faint }, customValues: at },
  });
  const first = values[0] ?? 1;
  const last = values.at(-1) ?? 1;
  switch (x.scale) {
    case "order": {
      // the last one has its label: it is the one that is asked about
      const every = Math.max(1, Math.ceil(values.length / Math.max(1, Math.floor(context.width / ORDER_LABEL))));
      const shown = values.filter((_, place) => (values.length - 1 - place) % every === 0);
      return below(context, x.title, { type: "value", min: -0.5, max: last + 0.5, ...ticked(shown), ...more });
    }
    case "doubling":
      return below(context, x.title, { type: "log", logBase: 2, min: first / 1.25, max: last * 1.25, ...ticked(values), ...more });
    case "tail": {
      const far = Math.max(10, ...extent(of).map(tail));
      const at = [1, 2, 10, 100, 1000, 10_000, 100_000, 1_000_000].filter((place) => place <= far * 1.01);
      return below(context, x.title, {
        type: "log",
        logBase: 10,
        min: 1,
        max: far,
        axisLabel: { ...label, formatter: (place: number) => percentile(1 - 1 / place), customValues: at },
        axisTick: { lineStyle: { color: faint }, customValues: at },
        ...more,
      });
    }
    case "around": {
      const room = (last - first || Math.abs(last) || 1) * 0.06;
      return below(context, x.title, { type: "value", min: first - room, max: last + room, ...ticked(values), ...more });
    }
    default: {
      // time ends where it ends; other values have room beyond
      const end = x.unit === "s" ? { max: Math.max(1, ...extent(of), ...of.shades.flatMap((shade) => shade.until ?? [])), minInterval: 1 } : {};
      return below(context, x.title, {
        type: "value",
        min: 0,
        ...end,
        axisLabel: { ...label, formatter: tick },
        ...more,
      });
    }
  }
}

/** Less than this share of a value is not worth a look, and chance alone would fill the chart. */
const HEIGHT_MIN = 0.1;

/** From where to where an axis goes that does not begin at 0: around values, and error bars as far as they do not reach too far. */
export function around(drawn: Row[]): { min: number; max: number } {
  const values = drawn.flatMap(([, value]) => value ?? []);
  if (values.length === 0) return { min: 0, max: 1 };
  const middle = (Math.min(...values) + Math.max(...values)) / 2;
  const half = Math.max((Math.max(...values) - Math.min(...values)) / 2, (HEIGHT_MIN / 2) * Math.abs(middle));
  const ends = drawn.flatMap(([, , low, high]) => [low, high]).filter((end): end is number => end !== null);
  const low = Math.max(Math.min(middle - half, ...ends), middle - 2 * half, 0);
  const high = Math.min(Math.max(middle + half, ...ends), middle + 2 * half);
  const step = roundStep((high - low) / 3);
  return { min: Math.floor(low / step) * step, max: Math.ceil(high / step) * step };
}

/** The next of 1, 2 and 5 times a power of ten. */
function roundStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  return ([1, 2, 5].find((times) => times * power >= step * 0.999) ?? 10) * power;
}

/** The vertical axis of a panel. */
function upright(context: Context, panel: Panel, drawn: Row[], more: Option): Option {
  const label = { color: context.theme.faint, fontSize: 12, formatter: tick };
  switch (panel.y.scale) {
    case "logarithmic":
      return besideLogarithmic(context, panel.y.title, spread(drawn), more);
    case "around":
      return beside(context, panel.y.title, { type: "value", ...around(drawn), axisLabel: label, ...more });
    default:
      return beside(context, panel.y.title, { type: "value", min: 0, max: bounded(drawn), axisLabel: label, ...more });
  }
}

/** The vertical logarithmic axis of these values. */
function besideLogarithmic(context: Context, name: string, values: number[], more: Option): Option {
  const { ticks, ...range } = logarithmic(values) as Option & { ticks?: number[] };
  const { faint } = context.theme;
  const label = { color: faint, fontSize: 12, hideOverlap: true, formatter: tick };
  return beside(context, name, {
    ...range,
    axisLabel: ticks ? { ...label, customValues: ticks } : label,
    axisTick: { lineStyle: { color: faint }, ...(ticks ? { customValues: ticks } : {}) },
    ...more,
  });
}

/** A short line with caps for each interval: upright, or lying where it is one of the place itself. */
function whiskers(server: string, rows: Row[], colour: string, axes: Option, lies = false): Option {
  return {
    name: server,
    type: "custom",
    silent: true,
    clip: true,
    data: rows.filter((row) => row[2] !== null && row[3] !== null),
    encode: lies ? { x: [2, 3], y: 1 } : { x: 0, y: [2, 3] },
    itemStyle: { color: colour },
    tooltip: { show: false },
    z: 3,
    renderItem: (
      _: unknown,
      api: { value: (index: number) => number; coord: (point: [number, number]) => [number, number] },
    ) => {
      const style = { stroke: colour, lineWidth: lies ? 1 : 1.5, fill: "none" };
      const line = (x1: number, y1: number, x2: number, y2: number) => ({
        type: "line",
        shape: { x1, y1, x2, y2 },
        style,
      });
      if (lies) {
        const [from, y] = api.coord([api.value(2), api.value(1)]);
        const [until] = api.coord([api.value(3), api.value(1)]);
        return { type: "group", children: [line(from, y, until, y), line(from, y - 4, from, y + 4), line(until, y - 4, until, y + 4)] };
      }
      const [x, low] = api.coord([api.value(0), api.value(2)]);
      const [, high] = api.coord([api.value(0), api.value(3)]);
      return {
        type: "group",
        children: [line(x, low, x, high), line(x - 5, low, x + 5, low), line(x - 5, high, x + 5, high)],
      };
    },
    ...axes,
  };
}

/** A line with its error bars. A hollow point is one that a reason stands beside. */
function drawn(context: Context, of: Lines, line: Line, panel: number): Option[] {
  const { colour, symbol } = look(context, line);
  const points = rows(of, line).map(([x, ...rest]): Row => [placeOf(of.x, x), ...rest]);
  const hollow = { color: context.theme.surface, borderColor: colour, borderWidth: 2 };
  const axes = { xAxisIndex: panel, yAxisIndex: panel };
  const isBeside = line.look === null;
  const option = {
    name: line.name,
    type: "line",
    ...axes,
    data: points.map((value, place) => (line.hollow?.[place] ? { value, itemStyle: hollow, symbolSize: 11 } : value)),
    encode: { x: 0, y: 1 },
    symbol: line.has_points || points.length < 3 ? symbol : "none",
    symbolSize: line.has_points ? 8 : 5,
    showAllSymbol: true,
    connectNulls: line.over_gaps,
    itemStyle: { color: colour },
    lineStyle: {
      color: colour,
      width: line.stroke === "none" ? 0 : line.has_points ? 2 : 1.6,
      type: line.stroke === "none" ? "solid" : line.stroke,
      opacity: line.has_points ? 1 : 0.9,
    },
    ...(line.labels ? labelled(context, line.labels) : {}),
    ...(isBeside ? { z: 1 } : { emphasis: { focus: "series" } }),
  };
  const known = (some: Row[]) => some.some((point) => point[2] !== null && point[3] !== null);
  const lying = points.map(([x, value], place): Row => [x, value, line.left?.[place] ?? null, line.right?.[place] ?? null]);
  return [
    option,
    ...(known(points) ? [whiskers(line.name, points, colour, axes)] : []),
    ...(known(lying) ? [whiskers(line.name, lying, colour, axes, true)] : []),
  ];
}

/** What stands beside points, as far as there is room for it. */
function labelled(context: Context, labels: string[]): Option {
  const formatter = ({ dataIndex }: { dataIndex: number }) => labels[dataIndex] ?? "";
  return {
    label: { show: true, position: "right", offset: [2, -9], fontSize: 11, color: context.theme.text, formatter },
    labelLayout: { hideOverlap: true },
  };
}

interface Hovered {
  seriesIndex: number;
  seriesType: string;
  color: string;
  dataIndex: number;
  value: (number | null)[];
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

/** What is said of a place on the axis. */
export function headOf(axis: Axis, place: number): string {
  if (axis.scale === "tail") return percentile(1 - 1 / place);
  if (axis.unit) return `${tick(Number(place.toFixed(1)))} ${axis.unit}`;
  const label = axis.ticks.find((one) => one.at === place)?.label.replace("\n", " ") ?? tick(place);
  return `${axis.title}: ${label}`;
}

/** A value with its interval, its unit, and what there is to say against it. */
export function told(line: Line, place: number, unit: string, value: (number | null)[]): string {
  const [, middle, low, high] = value;
  const interval = low != null && high != null ? ` (${number(low)} – ${number(high)})` : "";
  const against = line.hollow?.[place];
  return `${number(middle ?? NaN)}${interval}${unit ? ` ${unit}` : ""}${against ? `, ${against}` : ""}`;
}

const GRID = { left: 8, right: 20, top: 64, bottom: 34, outerBoundsMode: "same", outerBoundsContain: "axisLabel" };

/** How far error bars may reach beyond the values, as a factor: those of two trials alone would leave no room for anything else. */
const REACH = 2;
const REACH_LOGARITHMIC = 10;

/** Upper end of an axis from 0 where error bars would reach too far; undefined: they do not. */
export function bounded(drawn: Row[]): number | undefined {
  const value = Math.max(0, ...drawn.map(([, value]) => value ?? 0));
  const high = Math.max(0, ...drawn.map(([, value, , high]) => high ?? value ?? 0));
  if (high <= REACH * value) return undefined;
  const step = 10 ** Math.floor(Math.log10(REACH * value));
  return Math.ceil((REACH * value) / step) * step;
}

/** What a logarithmic axis must show: values, and error bars as far as they do not reach too far. */
function spread(drawn: Row[]): number[] {
  const values = drawn.flatMap(([, value]) => (value !== null && value > 0 ? value : []));
  const [low, high] = [Math.min(...values) / REACH_LOGARITHMIC, Math.max(...values) * REACH_LOGARITHMIC];
  const ends = drawn.flatMap(([, , low, high]) => [low, high]).filter((end): end is number => end !== null);
  return [...values, ...ends.map((end) => Math.min(Math.max(end, low), high))];
}

/** Names that a legend shows: one alone that is followed through time needs none. */
function legendOf(of: Lines): string[] {
  const names = [...new Set(of.panels.flatMap((panel) => panel.lines.map((line) => line.name)))].filter((name) => name !== "");
  return names.length > 1 || (of.marks.length === 0 && of.x.scale !== "order") ? names : [];
}

/** What a legend needs beyond one row, px; less than nothing where there is none. */
function rest(context: Context, of: Lines): number {
  const names = legendOf(of);
  return names.length > 0 ? legendRest(context.width, names) : -30;
}

/** Height of a chart of one panel, and of two, px; a narrow one is less high. */
export function heightOf(context: Context, of: Lines): number {
  const more = Math.max(0, rest(context, of));
  if (of.panels.length > 1 || of.x.scale === "tail") return 420 + more;
  return (context.width < 480 ? 310 : 350) + more;
}

/** Places of panels: one takes what there is, of several the last one takes most. */
function grids(context: Context, of: Lines): Option[] {
  const more = rest(context, of);
  if (of.panels.length < 2) return [{ ...GRID, top: GRID.top + more }];
  return [
    { left: 58, right: 20, top: 64 + more, height: 130 },
    { left: 58, right: 20, top: 244 + more, bottom: 44 },
  ];
}

/** Stretches that are marked, as a series of their own: they stay when others are hidden. */
function shade(context: Context, of: Lines, panel: number): Option[] {
  if (of.shades.length === 0) return [];
  const area = (one: Shade) => [{ name: panel === 0 ? one.name : "", xAxis: one.from }, { xAxis: one.until ?? "max" }];
  const markArea = {
    silent: true,
    itemStyle: { color: context.theme.shade },
    label: { color: context.theme.faint, position: "insideTop", fontSize: 11 },
    data: of.shades.map(area),
  };
  return [{ type: "line", xAxisIndex: panel, yAxisIndex: panel, data: [], silent: true, markArea }];
}

/** Places where something changed, with how much. */
function marks(context: Context, of: Lines): Option[] {
  const { good, bad } = context.theme;
  const line = (mark: Mark) => {
    const color = mark.is_good ? good : bad;
    return { xAxis: mark.at, lineStyle: { color, type: "dashed" }, label: { color, fontWeight: 600, formatter: escape(mark.text) } };
  };
  const markLine = { silent: true, symbol: "none", animation: false, data: of.marks.map(line) };
  return of.marks.length > 0 ? [{ type: "line", data: [], silent: true, markLine }] : [];
}

/** The chart of what is chosen. */
export function lines(context: Context, of: Lines): Option {
  const all = of.panels.flatMap((panel, index) => panel.lines.map((line) => ({ panel, line, index })));
  const shared = base(context, legendOf(of));
  const options = all.map(({ line, index }) => drawn(context, of, line, index));
  // which line each series belongs to, for the tooltip
  const owners = options.flatMap((series, place) => series.map(() => all[place]));
  // a point that has a name of its own is told alone
  const isPointwise = all.some(({ line }) => (line.labels ?? []).length > 0);
  const formatter = (items: Hovered | Hovered[]) => {
    const hovered = Array.isArray(items) ? items : [items];
    const shown = hovered.filter((item) => item.seriesType === "line" && item.value?.[1] != null);
    const lines = shown.flatMap((item) => {
      const owner = owners[item.seriesIndex];
      if (!owner || owner.line.name === "") return [];
      const name = owner.line.note ? `${owner.line.name}, ${owner.line.note}` : owner.line.name;
      return [{ colour: item.color, name, value: told(owner.line, item.dataIndex, owner.panel.y.unit, item.value) }];
    });
    const label = owners[shown[0]?.seriesIndex ?? -1]?.line.labels?.[shown[0]?.dataIndex ?? -1];
    const place = hovered[0]?.value?.[0] ?? 0;
    return tooltip(label ? `${label}: ${number(place)} ${of.x.unit}` : headOf(of.x, place), lines);
  };
  const last = of.panels.length - 1;
  const silent = { name: "", axisLabel: { show: false }, axisTick: { show: false } };
  return {
    ...shared,
    tooltip: { ...(shared["tooltip"] as Option), ...(isPointwise ? { trigger: "item" } : {}), formatter },
    ...zoom(context),
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    grid: grids(context, of),
    xAxis: of.panels.map((_, index) => along(context, of, { gridIndex: index, ...(index < last ? silent : {}) })),
    yAxis: of.panels.map((panel, index) => {
      const points = panel.lines.flatMap((line) => rows(of, line));
      return upright(context, panel, points, { gridIndex: index, ...(index < last ? { splitNumber: 3 } : {}) });
    }),
    series: [...options.flat(), ...of.panels.flatMap((_, index) => shade(context, of, index)), ...marks(context, of)],
  };
}
