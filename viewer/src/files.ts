// A chart as a file that a reader keeps: its numbers, or a picture.

import { chosen, rows } from "./chart";
import type { Chart } from "./charts";
import { cells } from "./heat";

/** Text as a field of CSV; a leading sign would make a formula of it. */
function field(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

/** The numbers of what is shown, a line for each point. */
export function csvOf({ drawing }: Chart, options: number[]): string {
  const lines: (string | number | null)[][] = [];
  if (drawing.kind === "flame") {
    lines.push(["function", "depth", "from", "samples"]);
    for (const { name, depth, from, samples } of drawing.frames) lines.push([name, depth, from, samples]);
  } else {
    const of = chosen(drawing, options);
    const maps = of.panels.flatMap(({ heat, title, y }) => (heat ? [{ heat, title, y }] : []));
    for (const [place, { heat, title, y }] of maps.entries()) {
      if (place === 0) lines.push(["of", `from, ${of.x.unit}`, `until, ${of.x.unit}`, `from, ${y.unit}`, `until, ${y.unit}`, heat.title]);
      for (const cell of cells(heat)) lines.push([title, ...cell]);
    }
    if (maps.length > 0) return written(lines);
    const labels = new Map(of.x.ticks.map((one) => [one.at, one.label.replace("\n", " ")]));
    lines.push(["what", "of", "note", of.x.title, "value", "low", "high", "unit", "remark"]);
    for (const panel of of.panels) {
      for (const line of panel.lines) {
        for (const [place, [x, value, low, high]] of rows(of, line).entries()) {
          const at = of.x.scale === "names" ? (labels.get(x) ?? x) : x;
          const remark = line.hollow?.[place] ?? line.labels?.[place] ?? "";
          if (value !== null) lines.push([panel.title || panel.y.title, line.name, line.note ?? "", at, value, low, high, panel.y.unit, remark]);
        }
      }
    }
  }
  return written(lines);
}

function written(lines: (string | number | null)[][]): string {
  return lines.map((line) => `${line.map(field).join(",")}\r\n`).join("");
}

/** Hands a file to the reader. */
export function save(name: string, url: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}

/** A drawing as an address without a server. */
export function addressOf(svg: string): string {
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}

/** A drawing in pixels, twice as many as on the page, for paper and slides. */
export async function pngOf(svg: string): Promise<string> {
  const image = new Image();
  image.src = addressOf(svg);
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width * 2, image.height * 2];
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
}
