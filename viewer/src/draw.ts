// From a chart's values to its drawing: the one place for a page and for files.

import { CustomChart, LineChart } from "echarts/charts";
import { DataZoomInsideComponent, GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, TitleComponent, TooltipComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { LabelLayout } from "echarts/features";
import { bars, heightOf as heightOfBars } from "./bars";
import { besideEachOther, chosen } from "./chart";
import type { Chart } from "./charts";
import { flame, heightOf as heightOfFlame } from "./flame";
import { heat, heightOf as heightOfHeat } from "./heat";
import { type Context, heightOf as heightOfLines, lines, type Option } from "./lines";
import { heightOf as heightOfPanels, panels } from "./panels";
import { theme } from "./theme";

use([
  LineChart,
  CustomChart,
  GridComponent,
  DataZoomInsideComponent,
  LabelLayout,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
  SVGRenderer,
]);

/** What is chosen at first. */
export function firstOf({ drawing }: Chart): number[] {
  return drawing.kind === "lines" ? drawing.choices.map((choice) => choice.first) : [];
}

/** The option and the height, px, of a chart where these options are chosen. Panels with titles have no legend in common. */
export function optionOf(context: Context, { drawing }: Chart, options: number[]): { option: Option; height: number } {
  if (drawing.kind === "flame") return { option: flame(context, drawing), height: heightOfFlame(drawing) };
  const shown = chosen(drawing, options);
  if (shown.panels.some((panel) => panel.heat)) return { option: heat(context, shown), height: heightOfHeat(shown) };
  if (shown.panels.some((panel) => panel.title !== "")) return { option: panels(context, shown), height: heightOfPanels(context, shown) };
  const placed = besideEachOther(shown);
  if (placed.x.scale === "names") return { option: bars(context, placed), height: heightOfBars(context, placed) };
  return { option: lines(context, shown), height: heightOfLines(context, shown) };
}

/** A chart as a file, on white: what is chosen, or what is at first. */
export function svgOf(chart: Chart, width: number, options = firstOf(chart)): string {
  const context = { theme: theme(false), width };
  const { option, height } = optionOf(context, chart, options);
  const instance = init(null, null, { renderer: "svg", ssr: true, width: context.width, height });
  instance.setOption({ ...option, backgroundColor: context.theme.surface });
  const drawn = instance.renderToSVGString();
  instance.dispose();
  return drawn;
}
