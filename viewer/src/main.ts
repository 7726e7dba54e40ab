// Draws the charts of a report page. The page holds the report as JSON in #prony-report, its texts in #prony-words, and
// an empty element for each chart: <div data-chart="throughput" data-group="0">. Nothing is fetched.

import { CustomChart, LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, MarkAreaComponent, TitleComponent, TooltipComponent } from "echarts/components";
import { type EChartsType, init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { counted, course, heightOf } from "./course";
import { FORMAT, type Group, type Report, type Sampled, type Words } from "./document";
import { type Context, distribution, latency, type Option, throughput, timeline } from "./options";
import { theme } from "./theme";

use([
  LineChart,
  CustomChart,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  TitleComponent,
  TooltipComponent,
  SVGRenderer,
]);

const PERCENTILES = ["p50", "p95", "p99", "p99.9"];

function embedded<T>(id: string): T {
  return JSON.parse(document.getElementById(id)?.textContent ?? "null") as T;
}

/** A drop-down list with its label; returns the list. `texts` are what is shown for each value. */
function chooser(label: string, values: string[], texts: string[], chosen: string): { element: HTMLElement; list: HTMLSelectElement } {
  const element = document.createElement("label");
  element.className = "chooser";
  element.append(`${label} `);
  const list = document.createElement("select");
  for (const [place, value] of values.entries()) {
    const option = document.createElement("option");
    option.value = value;
    option.textContent = texts[place] ?? value;
    option.selected = value === chosen;
    list.append(option);
  }
  element.append(list);
  return { element, list };
}

/** One chart on the page: what it shows depends on the choice beside it. */
class Chart {
  private readonly instance: EChartsType;
  private choice = "";

  constructor(
    private readonly place: HTMLElement,
    private readonly report: Report,
    private readonly words: Words,
    private readonly group: Group,
  ) {
    this.instance = init(place, null, { renderer: "svg" });
    this.addChooser();
    new ResizeObserver(() => this.resize()).observe(place);
  }

  /** Draws everything anew in light or dark. */
  draw(dark: boolean): void {
    const width = this.place.clientWidth;
    const context: Context = { report: this.report, words: this.words, theme: theme(dark), width };
    this.instance.setOption(this.option(context), { notMerge: true });
    this.place.dataset["ready"] = "yes";
  }

  private resize(): void {
    this.instance.resize();
  }

  private option(context: Context): Option {
    switch (this.place.dataset["chart"]) {
      case "latency":
        return latency(context, this.group, this.choice);
      case "distribution":
        return distribution(context, this.group, Number(this.choice));
      case "timeline":
        return timeline(context, this.group, Number(this.choice));
      default:
        return throughput(context, this.group);
    }
  }

  private addChooser(): void {
    const html = this.words["html"] ?? {};
    const rungs = this.group.rungs.map((_, place) => String(place));
    const labels = this.group.rungs.map((rung) => rung.label);
    const kind = this.place.dataset["chart"];
    const [label, values, texts, chosen] =
      kind === "latency"
        ? [html["percentile"] ?? "", PERCENTILES, PERCENTILES, "p95"]
        : kind === "throughput"
          ? ["", [], [], ""]
          : [this.report.axis.title, rungs, labels, rungs.at(-1) ?? ""];
    this.choice = chosen;
    if (values.length < 2) return;
    const { element, list } = chooser(label, values, texts, chosen);
    list.addEventListener("change", () => {
      this.choice = list.value;
      drawAll();
    });
    this.place.closest("figure")?.querySelector("figcaption")?.append(element);
  }
}

/** The figure of the servers that is shown first: whether they work on much at once. */
const COUNTED_FIRST = "status/threads_running";

/** One trial second by second: which one, and which figure of the servers, is chosen beside it. */
class CourseChart {
  private readonly instance: EChartsType;
  private which = 0;
  private figure = "";
  private figures: HTMLElement | null = null;

  constructor(
    private readonly place: HTMLElement,
    private readonly report: Report,
    private readonly words: Words,
  ) {
    this.instance = init(place, null, { renderer: "svg" });
    const { courses } = report;
    const { element, list } = chooser(
      this.text("of"),
      courses.map((_, index) => String(index)),
      courses.map((one) => one.about),
      "0",
    );
    list.addEventListener("change", () => {
      this.which = Number(list.value);
      this.offer();
      drawAll();
    });
    if (courses.length > 1) this.caption?.append(element);
    this.offer();
    new ResizeObserver(() => drawAll()).observe(place);
  }

  draw(dark: boolean): void {
    const { clientWidth: width } = this.place;
    const context: Context = { report: this.report, words: this.words, theme: theme(dark), width };
    const height = `${heightOf(context, this.course, this.figure)}px`;
    if (this.place.style.height !== height) this.place.style.height = height;
    this.instance.resize();
    this.instance.setOption(course(context, this.course, this.figure), { notMerge: true });
    this.place.dataset["ready"] = "yes";
  }

  private get course(): Sampled {
    return this.report.courses[this.which] as Sampled;
  }

  private get caption(): Element | null | undefined {
    return this.place.closest("figure")?.querySelector("figcaption");
  }

  private text(key: string): string {
    return this.words["course"]?.[key] ?? key;
  }

  /** Offers what the servers of this trial counted; a figure that they all have stays chosen. */
  private offer(): void {
    const names = counted(this.course);
    if (!names.includes(this.figure)) this.figure = names.includes(COUNTED_FIRST) ? COUNTED_FIRST : (names[0] ?? "");
    this.figures?.remove();
    if (names.length < 2) return;
    const { element, list } = chooser(this.text("counted"), names, names.map((name) => name.replace(/^status\//, "")), this.figure);
    list.addEventListener("change", () => {
      this.figure = list.value;
      drawAll();
    });
    this.figures = element;
    this.caption?.append(element);
  }
}

const charts: { draw(dark: boolean): void }[] = [];
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let printing = false;

function drawAll(): void {
  for (const chart of charts) chart.draw(prefersDark.matches && !printing);
}

function start(): void {
  const report = embedded<Report>("prony-report");
  const words = embedded<Words>("prony-words");
  if (report.format !== FORMAT) throw new Error(`the report has format ${report.format}, the viewer knows ${FORMAT}`);
  for (const place of document.querySelectorAll<HTMLElement>("[data-chart]")) {
    if (place.dataset["chart"] === "course") {
      if (report.courses.length > 0) charts.push(new CourseChart(place, report, words));
      continue;
    }
    const group = report.groups[Number(place.dataset["group"])];
    if (group) charts.push(new Chart(place, report, words, group));
  }
  drawAll();
  prefersDark.addEventListener("change", drawAll);
  // Paper is white.
  addEventListener("beforeprint", () => {
    printing = true;
    drawAll();
  });
  addEventListener("afterprint", () => {
    printing = false;
    drawAll();
  });
}

start();
