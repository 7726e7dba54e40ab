// Draws the charts of a page. The page holds them as values in #prony-charts, and an empty element for each:
// <div data-chart="ID">. Nothing is fetched. Without a page, a program asks for drawings: `pronyChart`.

import { type EChartsType, init } from "echarts/core";
import { FORMAT } from "./chart";
import type { Chart, Charts } from "./charts";
import { firstOf, optionOf, svgOf } from "./draw";
import { addressOf, csvOf, pngOf, save } from "./files";
import { inLanguage, preferred } from "./language";
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
  private readonly beside: HTMLElement;

  constructor(
    private readonly place: HTMLElement,
    private chart: Chart,
  ) {
    this.instance = init(place, null, { renderer: "svg" });
    this.options = firstOf(chart);
    this.beside = document.createElement("span");
    this.beside.className = "choosers";
    this.place.closest("figure")?.querySelector("figcaption")?.append(this.beside);
    this.offer();
    this.instance.getZr().on("dblclick", () => this.instance.dispatchAction({ type: "dataZoom", start: 0, end: 100 }));
    new ResizeObserver(() => this.draw()).observe(place);
  }

  /** Draws everything anew, in light or dark. */
  draw(): void {
    const context = { theme: theme(isDark()), width: this.place.clientWidth, canZoom: matchMedia("(pointer: fine)").matches };
    if (context.width === 0) return;
    const { option, height } = optionOf(context, this.chart, this.options);
    if (this.place.style.height !== `${height}px`) this.place.style.height = `${height}px`;
    this.instance.resize();
    this.instance.setOption(option, { notMerge: true });
    this.place.dataset["ready"] = "yes";
  }

  /** Shows what is new of the same chart. */
  update(chart: Chart): void {
    this.chart = chart;
    this.draw();
  }

  /** Says the same in another language. */
  say(chart: Chart): void {
    this.chart = chart;
    this.offer();
    this.draw();
  }

  /** Offers, for each choice, what there is under the choices before it; and the chart as a file. */
  private offer(): void {
    this.beside.replaceChildren();
    const { drawing } = this.chart;
    for (const [place, choice] of drawing.kind === "lines" ? drawing.choices.entries() : []) {
      const others = (when: [number, number][]) => when.every(([of, option]) => of === place || this.options[of] === option);
      const panels = drawing.kind === "lines" ? drawing.panels : [];
      const some = new Set(panels.filter(({ when }) => others(when)).flatMap(({ when }) => when.flatMap(([of, option]) => (of === place ? [option] : []))));
      const offered = choice.options.flatMap((text, value) => (some.has(value) ? [{ value, text }] : []));
      if (!some.has(this.options[place] ?? 0)) this.options[place] = offered[0]?.value ?? 0;
      if (offered.length < 2) continue;
      const { element, list } = chooser(choice.title, offered, this.options[place] ?? 0);
      list.addEventListener("change", () => {
        this.options[place] = Number(list.value);
        if (drawing.kind === "lines" && drawing.choices.length > 1) this.offer();
        this.draw();
      });
      this.beside.append(element);
    }
    this.beside.append(this.files());
  }

  /** Buttons that hand over what is shown. */
  private files(): HTMLElement {
    const all = document.createElement("span");
    all.className = "files";
    const { id, title } = this.chart;
    const drawn = () => svgOf(this.chart, Math.max(this.place.clientWidth, 480), this.options);
    const kinds: [string, () => Promise<string> | string][] = [
      ["SVG", () => addressOf(drawn())],
      ["PNG", () => pngOf(drawn())],
      ["CSV", () => `data:text/csv;charset=utf-8,${encodeURIComponent(csvOf(this.chart, this.options))}`],
    ];
    for (const [kind, url] of kinds) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind;
      button.setAttribute("aria-label", `${kind}: ${title}`);
      button.addEventListener("click", async () => save(`${id}.${kind.toLowerCase()}`, await url()));
      all.append(button);
    }
    return all;
  }
}

const places = new Map<string, Place>();
let printing = false;

const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches && !printing;

function drawAll(): void {
  for (const place of places.values()) place.draw();
}

/** Every chart by its id, in a language. */
function chartsIn(embedded: unknown, code: string): Map<string, Chart> {
  const said = inLanguage(embedded, code) as Charts;
  if (said.format !== FORMAT) throw new Error(`the charts have format ${said.format}, the viewer knows ${FORMAT}`);
  return new Map(said.charts.map((chart) => [chart.id, chart]));
}

/** What a narrow screen shows beside each cell, for it has no room for columns: the column's head. */
function nameCells(code: string): void {
  const said = (cell: Element) => (cell.querySelector(`:scope > [lang="${code}"]`) ?? cell).textContent?.trim() ?? "";
  for (const table of document.querySelectorAll("table:has(thead)")) {
    const heads = [...table.querySelectorAll("thead th")].map(said);
    for (const row of table.querySelectorAll("tbody tr")) {
      for (const [place, cell] of [...row.children].entries()) if (cell.tagName === "TD") cell.setAttribute("data-head", heads[place] ?? "");
    }
  }
}

/** What scrolls by itself can be reached with the keyboard. */
function reach(): void {
  for (const element of document.querySelectorAll<HTMLElement>(".scroll, pre")) {
    const scrolls = element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight;
    if (scrolls) element.tabIndex = 0;
    else element.removeAttribute("tabindex");
  }
}

/** The whole page in a language. */
function speak(embedded: unknown, code: string): void {
  document.documentElement.lang = code;
  const title = document.querySelector("h1");
  document.title = (title?.querySelector(`[lang="${code}"]`) ?? title)?.textContent ?? "";
  for (const element of document.querySelectorAll(`[data-aria-label-${code}]`)) {
    element.setAttribute("aria-label", element.getAttribute(`data-aria-label-${code}`) ?? "");
  }
  for (const button of document.querySelectorAll<HTMLElement>("[data-language]")) {
    button.setAttribute("aria-pressed", String(button.dataset["language"] === code));
  }
  nameCells(code);
  const charts = chartsIn(embedded, code);
  for (const place of document.querySelectorAll<HTMLElement>("[data-chart]")) {
    const id = place.dataset["chart"] ?? "";
    const chart = charts.get(id);
    if (!chart) continue;
    const known = places.get(id);
    if (known) known.say(chart);
    else places.set(id, new Place(place, chart));
  }
  drawAll();
  reach();
}

function start(): void {
  const embedded: unknown = JSON.parse(document.getElementById("prony-charts")?.textContent ?? "null");
  const buttons = [...document.querySelectorAll<HTMLElement>("[data-language]")];
  const codes = buttons.flatMap((button) => button.dataset["language"] ?? []);
  for (const button of buttons) {
    button.addEventListener("click", () => speak(embedded, button.dataset["language"] ?? ""));
    button.parentElement?.removeAttribute("hidden");
  }
  const { lang, dataset } = document.documentElement;
  const liked = "asked" in dataset ? undefined : preferred(codes, navigator.languages);
  speak(embedded, liked ?? lang);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  addEventListener("resize", reach);
  addEventListener("toggle", reach, { capture: true });
  const print = (begins: boolean) => () => {
    // paper is white
    printing = begins;
    drawAll();
  };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));
}

if (typeof document !== "undefined") {
  if (document.getElementById("prony-charts")) start();
  // a page without charts of its own (`serve`) asks for drawings by itself
  else Object.assign(globalThis, { pronyPlace: (place: HTMLElement, chart: Chart) => new Place(place, chart) });
} else {
  // an engine alone has no clock; a drawing that is not looked at needs none
  const pronyChart = (json: string, width: number) => svgOf(JSON.parse(json) as Chart, width);
  Object.assign(globalThis, { setTimeout: () => 0, clearTimeout: () => undefined, pronyChart });
}
