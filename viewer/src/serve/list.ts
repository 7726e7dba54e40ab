// All runs: a list that is searched, with a small curve for each, from which runs are opened and compared.

import { number } from "../format";
import { theme } from "../theme";
import { type Curve, get, type Me, type Run } from "./api";
import { h, svg } from "./dom";
import type { Page, View } from "./main";

/** Runs whose curves are asked for at once. */
const BATCH = 40;
const COMPARED_MAX = 12;
const [WIDTH, HEIGHT] = [112, 26];

/** One run in the list. */
interface Row {
  run: Run;
  element: HTMLTableRowElement;
  curve: HTMLElement;
  text: string;
}

export class List implements View {
  private readonly chosen = new Set<number>();
  private readonly curves = new Map<string, Curve>();
  private rows: Row[] = [];
  private wanted = new Set<Row>();
  private timer = 0;
  private readonly search: HTMLInputElement;
  private readonly count = h("p", { class: "meta", role: "status" });
  private readonly compare = h("button", { type: "button", onclick: () => this.open() });
  private readonly table = h("table", { class: "runs" });
  private readonly visible = new IntersectionObserver((entries) => this.look(entries), { rootMargin: "200px" });

  constructor(
    private readonly page: Page,
    private readonly me: Me,
  ) {
    this.search = h("input", { type: "search", id: "search", autocomplete: "off", oninput: () => this.filter() });
    this.search.value = new URLSearchParams(location.search).get("search") ?? "";
  }

  get title(): string {
    return this.page.words.runs;
  }

  async open_in(main: HTMLElement): Promise<void> {
    const { words } = this.page;
    this.search.placeholder = words.search_hint;
    const tools = h("div", { class: "tools" }, h("label", { for: "search" }, words.search), this.search, this.compare);
    main.append(h("section", {}, tools, this.count, h("div", { class: "scroll" }, this.table)), h("p", { class: "meta" }, words.store(this.me.store)));
    await this.changed();
  }

  close(): void {
    this.visible.disconnect();
    clearTimeout(this.timer);
  }

  seen(is_seen: boolean): void {
    if (is_seen) void this.changed().catch(() => undefined);
  }

  async changed(): Promise<void> {
    this.show(await get<Run[]>("/api/runs"));
  }

  private show(runs: Run[]): void {
    const { words } = this.page;
    this.visible.disconnect();
    this.wanted.clear();
    this.rows = runs.map((run) => this.row(run));
    const heads = [h("span", { class: "hidden" }, words.compare(2)), words.run, words.began, words.study, words.throughput, words.trials, words.state, words.labels];
    const head = h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head))));
    this.table.replaceChildren(head, h("tbody", {}, ...this.rows.map(({ element }) => element)));
    for (const { element } of this.rows) this.visible.observe(element);
    this.filter();
    this.say();
  }

  private row(run: Run): Row {
    const { words, code } = this.page;
    const goes_on = run.state === "running";
    const box = h("input", { type: "checkbox", "aria-label": words.choose(run.id), onchange: () => this.choose(run.id, box.checked) });
    box.checked = this.chosen.has(run.id);
    const title = (code === "zh-CN" && this.page.titles.get(run.title)) || run.title;
    const study = h("a", { class: "faint", href: `/history/${encodeURIComponent(run.name)}`, title: words.history_of(run.name) }, run.name);
    const began = new Date(run.started).toLocaleString(code, { dateStyle: "medium", timeStyle: "short" });
    const label = (text: string) =>
      h("button", { type: "button", class: "label", onclick: () => this.search_for(text) }, text);
    const trials = `${run.measured + run.failed}/${run.planned}`;
    const curve = h("td", { class: "curve" });
    const cells: [HTMLTableCellElement, string][] = [
      [h("td", {}, box), ""],
      [h("td", { class: "number" }, h("a", { href: `/runs/${run.id}` }, String(run.id))), words.run],
      [h("td", {}, h("time", { datetime: run.started }, began)), words.began],
      [h("td", {}, h("div", {}, h("a", { href: `/runs/${run.id}`, tabindex: "-1" }, title), h("br"), study)), words.study],
      [curve, words.throughput],
      [h("td", {}, run.failed > 0 ? `${trials}, ${words.failed_trials(run.failed)}` : trials), words.trials],
      [h("td", {}, run.state === "complete" ? words.complete : h("a", { href: `/live/${run.id}`, class: goes_on ? "good" : "" }, words[run.state])), words.state],
      [h("td", {}, h("div", {}, ...run.labels.map(label), run.note && h("span", { class: "faint" }, run.note))), words.labels],
    ];
    for (const [cell, head] of cells) cell.dataset["head"] = head;
    const element = h("tr", {}, ...cells.map(([cell]) => cell));
    const text = [run.id, run.name, run.title, title, run.note, run.state, words[run.state], ...run.labels].join(" ").toLowerCase();
    const row = { run, element, curve, text };
    const known = this.curves.get(key(run));
    if (known) this.draw(row, known);
    return row;
  }

  private search_for(text: string): void {
    this.search.value = text;
    this.filter();
    this.search.focus();
  }

  private filter(): void {
    const { words } = this.page;
    const parts = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { element, text } of this.rows) {
      const fits = parts.every((part) => text.includes(part));
      if (element.hidden === fits) element.hidden = !fits;
      if (fits) shown += 1;
    }
    const none = this.rows.length === 0 ? words.none : words.none_found;
    this.count.textContent = shown === 0 ? none : words.shown(shown, this.rows.length);
    const address = this.search.value ? `/?search=${encodeURIComponent(this.search.value)}` : "/";
    if (location.pathname === "/") history.replaceState(null, "", address);
  }

  private choose(run: number, is_chosen: boolean): void {
    if (is_chosen) this.chosen.add(run);
    else this.chosen.delete(run);
    this.say();
  }

  private say(): void {
    const { words } = this.page;
    const count = this.chosen.size;
    this.compare.textContent = count > COMPARED_MAX ? words.too_many : words.compare(count);
    this.compare.disabled = count < 2 || count > COMPARED_MAX;
  }

  /** The oldest one is what the others are held against. */
  private open(): void {
    location.assign(`/compare?runs=${[...this.chosen].sort((one, other) => one - other).join(",")}`);
  }

  private look(entries: IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      const row = this.rows.find(({ element }) => element === target);
      if (!row || this.curves.has(key(row.run)) || row.run.measured === 0) continue;
      if (isIntersecting) this.wanted.add(row);
      else this.wanted.delete(row);
    }
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.fetch(), 60);
  }

  private async fetch(): Promise<void> {
    const rows = [...this.wanted].slice(0, BATCH);
    if (rows.length === 0) return;
    for (const row of rows) this.wanted.delete(row);
    const found = await get<Record<string, Curve>>(`/api/sparks?ids=${rows.map(({ run }) => run.id).join(",")}`).catch(() => ({}) as Record<string, Curve>);
    for (const row of rows) {
      const curve = found[String(row.run.id)];
      if (!curve) continue;
      this.curves.set(key(row.run), curve);
      this.draw(row, curve);
    }
    await this.fetch();
  }

  private draw(row: Row, curve: Curve): void {
    const values = curve.flat().filter((value): value is number => value !== null);
    if (values.length === 0) return;
    row.curve.replaceChildren(spark(curve, this.page.words.curve(number(Math.min(...values)), number(Math.max(...values)))));
  }
}

function key(run: Run): string {
  return `${run.id} ${run.measured}`;
}

/** A small curve for each server, from 0 up; colours are those of the reports. */
export function spark(curve: Curve, about: string): SVGElement {
  const values = curve.flat().filter((value): value is number => value !== null);
  const most = Math.max(...values, Number.MIN_VALUE);
  const { series } = theme(matchMedia("(prefers-color-scheme: dark)").matches);
  const lines = curve.map((line, server) => {
    const colour = series[server % series.length] ?? "currentColor";
    const x = (place: number) => (line.length < 2 ? WIDTH / 2 : 2 + (place * (WIDTH - 4)) / (line.length - 1));
    const y = (value: number) => HEIGHT - 3 - (value / most) * (HEIGHT - 6);
    const points = line.flatMap((value, place) => (value === null ? [] : [`${x(place).toFixed(1)},${y(value).toFixed(1)}`]));
    if (points.length === 1) {
      const [cx = "0", cy = "0"] = points[0]?.split(",") ?? [];
      return svg("circle", { cx, cy, r: "2.5", fill: colour });
    }
    return svg("polyline", { points: points.join(" "), fill: "none", stroke: colour, "stroke-width": "1.6" });
  });
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: String(WIDTH), height: String(HEIGHT), role: "img", "aria-label": about }, ...lines);
}
