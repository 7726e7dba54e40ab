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
 * How values lie along an axis.
 */
export type Scale = "from_zero" | "around" | "logarithmic" | "doubling" | "tail" | "names" | "order";

/**
 * All charts of a page.
 */
export interface Charts {
  /**
   * In the order of the page.
   */
  charts: Chart[];
  /**
   * Version of this form: 1.
   */
  format: number;
}
/**
 * A chart.
 */
export interface Chart {
  /**
   * Of what, in words; empty: of the whole run.
   */
  about: string;
  drawing: Drawing;
  /**
   * What a link or a file names it: `throughput-oltp-read-only`.
   */
  id: string;
  /**
   * What is drawn.
   */
  title: string;
}
/**
 * Values along an axis, in one panel or several below each other.
 */
export interface Lines {
  /**
   * What the reader chooses of; empty: all is shown.
   */
  choices: Choice[];
  /**
   * Places where something changed.
   */
  marks: Mark[];
  /**
   * What is drawn, one below the other.
   */
  panels: Panel[];
  /**
   * Places along it: each line has one of these lists.
   */
  places: number[][];
  /**
   * Stretches of the axis that are marked.
   */
  shades: Shade[];
  x: Axis;
}
/**
 * Something that a reader chooses.
 */
export interface Choice {
  /**
   * What is chosen at first, and in a picture.
   */
  first: number;
  /**
   * From what.
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
   * On the axis.
   */
  at: number;
  /**
   * Whether for the better.
   */
  is_good: boolean;
  /**
   * How much.
   */
  text: string;
}
/**
 * Lines over one vertical axis.
 */
export interface Panel {
  /**
   * Its lines.
   */
  lines: Line[];
  /**
   * Whether lines are areas upon each other.
   */
  stacked: boolean;
  /**
   * What it shows; empty: the chart's title says it, and one legend serves all panels.
   */
  title: string;
  /**
   * What must be chosen for it to be shown.
   */
  when: [number, number][];
  y: Axis;
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
   * Whether each value has a sign of its own.
   */
  has_points: boolean;
  /**
   * Upper ends.
   */
  high?: (number | null)[];
  /**
   * Values that are drawn hollow, by their place in the list, with the reason in words.
   */
  hollow?: {
    /**
     * This interface was referenced by `undefined`'s JSON-Schema definition
     * via the `patternProperty` "^\d+$".
     */
    [k: string]: string;
  };
  /**
   * Number of its colour, the same for the same server everywhere; null: it is beside the others.
   */
  look: number | null;
  /**
   * Lower ends of their intervals; empty: it has none.
   */
  low?: (number | null)[];
  /**
   * What it is of: lines of one name are hidden and shown together.
   */
  name: string;
  /**
   * What tells it from others of the name; empty: nothing.
   */
  note?: string;
  /**
   * Whether lines go on over values that are missing.
   */
  over_gaps: boolean;
  stroke: Stroke;
  /**
   * Its values; null: none is known.
   */
  values: (number | null)[];
}
/**
 * An axis.
 */
export interface Axis {
  scale: Scale;
  /**
   * Values that are written beside it, with how they are written; empty: round ones.
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
   * As it is written.
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
   * What it is.
   */
  name: string;
  /**
   * Its end; null: that of the axis.
   */
  until: number | null;
  /**
   * What must be chosen for it to be shown.
   */
  when: [number, number][];
}
/**
 * Frames of a profile.
 */
export interface Flame {
  /**
   * Callers before what they called.
   */
  frames: Frame[];
  /**
   * Samples of all.
   */
  samples: number;
}
/**
 * A function that was met.
 */
export interface Frame {
  /**
   * Frames below it.
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
   * Samples in which it was met.
   */
  samples: number;
}
