// What is drawn of a chart. Its types are those of the program (crates/prony/src/report/chart.rs): `npm run types`.

import type { Line, Lines, Panel, Shade } from "./charts";

/** The version of the form that this viewer knows. */
export const FORMAT = 2;

/** What is shown of lines where these options are chosen. */
export function chosen(of: Lines, options: number[]): Lines {
  const holds = ({ when }: Panel | Shade) => when.every(([choice, option]) => options[choice] === option);
  return { ...of, panels: of.panels.filter(holds), shades: of.shades.filter(holds) };
}

/** A point of a line: where it stands, its value, the ends of its interval. */
export type Row = [x: number, value: number | null, low: number | null, high: number | null];

export function rows(of: Lines, line: Line): Row[] {
  const places = of.places[line.at] ?? [];
  return line.values.map((value, place) => [places[place] ?? place, value, line.low?.[place] ?? null, line.high?.[place] ?? null]);
}

/** Several lines that have one place alone would lie on each other: they become rows beside each other, each with its name. */
export function besideEachOther(of: Lines): Lines {
  const [panel, ...others] = of.panels;
  const [tick, ...ticks] = of.x.ticks;
  const single = (line: Line) => line.values.length === 1 && of.places[line.at]?.length === 1 && line.left === undefined && line.look !== null;
  const shown = panel?.lines ?? [];
  if (new Set(shown.map(({ name }) => name)).size < shown.length) return of;
  if (!panel || !tick || ticks.length + others.length + of.shades.length > 0 || shown.length < 2 || !shown.every(single)) return of;
  const all = shown.map((_, place) => place);
  const lines = shown.map((line, own): Line => {
    const alone = <T>(values: (T | null)[] | undefined) => all.map((place) => (place === own ? (values?.[0] ?? null) : null));
    const reason = line.hollow?.["0"];
    const { low, high, hollow, ...rest } = line;
    const ends = low?.length && high?.length ? { low: alone(low), high: alone(high) } : {};
    return { ...rest, ...ends, at: 0, values: alone(line.values), ...(hollow && reason !== undefined ? { hollow: { [own]: reason } } : {}) };
  });
  const x = { ...of.x, scale: "names" as const, ticks: shown.map(({ name }, at) => ({ at, label: name })) };
  return { ...of, x, places: [all], panels: [{ ...panel, lines }] };
}
