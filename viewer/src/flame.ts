// A profile as a flame graph: each frame stands on its caller, as wide as it was met often. Pure, as lines.ts.

import type { Flame } from "./charts";
import { type Context, type Option, tooltip } from "./lines";

/** Height of a frame, px, and of a chart's least. */
const ROW = 17;
/** Frames narrower than this show no name, px. */
const NAMED = 20;

/** Warm colours for the server, cold ones for the kernel, grey where no name is known; the same name has always the same. */
export function colour(name: string): string {
  const sum = [...name].reduce((sum, letter) => (Math.imul(sum, 31) + (letter.codePointAt(0) ?? 0)) >>> 0, 7);
  const light = 66 + (Math.floor(sum / 64) % 10);
  if (name.endsWith("_[k]")) return `hsl(${195 + (sum % 40)}, 55%, ${light}%)`;
  if (name.startsWith("[")) return `hsl(40, 8%, ${light}%)`;
  return `hsl(${12 + (sum % 42)}, 82%, ${light}%)`;
}

const depthOf = (of: Flame) => Math.max(0, ...of.frames.map((frame) => frame.depth)) + 1;

export function heightOf(of: Flame): number {
  return depthOf(of) * ROW + 4;
}

interface Api {
  value: (dimension: number) => number;
  coord: (point: [number, number]) => [number, number];
}

/** The chart of a profile. */
export function flame(context: Context, of: Flame): Option {
  const { theme } = context;
  const share = (samples: number) => `${((samples / Math.max(1, of.samples)) * 100).toFixed(1)} %`;
  return {
    animation: false,
    tooltip: {
      confine: true,
      backgroundColor: theme.surface,
      borderColor: theme.line,
      textStyle: { color: theme.text, fontSize: 13 },
      formatter: ({ dataIndex }: { dataIndex: number }) => {
        const frame = of.frames[dataIndex];
        return frame ? tooltip(share(frame.samples), [{ colour: colour(frame.name), name: frame.name, value: "" }]) : "";
      },
    },
    grid: { left: 0, right: 0, top: 2, bottom: 2 },
    xAxis: { type: "value", min: 0, max: Math.max(1, of.samples), show: false },
    yAxis: { type: "value", min: 0, max: depthOf(of), show: false },
    series: [
      {
        type: "custom",
        // all at once: there may be no clock to go on by
        progressive: 0,
        data: of.frames.map((frame) => [frame.from, frame.depth, frame.samples]),
        encode: { x: [0], y: [1] },
        renderItem: ({ dataIndex }: { dataIndex: number }, api: Api) => {
          const [from, depth, samples] = [api.value(0), api.value(1), api.value(2)];
          const [x, y] = api.coord([from, depth + 1]);
          const [right] = api.coord([from + samples, depth]);
          const name = of.frames[dataIndex]?.name ?? "";
          const width = right - x;
          return {
            type: "rect",
            shape: { x, y, width: Math.max(0.3, width - 0.5), height: ROW - 1 },
            style: { fill: colour(name) },
            textContent: {
              style: {
                text: width < NAMED ? "" : name,
                fill: "#1f2933",
                fontSize: 11,
                fontFamily: "monospace",
                width: width - 6,
                overflow: "truncate",
                ellipsis: "",
              },
            },
            textConfig: { position: "insideLeft", distance: 2, inside: true },
          };
        },
      },
    ],
  };
}
