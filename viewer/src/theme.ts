// Colours of the charts. Told apart by people with any kind of colour vision, and by symbol beside the colour.

export interface Theme {
  series: string[];
  /** From little to much: of one hue, so that lightness alone tells. */
  ramp: string[];
  text: string;
  faint: string;
  line: string;
  shade: string;
  surface: string;
  good: string;
  bad: string;
}

const LIGHT: Theme = {
  series: ["#0067b8", "#c2410c", "#0f766e", "#7c3aed", "#a16207", "#be185d", "#4d7c0f", "#475569"],
  ramp: ["#dcebf8", "#b3d3ee", "#7fb3de", "#4a8fca", "#1f6bb0", "#0b4a86", "#06305a"],
  text: "#1f2933",
  faint: "#5b6875",
  line: "#dde3e9",
  shade: "rgba(91, 104, 117, 0.10)",
  surface: "#ffffff",
  good: "#12704a",
  bad: "#b3261e",
};

const DARK: Theme = {
  series: ["#5eb1ff", "#ff9b66", "#4fd1c0", "#b69cff", "#e6b95c", "#ff8dc0", "#a3d15f", "#b8c4d0"],
  ramp: ["#1d3348", "#23496b", "#2b6394", "#3a80bd", "#5b9fdb", "#90c2f0", "#d3e8fb"],
  text: "#e6eaee",
  faint: "#9aa7b4",
  line: "#33404c",
  shade: "rgba(154, 167, 180, 0.12)",
  surface: "#182028",
  good: "#5fd3a2",
  bad: "#ff8a80",
};

/** Shapes that ECharts has no name for. */
export const DOWN = "path://M-1,-0.8L1,-0.8L0,1Z";
export const PENTAGON = "path://M0,-1L0.95,-0.31L0.59,0.81L-0.59,0.81L-0.95,-0.31Z";
export const STAR = "path://M0,-1L0.24,-0.31L0.95,-0.31L0.38,0.12L0.59,0.81L0,0.4L-0.59,0.81L-0.38,0.12L-0.95,-0.31L-0.24,-0.31Z";
export const CROSS = "path://M-0.35,-1L0.35,-1L0.35,-0.35L1,-0.35L1,0.35L0.35,0.35L0.35,1L-0.35,1L-0.35,0.35L-1,0.35L-1,-0.35L-0.35,-0.35Z";

export const SYMBOLS = ["circle", "rect", "triangle", "diamond", DOWN, PENTAGON, STAR, CROSS];

export function theme(dark: boolean): Theme {
  return dark ? DARK : LIGHT;
}
