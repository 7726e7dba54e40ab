// Elements in few words. Texts become text nodes: nothing that others wrote becomes markup.

type Child = Node | string | null | undefined | false;
type Properties = Record<string, string | boolean | ((event: Event) => void) | undefined>;

/** An element with attributes (`onclick` and its like are listeners) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Properties = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (typeof value === "string") element.setAttribute(name, value);
    else if (value) element.setAttribute(name, "");
  }
  element.append(...children.filter((child): child is Node | string => child instanceof Node || typeof child === "string"));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** The same of a picture. */
export function svg(tag: string, properties: Record<string, string>, ...children: Node[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
