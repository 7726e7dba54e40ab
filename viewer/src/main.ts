// Draws the charts of a report page. The page holds the report as JSON in #prony-report, its texts in #prony-words, and
// an empty element for each chart: <div data-chart="throughput" data-group="0">. Nothing is fetched.

import { CustomChart, LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, MarkAreaComponent, TooltipComponent } from "echarts/components";
import { type EChartsType, init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { FORMAT, type Group, type Report, type Words } from "./document";
import { type Context, distribution, latency, type Option, throughput, timeline } from "./options";
import { theme } from "./theme";

use([
  LineChart,
  CustomChart,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
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

const charts: Chart[] = [];
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
