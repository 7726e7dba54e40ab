// Values of cells as colours, in columns along time and rows along the vertical axis: one map for each panel, below each
// other, with the same rows and colours. Pure, as lines.ts.

import type { Heat, Lines } from "./charts";
import { number, tick } from "./format";
import { below, beside, type Context, FONT, letters, logarithmic, type Option, tooltip, zoom } from "./lines";

/** Height of a map, of what stands above it, of the legend of all and of what is below the last one, px. */
const HEIGHT = 150;
const TITLE = 24;
const HEAD = 40;
const FOOT = 46;
/** Width of a colour in the legend at most, and of the value behind the last one, px. */
const SWATCH = 26;
const VALUE = 56;

/** A cell: where it begins and ends along both axes, and its value. */
export type Cell = [from: number, until: number, low: number, high: number, value: number];

/** The cells of a map that hold something. */
export function cells(heat: Heat): Cell[] {
  return heat.until.flatMap((until, column) =>
    (heat.values[column] ?? []).flatMap((value, row): Cell[] => {
      const place = (heat.first[column] ?? 0) + row;
      const [low, high] = [heat.edges[place] ?? 0, heat.edges[place + 1] ?? 0];
      return value > 0 ? [[heat.until[column - 1] ?? 0, until, low, high, value]] : [];
    }),
  );
}

const maps = (of: Lines) => of.panels.flatMap(({ heat, title, y }) => (heat ? [{ heat, title, y }] : []));

/** Which of so many colours a value has: by its logarithm, so that what is rare is seen beside what is frequent. */
export function shadeOf(value: number, low: number, high: number, colours: number): number {
  if (high <= low) return colours - 1;
  const share = Math.log(value / low) / Math.log(high / low);
  return Math.min(colours - 1, Math.max(0, Math.floor(share * colours)));
}

/** Height of the chart, px. */
export function heightOf(of: Lines): number {
  return HEAD + maps(of).length * (HEIGHT + TITLE) + FOOT;
}

interface Api {
  value: (dimension: number) => number;
  coord: (point: [number, number]) => [number, number];
}

/** What each colour means: its least value beside it, as far as there is room. */
function legend(context: Context, title: string, low: number, high: number): Option {
  const { ramp, text } = context.theme;
  const bound = (place: number) => low * (high / low) ** (place / ramp.length);
  const words = { fill: text, fontSize: 12, fontFamily: FONT };
  const said = `${title}: ${number(low)}`;
  const left = letters(said) + 8;
  const wide = Math.max(3, Math.min(SWATCH, (context.width - left - VALUE) / ramp.length));
  const swatch = (fill: string, place: number) => ({ type: "rect", shape: { x: left + place * wide, y: 4, width: wide - 1, height: 12 }, style: { fill } });
  const after = { type: "text", style: { ...words, text: number(bound(ramp.length)), x: left + ramp.length * wide + 6, y: 4 } };
  return { type: "group", children: [{ type: "text", style: { ...words, text: said, x: 0, y: 4 } }, ...ramp.map(swatch), after] };
}

/** The chart of what is chosen. */
export function heat(context: Context, of: Lines): Option {
  const { theme } = context;
  const all = maps(of).map((one) => ({ ...one, cells: cells(one.heat) }));
  const values = all.flatMap((one) => one.cells.map((cell) => cell[4]));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const last = Math.max(1, ...all.flatMap((one) => one.heat.until));
  const { ticks, ...range } = logarithmic(all.flatMap((one) => one.cells.flatMap((cell) => [cell[2], cell[3]]))) as Option & { ticks?: number[] };
  const top = (index: number) => HEAD + index * (HEIGHT + TITLE) + TITLE;
  const isLast = (index: number) => index === all.length - 1;
  const label = { color: theme.faint, fontSize: 11, formatter: tick, hideOverlap: true };
  const formatter = ({ value, seriesIndex }: { value: Cell; seriesIndex: number }) => {
    const one = all[seriesIndex];
    if (!one) return "";
    const [from, until, least, most, found] = value;
    const name = `${number(least)} – ${number(most)} ${one.y.unit}`;
    const colour = theme.ramp[shadeOf(found, low, high, theme.ramp.length)] ?? theme.faint;
    return tooltip(`${one.title}, ${tick(from)} – ${tick(until)} ${of.x.unit}`, [{ colour, name, value: `${number(found)} /s` }]);
  };
  const rich = { name: { fontSize: 13, fontWeight: 600, color: theme.text }, unit: { fontSize: 12, color: theme.faint } };
  return {
    animation: false,
    textStyle: { fontFamily: FONT, color: theme.text },
    title: all.map((one, index) => ({ text: `{name|${one.title}}  {unit|${one.y.title}}`, left: 0, top: top(index) - TITLE, padding: 0, textStyle: { rich, width: context.width, overflow: "truncate" } })),
    tooltip: { trigger: "item", confine: true, backgroundColor: theme.surface, borderColor: theme.line, textStyle: { color: theme.text, fontSize: 13, fontFamily: FONT }, formatter },
    ...zoom(context),
    grid: all.map((_, index) => ({ left: 56, right: 20, top: top(index), height: HEIGHT - 24 })),
    xAxis: all.map((_, index) =>
      below(context, isLast(index) ? of.x.title : "", {
        type: "value",
        gridIndex: index,
        min: 0,
        max: last,
        minInterval: 1,
        nameGap: 26,
        axisLabel: { ...label, show: isLast(index), showMaxLabel: Number.isInteger(last) },
      }),
    ),
    yAxis: all.map((_, index) => {
      const some = ticks && ticks.length > 5 ? ticks.filter((_, place) => place % 2 === 0) : ticks;
      return beside(context, "", {
        ...range,
        gridIndex: index,
        axisLabel: some ? { ...label, customValues: some } : label,
        ...(some ? { axisTick: { customValues: some } } : {}),
      });
    }),
    series: all.map((one, index) => ({
      type: "custom",
      progressive: 0,
      xAxisIndex: index,
      yAxisIndex: index,
      clip: false,
      data: one.cells,
      encode: { x: [0, 1], y: [2, 3] },
      markArea: {
        silent: true,
        itemStyle: { color: theme.shade },
        label: { color: theme.faint, position: "insideTop", fontSize: 11 },
        data: of.shades.map((shade) => [{ name: index === 0 ? shade.name : "", xAxis: shade.from }, { xAxis: shade.until ?? last }]),
      },
      renderItem: ({ dataIndex }: { dataIndex: number }, api: Api) => {
        const [x, y] = api.coord([api.value(0), api.value(3)]);
        const [right, bottom] = api.coord([api.value(1), api.value(2)]);
        const fill = theme.ramp[shadeOf(api.value(4), low, high, theme.ramp.length)];
        const cell = { type: "rect", shape: { x, y, width: Math.max(1, right - x - 0.5), height: Math.max(1, bottom - y - 0.5) }, style: { fill } };
        return index === 0 && dataIndex === 0 ? { type: "group", children: [cell, legend(context, one.heat.title, low, high)] } : cell;
      },
    })),
  };
}
