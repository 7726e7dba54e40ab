// Made by types.mjs from schemas/charts.json; do not edit. The charts of a page, as values.

/**
 * What a chart draws.
 */
export type Drawing =
  | (Lines & {
      kind: "lines";
    })
  | (Flame & {
      kind: "flame";
    });
/**
 * How the points of a line are joined.
 */
export type Stroke = "none" | "solid" | "dashed" | "dotted";
/**
 * How values are spaced along an axis.
 */
export type Scale = "from_zero" | "around" | "logarithmic" | "doubling" | "ratio" | "tail" | "names" | "order";

/**
 * All charts of a page.
 */
export interface Charts {
  /**
   * The charts, in the order of the page.
   */
  charts: Chart[];
  /**
   * Version of this format: 2.
   */
  format: number;
}
/**
 * A chart.
 */
export interface Chart {
  /**
   * What it is about, in words; empty: the whole run.
   */
  about: string;
  drawing: Drawing;
  /**
   * Its name in links and file names: `throughput-oltp-read-only`.
   */
  id: string;
  /**
   * What is drawn.
   */
  title: string;
}
/**
 * Values along an axis, in one panel or in several, one below the other.
 */
export interface Lines {
  /**
   * What the reader can choose from; empty: everything is shown.
   */
  choices: Choice[];
  /**
   * Places where something changed.
   */
  marks: Mark[];
  /**
   * The panels, one below the other.
   */
  panels: Panel[];
  /**
   * Places along that axis: each line uses one of these lists.
   */
  places: number[][];
  /**
   * Stretches of the axis that are marked.
   */
  shades: Shade[];
  x: Axis;
}
/**
 * A choice that the reader has.
 */
export interface Choice {
  /**
   * Index of the option that is chosen at first, and in a picture.
   */
  first: number;
  /**
   * The options.
   */
  options: string[];
  /**
   * What is chosen.
   */
  title: string;
}
/**
 * A place where something changed.
 */
export interface Mark {
  /**
   * Its place on the axis.
   */
  at: number;
  /**
   * Whether it changed for the better.
   */
  is_good: boolean;
  /**
   * By how much it changed.
   */
  text: string;
}
/**
 * Lines over one vertical axis.
 */
export interface Panel {
  /**
   * Amounts as colours, in place of lines.
   */
  heat?: Heat | null;
  /**
   * Its lines.
   */
  lines: Line[];
  /**
   * Whether lines are drawn as stacked areas.
   */
  stacked: boolean;
  /**
   * What it shows; empty: the chart's title says it, and one legend serves all panels.
   */
  title: string;
  /**
   * Choices for which the panel is shown.
   */
  when: [number, number][];
  y: Axis;
}
/**
 * Values of cells, in columns along the axis from 0 on and in rows along the vertical axis.
 */
export interface Heat {
  /**
   * Edges of the rows, ascending: one more than there are rows.
   */
  edges: number[];
  /**
   * For each column, the first row with a value.
   */
  first: number[];
  /**
   * What a value stands for.
   */
  title: string;
  /**
   * Ends of the columns.
   */
  until: number[];
  /**
   * For each column, the values of its rows from that one on.
   */
  values: number[][];
}
/**
 * Values of one thing.
 */
export interface Line {
  /**
   * Index in `places`.
   */
  at: number;
  /**
   * Whether each value gets a mark.
   */
  has_points: boolean;
  /**
   * Upper ends of the intervals.
   */
  high?: (number | null)[];
  /**
   * Values that are drawn hollow, by their index, with the reason in words.
   */
  hollow?: {
    /**
     * This interface was referenced by `undefined`'s JSON-Schema definition
     * via the `patternProperty` "^\d+$".
     */
    [k: string]: string;
  };
  /**
   * Text beside each value; empty: none.
   */
  labels?: string[];
  /**
   * Lower ends of the intervals along the axis, where places are estimates too.
   */
  left?: (number | null)[];
  /**
   * Number of its colour, the same for the same server everywhere; null: it is a secondary line.
   */
  look: number | null;
  /**
   * Lower ends of the intervals; empty: there are none.
   */
  low?: (number | null)[];
  /**
   * What it stands for: lines with the same name are hidden and shown together.
   */
  name: string;
  /**
   * What tells it apart from other lines of that name; empty: nothing.
   */
  note?: string;
  /**
   * Whether the line continues across missing values.
   */
  over_gaps: boolean;
  /**
   * Upper ends of these intervals.
   */
  right?: (number | null)[];
  stroke: Stroke;
  /**
   * Its values; null: unknown.
   */
  values: (number | null)[];
}
/**
 * An axis.
 */
export interface Axis {
  scale: Scale;
  /**
   * Values that are written beside it, and how they are written; empty: round ones.
   */
  ticks: Tick[];
  /**
   * What it shows; empty: the panel's title says it.
   */
  title: string;
  /**
   * Unit of its values: `ms`, `/s`.
   */
  unit: string;
}
/**
 * A value on an axis.
 */
export interface Tick {
  /**
   * The value.
   */
  at: number;
  /**
   * The value as it is written.
   */
  label: string;
}
/**
 * A stretch of the axis.
 */
export interface Shade {
  /**
   * Its beginning.
   */
  from: number;
  /**
   * Its name.
   */
  name: string;
  /**
   * Its end; null: the end of the axis.
   */
  until: number | null;
  /**
   * Choices for which it is shown.
   */
  when: [number, number][];
}
/**
 * Stack frames of a profile.
 */
export interface Flame {
  /**
   * The frames, each caller before those that it called.
   */
  frames: Frame[];
  /**
   * Number of samples in total.
   */
  samples: number;
}
/**
 * A function on a stack.
 */
export interface Frame {
  /**
   * Number of frames below it.
   */
  depth: number;
  /**
   * Where it begins, in samples from the left.
   */
  from: number;
  /**
   * Its name.
   */
  name: string;
  /**
   * Samples in which it appears.
   */
  samples: number;
}
