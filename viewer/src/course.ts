// One trial second by second: throughput and response time, and on the same time axis what machine, servers and client did. Pure, as
// options.ts.

import type { Report, Sampled, Seconds } from "./document";
import { escape, number, tick } from "./format";
import { type Context, FONT, type Option, below, beside, logarithmic, tooltip, word } from "./options";

/** A line of a panel; stacked ones are drawn as areas upon each other. */
interface Line {
  name: string;
  colour: string;
  data: [number, number | null][];
  dashed?: boolean;
}

interface Panel {
  title: string;
  unit: string;
  lines: Line[];
  stacked?: boolean;
  logarithmic?: boolean;
}

/** Height of a panel's drawing with its ticks, of a line of its title, and of what is below the last one, px. */
const HEIGHT = 116;
const TITLE_LINE = 20;
const FOOT = 44;
/** Room above the first panel, px. */
const HEAD = 10;
/** From this width on two columns stand beside each other, px. */
const TWO_COLUMNS = 860;

/** Names of what servers counted, for a choice. */
export function counted(course: Sampled): string[] {
  return Object.keys(course.figures).filter((name) => /^(status|metric|state)\//.test(name)).sort();
}

function streamsOf(report: Report, course: Sampled): { name: string; seconds: Seconds }[] {
  return report.trials[course.trial]?.streams ?? [];
}

function panels(context: Context, course: Sampled, chosen: string): Panel[] {
  const { series, faint } = context.theme;
  const text = (key: string) => word(context, "course", key);
  const colour = (place: number) => series[place % series.length] ?? faint;
  const streams = streamsOf(context.report, course);
  const several = streams.length > 1;
  const ofStream = (pick: (seconds: Seconds) => (number | null)[], name: string, place: number, stream: (typeof streams)[0]): Line => ({
    name: several ? `${stream.name} ${name}`.trim() : name || text("throughput"),
    colour: colour(place),
    data: stream.seconds.end_s.map((end, index) => [end, pick(stream.seconds)[index] ?? null]),
  });
  const figure = (name: string, title: string, place: number, dashed = false): Line[] => {
    const values = course.figures[name];
    if (!values) return [];
    return [{ name: text(title), colour: colour(place), dashed, data: course.at_s.map((at, index) => [at, values[index] ?? null]) }];
  };
  const lag = course.lag_ms.map((values, place): Line => {
    // a second each, but in a long trial
    const end = course.interval_s[1];
    const step = Math.max(1, end / Math.max(1, values.length));
    return { name: text("member").replace("{number}", String(place + 1)), colour: colour(place), data: values.map((ms, i) => [Math.min((i + 1) * step, end), ms]) };
  });
  const counter = course.figures[chosen];
  const all: Panel[] = [
    { title: text("throughput"), unit: "/s", lines: streams.map((one, place) => ofStream((s) => s.throughput, "", place, one)) },
    {
      title: text("latency"),
      unit: "ms",
      logarithmic: true,
      lines: streams.flatMap((one, place) => [
        ofStream((s) => s.p95_ms, "p95", 2 * place, one),
        ofStream((s) => s.p99_ms, "p99", 2 * place + 1, one),
      ]),
    },
    { title: text("lag"), unit: "ms", lines: lag },
    {
      title: text("counted"),
      unit: "",
      lines: counter
        ? [{ name: chosen.replace(/^\w+\//, ""), colour: colour(3), data: course.at_s.map((at, index) => [at, counter[index] ?? null]) }]
        : [],
    },
    {
      title: text("switches"),
      unit: "/s",
      lines: [
        ...figure("server/switches_voluntary", "server_voluntary", 0),
        ...figure("server/switches_involuntary", "server_involuntary", 1),
        ...figure("machine/switches", "machine", 4, true),
      ],
    },
    {
      title: text("cpu"),
      unit: "CPU",
      stacked: true,
      lines: [
        ...figure("cpu/user", "user", 0),
        ...figure("cpu/system", "system", 1),
        ...figure("cpu/iowait", "iowait", 4),
        ...figure("cpu/steal", "steal", 5),
      ],
    },
    {
      title: text("processes"),
      unit: "CPU",
      stacked: true,
      lines: [
        ...figure("server/cpu_user", "server_user", 0),
        ...figure("server/cpu_system", "server_system", 1),
        ...figure("client/cpu_user", "client_user", 2),
        ...figure("client/cpu_system", "client_system", 3),
        ...figure("relay/cpu_user", "relay_user", 4),
        ...figure("relay/cpu_system", "relay_system", 5),
      ],
    },
    {
      title: text("memory"),
      unit: "MB",
      lines: [...figure("server/memory_mb", "server", 0), ...figure("client/memory_mb", "client", 2)],
    },
    {
      title: text("disk"),
      unit: "MB/s",
      lines: [
        ...figure("disk/read_mb", "read", 0),
        ...figure("disk/written_mb", "written", 1),
        ...figure("server/written_mb", "server_written", 4, true),
      ],
    },
    {
      title: text("network"),
      unit: "MB/s",
      lines: [...figure("network/received_mb", "received", 0), ...figure("network/sent_mb", "sent", 1, true)],
    },
    {
      title: text("pressure"),
      unit: "%",
      lines: (["cpu_some", "io_some", "memory_some"] as const).flatMap((name, place) =>
        figure(`pressure/${name}`, name, place).map((line) => ({
          ...line,
          data: line.data.map(([at, share]): [number, number | null] => [at, share === null ? null : share * 100]),
        })),
      ),
    },
  ];
  return all.filter((panel) => panel.lines.length > 0);
}

function columnsOf(width: number): number {
  return width >= TWO_COLUMNS ? 2 : 1;
}

/** Height of what stands above a panel: where it is narrow, names get a line of their own. */
function titleOf(context: Context, all: Panel[]): number {
  const letters = (text: string) => [...text].reduce((sum, letter) => sum + (letter > "\u2e7f" ? 13 : 7.2), 0);
  const width = (panel: Panel) => letters(panel.title) + panel.lines.reduce((sum, line) => sum + letters(line.name) + 26, 40);
  const room = context.width / columnsOf(context.width);
  return TITLE_LINE * (all.some((panel) => width(panel) > room) ? 2 : 1);
}

/** Height of the chart, px. */
export function heightOf(context: Context, course: Sampled, chosen: string): number {
  const all = panels(context, course, chosen);
  return Math.ceil(all.length / columnsOf(context.width)) * (HEIGHT + titleOf(context, all)) + HEAD + FOOT;
}

/** What is coloured how, above a panel: its title, then a mark and a name for each line. */
function title(context: Context, panel: Panel, left: number, top: number, lines: number): Option {
  const narrow = lines > 1;
  const fontSize = narrow ? 11 : 12;
  const lineHeight = TITLE_LINE - 2;
  const rich: Record<string, Option> = { title: { color: context.theme.text, fontSize: 13, fontWeight: 600, lineHeight } };
  const marks = panel.lines.map((line, index) => {
    rich[`c${index}`] = { color: line.colour, fontSize, lineHeight };
    return `{c${index}|${line.dashed ? "╌" : "■"} ${line.name}}`;
  });
  const single = panel.lines.length === 1 && panel.lines[0]?.name === panel.title;
  return {
    text: [`{title|${panel.title}${panel.unit ? `, ${panel.unit}` : ""}}`, (single ? [] : marks).join(narrow ? " " : "  ")].join(narrow ? "\n" : "  "),
    left,
    top,
    padding: 0,
    textStyle: { rich, fontSize: 12, fontWeight: "normal", color: context.theme.text },
  };
}

/** The chart of a course; `chosen` is the figure of the servers that is shown. */
export function course(context: Context, of: Sampled, chosen: string): Option {
  const { theme } = context;
  const all = panels(context, of, chosen);
  const columns = columnsOf(context.width);
  const rows = Math.ceil(all.length / columns);
  const left = (index: number) => (Math.floor(index / rows) * context.width) / columns;
  const above = titleOf(context, all);
  const top = (index: number) => HEAD + (index % rows) * (HEIGHT + above);
  const isLast = (index: number) => index % rows === rows - 1 || index === all.length - 1;
  const seconds = streamsOf(context.report, of).flatMap((stream) => stream.seconds.end_s);
  const last = Math.max(1, of.interval_s[1], ...of.at_s, ...seconds);
  const area = (from: number, until: number, name: string) => [{ name, xAxis: from }, { xAxis: until }];
  const shaded = (first: boolean) => ({
    silent: true,
    itemStyle: { color: theme.shade },
    label: { color: theme.faint, position: "insideTop", fontSize: 11 },
    data: [
      ...(of.interval_s[0] > 0 ? [area(0, of.interval_s[0], first ? word(context, "html", "warm_up") : "")] : []),
      ...(of.interval_s[1] < last ? [area(of.interval_s[1], last, "")] : []),
    ],
  });
  const formatter = (hovered: { seriesIndex: number; axisValue: number; value: (number | null)[] }[]) => {
    const lines = all.flatMap((panel) => panel.lines.map((line) => ({ panel, line })));
    const at = hovered[0]?.axisValue ?? 0;
    const rows = lines.flatMap(({ panel, line }) => {
      const nearest = line.data.find(([x, y]) => x >= at - 1e-9 && y !== null);
      if (!nearest) return [];
      const name = panel.title === line.name ? line.name : `${panel.title}: ${line.name}`;
      return [{ colour: line.colour, name, value: `${number(nearest[1] ?? NaN)} ${panel.unit}` }];
    });
    return tooltip(`${tick(Number(at.toFixed(1)))} s`, rows);
  };
  return {
    animation: false,
    textStyle: { fontFamily: FONT, color: theme.text },
    title: all.map((panel, index) => title(context, panel, left(index), top(index), above / TITLE_LINE)),
    tooltip: {
      trigger: "axis",
      confine: true,
      backgroundColor: theme.surface,
      borderColor: theme.line,
      textStyle: { color: theme.text, fontSize: 12, fontFamily: FONT },
      formatter,
    },
    axisPointer: { link: [{ xAxisIndex: "all" }], lineStyle: { color: theme.faint } },
    grid: all.map((_, index) => ({
      left: left(index) + 56,
      width: context.width / columns - 56 - 24,
      top: top(index) + above + 4,
      height: HEIGHT - 32,
    })),
    xAxis: all.map((_, index) =>
      below(context, isLast(index) ? word(context, "html", "seconds") : "", {
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
      const values = panel.lines.flatMap((line) => line.data.map(([, value]) => value));
      const scale = panel.logarithmic ? logarithmic(values) : { type: "value", min: 0 };
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
      panel.lines.map((line, place) => ({
        name: escape(line.name),
        type: "line",
        xAxisIndex: index,
        yAxisIndex: index,
        data: line.data,
        symbol: "circle",
        symbolSize: 4,
        // what is seldom looked at, as all threads of a busy server, has gaps
        connectNulls: true,
        showSymbol: line.data.filter(([, value]) => value !== null).length < 4,
        itemStyle: { color: line.colour },
        lineStyle: { color: line.colour, width: 1.6, type: line.dashed ? "dashed" : "solid" },
        ...(panel.stacked ? { stack: `${index}`, areaStyle: { color: line.colour, opacity: 0.3 } } : {}),
        ...(place === 0 ? { markArea: shaded(index === 0) } : {}),
      })),
    ),
  };
}
