// Draws the charts of a page. The page holds them as values in #prony-charts, and an empty element for each:
// <div data-chart="ID">. Nothing is fetched. Without a page, a program asks for drawings: `pronyChart`.

import { type EChartsType, init } from "echarts/core";
import { FORMAT } from "./chart";
import type { Chart, Charts } from "./charts";
import { firstOf, optionOf, svgOf } from "./draw";
import { theme } from "./theme";

/** A drop-down list with its label; returns the list. */
function chooser(label: string, options: { value: number; text: string }[], chosen: number): { element: HTMLElement; list: HTMLSelectElement } {
  const element = document.createElement("label");
  element.className = "chooser";
  element.append(`${label} `);
  const list = document.createElement("select");
  for (const { value, text } of options) {
    const option = document.createElement("option");
    option.value = String(value);
    option.textContent = text;
    option.selected = value === chosen;
    list.append(option);
  }
  element.append(list);
  return { element, list };
}

/** One chart on the page: what it shows depends on what is chosen beside it. */
class Place {
  private readonly instance: EChartsType;
  private readonly options: number[];
  private choosers: HTMLElement[] = [];

  constructor(
    private readonly place: HTMLElement,
    private readonly chart: Chart,
  ) {
    this.instance = init(place, null, { renderer: "svg" });
    this.options = firstOf(chart);
    this.offer();
    new ResizeObserver(() => this.draw(isDark())).observe(place);
  }

  /** Draws everything anew in light or dark. */
  draw(dark: boolean): void {
    const context = { theme: theme(dark), width: this.place.clientWidth };
    const { option, height } = optionOf(context, this.chart, this.options);
    if (this.place.style.height !== `${height}px`) this.place.style.height = `${height}px`;
    this.instance.resize();
    this.instance.setOption(option, { notMerge: true });
    this.place.dataset["ready"] = "yes";
  }

  /** Offers, for each choice, what there is under the choices before it. */
  private offer(): void {
    for (const element of this.choosers) element.remove();
    this.choosers = [];
    const { drawing } = this.chart;
    if (drawing.kind !== "lines") return;
    for (const [place, choice] of drawing.choices.entries()) {
      const others = (when: [number, number][]) => when.every(([of, option]) => of === place || this.options[of] === option);
      const some = new Set(drawing.panels.filter(({ when }) => others(when)).flatMap(({ when }) => when.flatMap(([of, option]) => (of === place ? [option] : []))));
      const offered = choice.options.flatMap((text, value) => (some.has(value) ? [{ value, text }] : []));
      if (!some.has(this.options[place] ?? 0)) this.options[place] = offered[0]?.value ?? 0;
      if (offered.length < 2) continue;
      const { element, list } = chooser(choice.title, offered, this.options[place] ?? 0);
      list.addEventListener("change", () => {
        this.options[place] = Number(list.value);
        if (drawing.choices.length > 1) this.offer();
        this.draw(isDark());
      });
      this.choosers.push(element);
    }
    this.place.closest("figure")?.querySelector("figcaption")?.append(...this.choosers);
  }
}

const places: Place[] = [];
let printing = false;

const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches && !printing;

function drawAll(): void {
  for (const place of places) place.draw(isDark());
}

function start(): void {
  const embedded = JSON.parse(document.getElementById("prony-charts")?.textContent ?? "null") as Charts;
  if (embedded.format !== FORMAT) throw new Error(`the charts have format ${embedded.format}, the viewer knows ${FORMAT}`);
  const charts = new Map(embedded.charts.map((chart) => [chart.id, chart]));
  for (const place of document.querySelectorAll<HTMLElement>("[data-chart]")) {
    const chart = charts.get(place.dataset["chart"] ?? "");
    if (chart) places.push(new Place(place, chart));
  }
  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  const print = (begins: boolean) => () => {
    // paper is white
    printing = begins;
    drawAll();
  };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));
}

if (typeof document !== "undefined") start();
else {
  // an engine alone has no clock; a drawing that is not looked at needs none
  const pronyChart = (json: string, width: number) => svgOf(JSON.parse(json) as Chart, width);
  Object.assign(globalThis, { setTimeout: () => 0, clearTimeout: () => undefined, pronyChart });
}
