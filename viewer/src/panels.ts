// Many panels over one time axis, each with its own lines named above it: one trial second by second. Pure, as lines.ts.

import { rows } from "./chart";
import type { Line, Lines, Panel } from "./charts";
import { escape, number, tick } from "./format";
import { below, beside, type Context, FONT, headOf, letters, logarithmic, look, type Option, tooltip, zoom } from "./lines";

/** Height of a panel's drawing with its ticks, of a line of its title, and of what is below the last one, px. */
const HEIGHT = 116;
const TITLE_LINE = 20;
const FOOT = 44;
/** Room above the first panel, px. */
const HEAD = 10;
/** From this width on two columns stand beside each other, px. */
const TWO_COLUMNS = 860;

function columnsOf(width: number): number {
  return width >= TWO_COLUMNS ? 2 : 1;
}

/** Names of a panel's lines in as many lines as they need, behind its title where there is room. */
function named(context: Context, panel: Panel): Line[][] {
  const room = context.width / columnsOf(context.width) - 20;
  const single = panel.lines.length === 1 && panel.lines[0]?.name === panel.title;
  let used = letters(panel.title) + letters(panel.y.unit) + 24;
  const all: Line[][] = [[]];
  for (const line of single ? [] : panel.lines) {
    const width = letters(line.name) + 24;
    if (used + width > room) {
      all.push([]);
      used = 0;
    }
    all.at(-1)?.push(line);
    used += width;
  }
  return all;
}

/** Height of what stands above a panel: as much for all as one of them needs. */
function titleOf(context: Context, all: Panel[]): number {
  return TITLE_LINE * Math.max(1, ...all.map((panel) => named(context, panel).length));
}

/** Height of the chart, px. */
export function heightOf(context: Context, of: Lines): number {
  const all = of.panels;
  return Math.ceil(all.length / columnsOf(context.width)) * (HEIGHT + titleOf(context, all)) + HEAD + FOOT;
}

/** What is coloured how, above a panel: its title, then a mark and a name for each line. */
function title(context: Context, panel: Panel, left: number, top: number): Option {
  const lineHeight = TITLE_LINE - 2;
  const rich: Record<string, Option> = { title: { color: context.theme.text, fontSize: 13, fontWeight: 600, lineHeight } };
  const mark = (line: Line) => {
    const style = `c${panel.lines.indexOf(line)}`;
    rich[style] = { color: look(context, line).colour, fontSize: 12, lineHeight };
    return `{${style}|${line.stroke === "solid" ? "■" : "╌"} ${line.name}}`;
  };
  const lines = named(context, panel).map((some) => some.map(mark).join("  "));
  return {
    text: `{title|${panel.title}${panel.y.unit ? `, ${panel.y.unit}` : ""}}  ${lines.join("\n")}`,
    left,
    top,
    padding: 0,
    textStyle: { rich, fontSize: 12, fontWeight: "normal", color: context.theme.text },
  };
}

/** The chart of what is chosen. */
export function panels(context: Context, of: Lines): Option {
  const { theme } = context;
  const all = of.panels;
  const columns = columnsOf(context.width);
  const count = Math.ceil(all.length / columns);
  const left = (index: number) => (Math.floor(index / count) * context.width) / columns;
  const above = titleOf(context, all);
  const top = (index: number) => HEAD + (index % count) * (HEIGHT + above);
  const isLast = (index: number) => index % count === count - 1 || index === all.length - 1;
  const places = all.flatMap((panel) => panel.lines.flatMap((line) => of.places[line.at] ?? []));
  const last = Math.max(1, ...places, ...of.shades.map((shade) => shade.until ?? shade.from));
  const shades = of.shades.filter((shade) => (shade.until ?? last) > shade.from);
  const shaded = (first: boolean) => ({
    silent: true,
    itemStyle: { color: theme.shade },
    label: { color: theme.faint, position: "insideTop", fontSize: 11 },
    data: shades.map((shade) => [{ name: first ? shade.name : "", xAxis: shade.from }, { xAxis: shade.until ?? last }]),
  });
  const lines = all.flatMap((panel) => panel.lines.map((line) => ({ panel, line, points: rows(of, line) })));
  const formatter = (hovered: { axisValue: number }[]) => {
    const at = hovered[0]?.axisValue ?? 0;
    const told = lines.flatMap(({ panel, line, points }) => {
      const nearest = points.find(([x, value]) => x >= at - 1e-9 && value !== null);
      if (!nearest) return [];
      const name = panel.title === line.name ? line.name : `${panel.title}: ${line.name}`;
      return [{ colour: look(context, line).colour, name, value: `${number(nearest[1] ?? NaN)} ${panel.y.unit}` }];
    });
    return tooltip(headOf(of.x, at), told);
  };
  return {
    animation: false,
    textStyle: { fontFamily: FONT, color: theme.text },
    title: all.map((panel, index) => title(context, panel, left(index), top(index))),
    tooltip: {
      trigger: "axis",
      confine: true,
      backgroundColor: theme.surface,
      borderColor: theme.line,
      textStyle: { color: theme.text, fontSize: 12, fontFamily: FONT },
      formatter,
    },
    ...zoom(context),
    axisPointer: { link: [{ xAxisIndex: "all" }], lineStyle: { color: theme.faint } },
    grid: all.map((_, index) => ({
      left: left(index) + 56,
      width: context.width / columns - 56 - 24,
      top: top(index) + above + 4,
      height: HEIGHT - 32,
    })),
    xAxis: all.map((_, index) =>
      below(context, isLast(index) ? of.x.title : "", {
        type: "value",
        gridIndex: index,
        min: 0,
        max: last,
        minInterval: 1,
        nameGap: 22,
        axisLabel: { color: theme.faint, fontSize: 11, hideOverlap: true, formatter: tick, showMaxLabel: Number.isInteger(last) },
      }),
    ),
    yAxis: all.map((panel, index) => {
      const label = { color: theme.faint, fontSize: 11, formatter: tick, hideOverlap: true };
      const values = panel.lines.flatMap((line) => line.values);
      const scale = panel.y.scale === "logarithmic" ? logarithmic(values) : { type: "value", min: 0 };
      const { ticks, ...range } = scale as Option & { ticks?: number[] };
      const some = ticks && ticks.length > 4 ? ticks.filter((_, place) => place % 2 === 0) : ticks;
      return beside(context, "", {
        ...range,
        gridIndex: index,
        splitNumber: 3,
        axisLabel: some ? { ...label, customValues: some } : label,
        ...(some ? { axisTick: { customValues: some } } : {}),
      });
    }),
    series: all.flatMap((panel, index) =>
      panel.lines.map((line, place) => {
        const { colour } = look(context, line);
        return {
          name: escape(line.name),
          type: "line",
          xAxisIndex: index,
          yAxisIndex: index,
          data: rows(of, line).map(([x, value]) => [x, value]),
          symbol: "circle",
          symbolSize: 4,
          // what is seldom looked at, as all threads of a busy server, has gaps
          connectNulls: line.over_gaps,
          showSymbol: line.values.filter((value) => value !== null).length < 4,
          itemStyle: { color: colour },
          lineStyle: { color: colour, width: 1.6, type: line.stroke },
          ...(panel.stacked ? { stack: `${index}`, areaStyle: { color: colour, opacity: 0.3 } } : {}),
          ...(place === 0 ? { markArea: shaded(index === 0) } : {}),
        };
      }),
    ),
  };
}
