// From a chart's values to an option of ECharts where places are names: a bar for each, servers side by side, the greatest first; and
// for ratios a mark for each on an axis around 1 (a forest plot). Names stand beside the bars, however long they are. Pure.

import { type Row, rows } from "./chart";
import type { Line, Lines } from "./charts";
import { escape, number, tick } from "./format";
import { base, below, bounded, type Context, legendRest, letters, look, type Option, told, tooltip } from "./lines";
import { mark } from "./marks";

/** Thickness of a bar with its gap, room between rows, height of a line of a name, px. */
const BAR = 17;
const GAP = 12;
const NAME_LINE = 15;
/** What is below the last row, px. */
const FOOT = 52;
/** Room for the numbers at the right, px. */
const NUMBERS = 62;
/** Names take this share of the width at most. */
const NAMES_MAX = 0.36;

/** What stands on one row: its name in lines, and whether it is the head of those below. */
interface Place {
  index: number;
  name: string[];
  isHead: boolean;
}

/** A name in lines that fit, broken behind what divides words. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const part of text.split(/(?<=[\s,;=/_.-])/)) {
    let rest = part;
    if (line !== "" && letters(line + rest.trimEnd()) > width) {
      lines.push(line.trimEnd());
      line = "";
    }
    while (letters(rest.trimEnd()) > width && rest.length > 1) {
      let end = rest.length - 1;
      while (end > 1 && letters(rest.slice(0, end)) > width) end -= 1;
      lines.push(rest.slice(0, end));
      rest = rest.slice(end);
    }
    line += rest;
  }
  return line.trim() === "" && lines.length > 0 ? lines : [...lines, line.trimEnd()];
}

const isRatio = (of: Lines) => of.panels[0]?.y.scale === "ratio";

/** Whether each row has one bar alone, whose name stands beside it. */
function isAlone(of: Lines): boolean {
  const shown = of.panels[0]?.lines ?? [];
  return shown.length > 1 && of.x.ticks.every((_, place) => shown.filter((line) => line.values[place] != null).length === 1);
}

/** Rows from above: ratios in their order, all else by size. */
function placesOf(context: Context, of: Lines): { all: Place[]; width: number } {
  const shown = of.panels[0]?.lines ?? [];
  const most = Math.max(0, ...of.x.ticks.map((one) => letters(one.label)));
  const width = Math.min(most + 4, Math.max(70, context.width * NAMES_MAX));
  const values = of.x.ticks.map((_, index) => shown.flatMap((line) => line.values[index] ?? []));
  const size = (index: number) => Math.max(-1, ...(values[index] ?? []));
  const all = of.x.ticks.map((one, index) => ({ index, name: wrapped(one.label, width), isHead: values[index]?.length === 0 && isRatio(of) }));
  return { all: isRatio(of) ? all : all.sort((a, b) => size(b.index) - size(a.index)), width };
}

function rowHeight(of: Lines, all: Place[]): number {
  const bars = (isAlone(of) ? 1 : (of.panels[0]?.lines.length ?? 1)) * BAR;
  return Math.max(bars, ...all.map(({ name }) => name.length * NAME_LINE)) + GAP;
}

/** Names that a legend shows: one alone needs none. */
function legend(of: Lines): string[] {
  const names = (of.panels[0]?.lines ?? []).map((line) => line.name);
  return names.length > 1 && !isAlone(of) ? names : [];
}

/** What is above the first row, px. */
function head(context: Context, of: Lines): number {
  const names = legend(of);
  return names.length > 0 ? 38 + legendRest(context.width, names) : 10;
}

/** Height of the chart, px. */
export function heightOf(context: Context, of: Lines): number {
  const { all } = placesOf(context, of);
  return head(context, of) + all.length * rowHeight(of, all) + FOOT;
}

/** Ticks of an axis of ratios, and its ends: around 1, as far as intervals that do not reach too far. */
export function ratios(drawn: Row[]): { min: number; max: number; ticks: number[] } {
  const values = drawn.flatMap(([, value]) => (value !== null && value > 0 ? value : []));
  const reach = Math.max(1.1, ...values.map((value) => Math.max(value, 1 / value)));
  const ends = drawn.flatMap(([, , low, high]) => [low, high]).filter((end): end is number => end !== null && end > 0);
  // an interval of two repeats alone would leave no room for anything else
  const near = (end: number) => Math.min(Math.max(end, 1 / reach ** 2), reach ** 2);
  const all = [1, ...values, ...ends.map(near)];
  const [min, max] = [Math.min(...all) / 1.04, Math.max(...all) * 1.04];
  const steps = max / min < 4 ? [0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4] : [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000];
  return { min, max, ticks: steps.filter((step) => step >= min && step <= max) };
}

/** Ticks that have room: 1 always, others where they are far enough from those that are kept. */
function thinned(ticks: number[], { min, max }: { min: number; max: number }, width: number): number[] {
  const at = (value: number) => (Math.log(value / min) / Math.log(max / min)) * width;
  const kept: number[] = [];
  for (const one of [1, ...ticks.filter((other) => other !== 1)]) {
    if (kept.every((other) => Math.abs(at(other) - at(one)) > 38)) kept.push(one);
  }
  return kept.sort((a, b) => a - b);
}

interface Api {
  value: (index: number) => number;
  coord: (point: [number, number]) => [number, number];
}

/** The bars, or marks, of one line. */
function drawn(context: Context, of: Lines, line: Line, index: number, all: Place[]): Option {
  const { theme } = context;
  const { colour, symbol } = look(context, line);
  const lines = of.panels[0]?.lines ?? [];
  const thickness = BAR - 3;
  const alone = isAlone(of);
  const points = rows(of, line);
  const data = all.flatMap((place, row) => {
    const point = points[place.index];
    return point && point[1] !== null ? [[row, point[1], point[2], point[3], place.index]] : [];
  });
  return {
    name: escape(line.name),
    type: "custom",
    data,
    encode: { x: [1], y: 0, tooltip: [1] },
    itemStyle: { color: colour },
    z: 3,
    renderItem: (params: { coordSys: { x: number; width: number } }, api: Api) => {
      const [row, value, low, high, place] = [0, 1, 2, 3, 4].map((dimension) => api.value(dimension)) as [number, number, number, number, number];
      const { x: left, width } = params.coordSys;
      const inside = (x: number) => Math.min(Math.max(x, left), left + width);
      const [end, middle] = api.coord([value, row]);
      const y = middle + (alone ? 0 : (index - (lines.length - 1) / 2) * BAR);
      const isHollow = line.hollow?.[place] !== undefined;
      const children: Option[] = [];
      if (!isRatio(of)) {
        const style = isHollow ? { fill: theme.surface, stroke: colour, lineWidth: 1.5, lineDash: [4, 3] } : { fill: colour, opacity: 0.35 };
        children.push({ type: "rect", shape: { x: left, y: y - thickness / 2, width: Math.max(inside(end) - left, 0), height: thickness }, style });
      }
      let last = inside(end) + 6;
      if (Number.isFinite(low) && Number.isFinite(high)) {
        const [from, until] = [inside(api.coord([low, row])[0]), inside(api.coord([high, row])[0])];
        const style = { stroke: isRatio(of) ? colour : theme.text, lineWidth: 1.5 };
        const stroke = (x1: number, y1: number, x2: number, y2: number) => ({ type: "line", shape: { x1, y1, x2, y2 }, style });
        children.push(stroke(from, y, until, y), stroke(from, y - 4, from, y + 4), stroke(until, y - 4, until, y + 4));
        last = Math.max(last, until);
      }
      const fill = isHollow ? theme.surface : colour;
      children.push(mark(symbol, end, y, 4.5, { fill, stroke: colour, lineWidth: 1.5 }));
      const text = { text: number(value), x: last + 6, y, fill: theme.faint, fontSize: 11, verticalAlign: "middle" };
      children.push({ type: "text", style: text });
      return { type: "group", children };
    },
  };
}

interface Hovered {
  seriesIndex: number;
  color: string;
  value: (number | null)[];
}

/** The chart of what is chosen. */
export function bars(context: Context, of: Lines): Option {
  const { theme } = context;
  const panel = of.panels[0];
  const lines = panel?.lines ?? [];
  const { all, width } = placesOf(context, of);
  const shared = base(context, legend(of));
  const points = lines.flatMap((line) => rows(of, line));
  const formatter = (hovered: Hovered[]) => {
    const row = all[hovered[0]?.value[0] ?? 0];
    const label = of.x.ticks[row?.index ?? 0]?.label ?? "";
    const said = hovered.flatMap((item) => {
      const line = lines[item.seriesIndex];
      return line && item.value[1] != null ? [{ colour: item.color, name: line.name, value: told(line, row?.index ?? 0, panel?.y.unit ?? "", item.value) }] : [];
    });
    return tooltip(label, said);
  };
  const inner = Math.max(60, context.width - width - 14 - NUMBERS);
  const label = { color: theme.faint, fontSize: 12, hideOverlap: true, formatter: tick };
  const scale = () => {
    if (!isRatio(of)) return { type: "value", min: 0, max: bounded(points), splitNumber: Math.max(2, Math.floor(inner / 90)), axisLabel: label };
    const { ticks, ...ends } = ratios(points);
    const at = thinned(ticks, ends, inner);
    return { type: "log", ...ends, axisLabel: { ...label, customValues: at }, axisTick: { customValues: at } };
  };
  const names = all.map(({ name, isHead }) => (isHead ? `{head|${name.join("\n")}}` : name.join("\n")));
  const one = { silent: true, symbol: "none", animation: false, data: [{ xAxis: 1, lineStyle: { color: theme.faint, type: "solid" }, label: { show: false } }] };
  return {
    ...shared,
    tooltip: { ...(shared["tooltip"] as Option), axisPointer: { type: "shadow", shadowStyle: { color: theme.shade } }, formatter },
    grid: { left: width + 14, right: NUMBERS, top: head(context, of), bottom: FOOT, outerBoundsMode: "none" },
    xAxis: below(context, panel?.y.title ?? "", { ...scale(), splitLine: { show: true, lineStyle: { color: theme.line } } }),
    yAxis: {
      type: "category",
      inverse: true,
      data: names,
      axisLine: { show: !isRatio(of), lineStyle: { color: theme.faint } },
      axisTick: { show: false },
      axisLabel: {
        color: theme.text,
        fontSize: 12,
        lineHeight: NAME_LINE,
        interval: 0,
        align: "right",
        rich: { head: { fontWeight: 600, fontSize: 12, lineHeight: NAME_LINE, color: theme.text } },
      },
    },
    series: [
      ...lines.map((line, index) => drawn(context, of, line, index, all)),
      ...(isRatio(of) ? [{ type: "line", data: [], silent: true, markLine: one }] : []),
    ],
  };
}
