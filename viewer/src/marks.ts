// Marks of a value by shape, for those who do not tell colours apart: those that ECharts draws on lines.

import type { Option } from "./lines";
import { CROSS, DOWN, PENTAGON, STAR } from "./theme";

/** A mark around a place, `size` px from its middle to its rim. */
export function mark(symbol: string, x: number, y: number, size: number, style: Option): Option {
  const polygon = (points: [number, number][]) => ({ type: "polygon", shape: { points: points.map(([dx, dy]) => [x + dx * size, y + dy * size]) }, style });
  switch (symbol) {
    case "rect":
      return { type: "rect", shape: { x: x - size * 0.9, y: y - size * 0.9, width: size * 1.8, height: size * 1.8 }, style };
    case "triangle":
      return polygon([[0, -1.1], [1.1, 0.9], [-1.1, 0.9]]);
    case "diamond":
      return polygon([[0, -1.25], [1.1, 0], [0, 1.25], [-1.1, 0]]);
    case DOWN:
      return polygon([[-1.1, -0.9], [1.1, -0.9], [0, 1.1]]);
    case PENTAGON:
      return polygon([[0, -1.15], [1.1, -0.36], [0.68, 0.93], [-0.68, 0.93], [-1.1, -0.36]]);
    case STAR:
      return polygon(Array.from({ length: 10 }, (_, corner): [number, number] => {
        const reach = corner % 2 === 0 ? 1.25 : 0.55;
        return [reach * Math.sin((corner * Math.PI) / 5), -reach * Math.cos((corner * Math.PI) / 5)];
      }));
    case CROSS:
      return polygon([[-0.4, -1.1], [0.4, -1.1], [0.4, -0.4], [1.1, -0.4], [1.1, 0.4], [0.4, 0.4], [0.4, 1.1], [-0.4, 1.1], [-0.4, 0.4], [-1.1, 0.4], [-1.1, -0.4], [-0.4, -0.4]]);
    default:
      return { type: "circle", shape: { cx: x, cy: y, r: size }, style };
  }
}
