// Colours of the charts. Told apart by people with any kind of colour vision, and by symbol beside the colour.

export interface Theme {
  series: string[];
  text: string;
  faint: string;
  line: string;
  shade: string;
  surface: string;
  good: string;
  bad: string;
}

const LIGHT: Theme = {
  series: ["#0067b8", "#c2410c", "#0f766e", "#7c3aed", "#a16207", "#be185d"],
  text: "#1f2933",
  faint: "#5b6875",
  line: "#dde3e9",
  shade: "rgba(91, 104, 117, 0.10)",
  surface: "#ffffff",
  good: "#12704a",
  bad: "#b3261e",
};

const DARK: Theme = {
  series: ["#5eb1ff", "#ff9b66", "#4fd1c0", "#b69cff", "#e6b95c", "#ff8dc0"],
  text: "#e6eaee",
  faint: "#9aa7b4",
  line: "#33404c",
  shade: "rgba(154, 167, 180, 0.12)",
  surface: "#182028",
  good: "#5fd3a2",
  bad: "#ff8a80",
};

export const SYMBOLS = ["circle", "rect", "triangle", "diamond", "pin", "arrow"];

export function theme(dark: boolean): Theme {
  return dark ? DARK : LIGHT;
}
