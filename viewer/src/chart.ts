// What is drawn of a chart. Its types are those of the program (crates/prony/src/report/chart.rs): `npm run types`.

import type { Line, Lines, Panel, Shade } from "./charts";

/** The version of the form that this viewer knows. */
export const FORMAT = 1;

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
