// A run that goes on: how far it is, the running trial second by second, what has ended, what happened. The page may be
// closed at any time; one that is opened later is told everything anew.

import { number } from "../format";
import type { Chart, Line as ChartLine } from "../charts";
import { get, type Me, post, type Run } from "./api";
import { h } from "./dom";
import type { Page, View } from "./main";
import { clock, length } from "./time";
import { Course, type Finished, type Line, type LoadHost, type Second, type Trial } from "./told";
import type { Words } from "./words";

/** A place in a page where the viewer draws. */
interface Place {
  draw(): void;
  update(chart: Chart): void;
}
declare const pronyPlace: (place: HTMLElement, chart: Chart) => Place;

/** Lines of the log, and finished trials, that are shown. */
const EVENTS_MAX = 300;
const FINISHED_MAX = 300;

export class Live implements View {
  private run: Run | null = null;
  private course = new Course();
  private source: EventSource | null = null;
  private place: Place | null = null;
  private waits = false;
  private is_over = false;
  private readonly state = h("p", { class: "state", role: "status" });
  private readonly progress = h("progress", { max: "1", value: "0" });
  private readonly stop_button: HTMLButtonElement;
  private readonly resume_button: HTMLButtonElement;
  private readonly said = h("div", {});
  private readonly caption = h("span", { class: "caption" });
  private readonly chart = h("div", { class: "chart", role: "img" });
  private readonly hosts_head = h("h2", {});
  private readonly hosts = h("tbody", {});
  private readonly finished = h("tbody", {});
  private readonly events = h("ol", { class: "log", tabindex: "0" });

  constructor(
    private readonly page: Page,
    private readonly id: number,
    private readonly me: Me,
  ) {
    this.stop_button = h("button", { type: "button", class: "stop", hidden: true, onclick: () => void this.stop() }, page.words.stop);
    this.resume_button = h("button", { type: "button", class: "main", hidden: true, onclick: () => void this.resume() }, page.words.resume);
  }

  get title(): string {
    return `${this.page.words.run} ${this.id}`;
  }

  async open_in(main: HTMLElement): Promise<void> {
    const { words } = this.page;
    this.run = await get<Run>(`/api/runs/${this.id}`);
    const { title, title_zh, name, scale } = this.run;
    const about = [(this.page.code === "zh-CN" && title_zh) || title, name, scale].filter(Boolean).join(" · ");
    const report = h("a", { href: `/runs/${this.id}` }, words.see_report);
    const tools = h("div", { class: "tools" }, this.stop_button, this.resume_button, report);
    this.progress.setAttribute("aria-label", words.trials);
    const figure = h("figure", {}, h("figcaption", {}, this.caption), this.chart);
    const table = (heads: string[], body: HTMLElement) => {
      // the first column says what, the last is a remark; between them are numbers
      const is_number = (place: number) => place > 0 && place < heads.length - 1;
      const cells = heads.map((text, place) => h("th", is_number(place) ? { scope: "col", class: "number" } : { scope: "col" }, text));
      return h("div", { class: "scroll" }, h("table", { class: "figures" }, h("thead", {}, h("tr", {}, ...cells)), body));
    };
    main.append(
      h("section", {}, h("p", { class: "about" }, about), this.state, this.progress, this.said, tools),
      h("section", { id: "seconds" }, h("h2", {}, words.seconds_of), figure),
      h("section", { id: "hosts", hidden: true }, this.hosts_head, table(host_heads(words), this.hosts)),
      h("section", { id: "finished" }, h("h2", {}, words.finished), table([words.combination, words.per_second, words.p95, words.remark], this.finished)),
      h("section", { id: "events" }, h("h2", {}, words.events), this.events),
    );
    this.events.setAttribute("aria-label", words.events);
    this.tell();
    if (this.run.state === "running") this.follow();
    else this.end(this.run.state, null);
    this.again = () => this.place?.draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.again);
  }

  private again: () => void = () => undefined;

  close(): void {
    this.source?.close();
    matchMedia("(prefers-color-scheme: dark)").removeEventListener("change", this.again);
  }

  seen(is_seen: boolean): void {
    if (this.is_over) return;
    if (is_seen) this.follow();
    else this.source?.close();
  }

  async changed(): Promise<void> {
    // what is new of this run comes by its own events
  }

  private follow(): void {
    this.source?.close();
    const source = new EventSource(`/api/runs/${this.id}/events`);
    this.source = source;
    this.stop_button.hidden = !(this.run?.ours && this.me.has_token);
    source.addEventListener("told", (event) => {
      for (const line of JSON.parse((event as MessageEvent<string>).data) as Line[]) {
        // a run that was resumed tells from the beginning
        if (line.told === "began") this.course = new Course();
        this.course.heed(line);
      }
      this.say("");
      this.tell_soon();
    });
    source.addEventListener("over", (event) => {
      const { state, said } = JSON.parse((event as MessageEvent<string>).data) as { state: Run["state"]; said: string | null };
      source.close();
      this.end(state, said);
    });
    source.addEventListener("error", () => this.say(this.page.words.connection_lost));
  }

  private say(text: string): void {
    this.said.replaceChildren(...(text ? [h("p", { class: "faint", role: "status" }, text)] : []));
  }

  private end(state: Run["state"], said: string | null): void {
    const { words } = this.page;
    this.stop_button.hidden = true;
    this.tell();
    if (state === "running") return;
    this.is_over = true;
    this.resume_button.hidden = state === "complete" || !this.me.has_token;
    this.state.textContent = words[`over_${state}`];
    this.progress.value = state === "complete" ? 1 : this.progress.value;
    this.said.replaceChildren(...(said ? [h("pre", { class: "bad", tabindex: "0" }, said)] : []));
  }

  private async stop(): Promise<void> {
    const { words } = this.page;
    if (!confirm(words.stop_sure)) return;
    this.stop_button.disabled = true;
    await post(`/api/runs/${this.id}/stop`).then(
      () => this.say(words.stopping),
      (error: unknown) => {
        this.stop_button.disabled = false;
        this.said.replaceChildren(this.page.refusal(error));
      },
    );
  }

  /** What is missing is carried out by a process of its own, which this page then follows. */
  private async resume(): Promise<void> {
    this.resume_button.disabled = true;
    await post(`/api/runs/${this.id}/resume`).then(
      () => location.reload(),
      (error: unknown) => {
        this.resume_button.disabled = false;
        this.said.replaceChildren(this.page.refusal(error));
      },
    );
  }

  /** Several lines may come at once: they are drawn once. */
  private tell_soon(): void {
    if (this.waits) return;
    this.waits = true;
    setTimeout(() => {
      this.waits = false;
      this.tell();
    }, 30);
  }

  private tell(): void {
    const { words, code } = this.page;
    const { course } = this;
    const { trial, left, done, total, after } = course;
    const known = trial && done < trial.place ? [words.trial_of(trial.place, total), trial.levels] : [total > 0 ? words.done_of(done, total) : words.waiting];
    const times = total > 0 ? [left === null ? "" : words.left(length(words, left)), words.elapsed(length(words, after))] : [];
    if (!course.is_over) this.state.textContent = [...known, ...times].filter(Boolean).join(" · ");
    const within = trial && done < trial.place ? Math.min(1, course.seconds.length / Math.max(1, trial.takes * trial.streams.length)) : 0;
    this.progress.value = total > 0 ? (done + within) / total : 0;
    this.draw(words);
    this.hosts.closest("section")?.toggleAttribute("hidden", course.hosts.length === 0);
    this.hosts_head.textContent = words.load_hosts(course.hosts.length, course.hosts_total);
    this.hosts.replaceChildren(...course.hosts.map((one) => host_row(words, one)));
    const rows = course.finished.slice(-FINISHED_MAX).reverse();
    this.finished.replaceChildren(...rows.map((one) => row(words, code, one)));
    const lines = course.events.slice(-EVENTS_MAX).reverse();
    this.events.replaceChildren(...lines.flatMap((line) => item(words, code, line)));
  }

  private draw(words: Words): void {
    const { trial, seconds } = this.course;
    this.chart.closest("section")?.toggleAttribute("hidden", !trial);
    if (!trial) return;
    this.caption.textContent = `${words.trial_of(trial.place, this.course.total)}${trial.levels ? `: ${trial.levels}` : ""}`;
    if (seconds.length === 0) return;
    const chart = chartOf(words, trial, seconds);
    const last = seconds.at(-1);
    this.chart.setAttribute("aria-label", last ? `${words.throughput} ${number(last.rate)}/s` : "");
    this.place ??= pronyPlace(this.chart, chart);
    this.place.update(chart);
  }
}

/** Throughput and response time of the running trial, a line for each stream. */
export function chartOf(words: Words, trial: Trial, seconds: Second[]): Chart {
  const streams = trial.streams.map((_, stream) => seconds.filter((second) => second.stream === stream));
  const line = (name: string, look: number, at: number, values: (number | null)[]): ChartLine => ({
    name, look, at, values, stroke: "solid", has_points: false, over_gaps: false,
  });
  const several = streams.length > 1;
  const rates = streams.map((own, at) => line(several ? (trial.streams[at] ?? "") : words.throughput, at, at, own.map(({ rate }) => rate)));
  const percentiles = [words.median, "p95", "p99"];
  const times = streams.flatMap((own, at) =>
    // of several streams the 95th percentile alone: nine lines are none
    (several ? [1] : [0, 1, 2]).map((which) =>
      line(several ? `${trial.streams[at]} p95` : (percentiles[which] ?? ""), several ? at : which, at, own.map(({ times }) => times?.[which] ?? null)),
    ),
  );
  const axis = (unit: string) => ({ title: "", unit, scale: "from_zero" as const, ticks: [] });
  const warm = seconds.filter(({ warm_up }) => warm_up).map(({ second }) => second);
  return {
    id: "live",
    title: words.seconds_of,
    about: "",
    drawing: {
      kind: "lines",
      choices: [],
      marks: [],
      x: { title: words.second, unit: "s", scale: "from_zero", ticks: [] },
      places: streams.map((own) => own.map(({ second }) => second)),
      shades: warm.length > 0 ? [{ from: 0, until: Math.max(...warm) + 1, name: words.warm_up, when: [] }] : [],
      panels: [
        { title: words.throughput, y: axis("/s"), stacked: false, lines: rates, when: [] },
        { title: words.response, y: axis("ms"), stacked: false, lines: times, when: [] },
      ],
    },
  };
}

function host_heads(words: Words): string[] {
  return [words.load_host, words.connections, words.cpus_busy, words.cpus_own, words.cpus_waiting, words.network, words.remark];
}

/** What a load host does, as the cells of its row have it. */
export function host_cells(words: Words, one: LoadHost): string[] {
  const numbers = [String(one.connections), ...[one.busy, one.own, one.waiting].map((cpus) => cpus.toFixed(2)), (one.bytes / 1e6).toFixed(1)];
  return [one.host, ...numbers, one.lag === null ? "" : words.lags(one.lag.toFixed(0))];
}

function host_row(words: Words, one: LoadHost): HTMLTableRowElement {
  const heads = host_heads(words);
  const cells = host_cells(words, one).map((text, place) => {
    const look = place === 0 ? undefined : place === heads.length - 1 ? "bad" : "number";
    const cell = h("td", look ? { class: look } : {}, text);
    cell.dataset["head"] = heads[place];
    return cell;
  });
  return h("tr", { class: "rung" }, ...cells);
}

function row(words: Words, code: string, one: Finished): HTMLTableRowElement {
  const { figures, levels, said } = one;
  const cells: [HTMLTableCellElement, string][] = [
    [h("td", {}, levels), words.combination],
    [h("td", { class: "number" }, figures ? number(figures.rate) : "–"), words.per_second],
    [h("td", { class: "number" }, figures?.p95 == null ? "–" : number(figures.p95)), words.p95],
    [h("td", { class: figures ? "faint" : "bad" }, figures ? (said[code] ?? "") : `${words.failed}: ${said[code] ?? ""}`), words.remark],
  ];
  for (const [cell, head] of cells) cell.dataset["head"] = head;
  return h("tr", { class: "rung" }, ...cells.map(([cell]) => cell));
}

function item(words: Words, code: string, line: Line): HTMLElement[] {
  const text = sentence(words, code, line);
  return text ? [h("li", {}, h("span", { class: "faint" }, `${clock(line.after)} `), text)] : [];
}

/** A line of the log. */
export function sentence(words: Words, code: string, line: Line): string {
  const s = (seconds: number) => seconds.toFixed(1);
  switch (line.told) {
    case "began":
      return words.ev_began(line.total, line.servers.join(", "));
    case "server":
      return words.of_server(line.server, line.said[code] ?? "");
    case "ready":
      return words.ev_ready(line.server, line.version);
    case "loading":
      return words.ev_loading(line.server, ((100 * line.rows) / Math.max(1, line.rows_total)).toFixed(0));
    case "loaded":
      if (line.origin === "found") return words.ev_found(line.server);
      return line.origin === "kept" ? words.ev_kept(line.server, s(line.seconds)) : words.ev_loaded(line.server, s(line.seconds));
    case "remark":
      return words.of_server(line.server, words.ev_remark(line.said[code] ?? ""));
    case "added":
      return line.because === "invalid" ? words.ev_again(line.levels) : words.ev_added(line.levels);
    case "searching":
      return line.rate === null ? words.ev_searching(line.levels) : words.ev_searching_at(line.levels, number(line.rate));
    case "trial":
      return words.ev_trial(line.place, line.levels);
    case "finished": {
      const { figures } = line;
      return figures ? words.ev_finished(line.levels, number(figures.rate), figures.p95 === null ? "–" : number(figures.p95)) : words.ev_failed(line.levels);
    }
    case "over":
      return words.ev_over;
    case "second":
    case "load_hosts":
      return "";
  }
}
