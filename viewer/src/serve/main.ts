// The application of `prony serve`: which page the address names, in which language, and whether the reader has the
// token. Reports, comparisons and histories are pages of the server's own; charts are drawn by the viewer, which is
// loaded before.

import { preferred } from "../language";
import { get, type Me, post, Refused, type Study } from "./api";
import { h } from "./dom";
import { List } from "./list";
import { Live } from "./live";
import { Start } from "./start";
import { type Code, LANGUAGES, type Words } from "./words";

/** What is shown between header and footer. */
export interface View {
  readonly title: string;
  open_in(main: HTMLElement): Promise<void>;
  /** Something was written to the store. */
  changed(): Promise<void>;
  /** The page is looked at (again), or not any more. */
  seen(is_seen: boolean): void;
  close(): void;
}

/** The cookie with the reader's language: the pages that the server makes begin with it, too. */
const STORED = "prony-language";

export class Page {
  code: Code;
  words: Words;
  /** Chinese titles of studies, by their own. */
  readonly titles = new Map<string, string>();
  private view: View | null = null;
  private running: number | null = null;
  private changes: EventSource | null = null;
  private readonly banner = h("p", { class: "banner", role: "status" });

  constructor() {
    const codes = Object.keys(LANGUAGES) as Code[];
    const chosen = codes.find((code) => document.cookie.split("; ").includes(`${STORED}=${code}`));
    this.code = chosen ?? (preferred(codes, navigator.languages) as Code | undefined) ?? "en";
    this.words = LANGUAGES[this.code].words;
  }

  async begin(): Promise<void> {
    await this.enter();
    await this.show();
    // the printed address, opened where the page is open already
    addEventListener("hashchange", () => void this.enter().then((entered) => (entered ? this.show() : undefined)));
    this.listen();
    document.addEventListener("visibilitychange", () => {
      this.listen();
      this.view?.seen(!document.hidden);
    });
  }

  /** Takes the token from the address, where it stays neither in sight nor in the history. */
  private async enter(): Promise<boolean> {
    const token = /^#token=([0-9a-f]+)$/.exec(location.hash)?.[1];
    if (!token) return false;
    history.replaceState(null, "", location.pathname + location.search);
    await post("/api/login", { token }).catch(() => undefined);
    return true;
  }

  /** A browser has six connections for all its pages here: one that is not looked at has none, and a live one its own. */
  private listen(): void {
    this.changes?.close();
    this.changes = null;
    if (document.hidden || location.pathname.startsWith("/live/")) return;
    this.changes = new EventSource("/api/changes");
    this.changes.addEventListener("changed", (event) => void this.heard(event as MessageEvent<string>));
  }

  /** The page that the address names, anew. */
  async show(): Promise<void> {
    this.view?.close();
    document.documentElement.lang = this.code;
    const main = h("main", {});
    document.body.replaceChildren(this.header(), main);
    try {
      const me = await get<Me>("/api/me");
      await this.learn();
      this.view = this.named(me);
      document.title = `${this.view.title} · Prony`;
      main.before(h("h1", { class: "title" }, this.view.title), this.banner);
      await this.view.open_in(main);
      await this.find_running();
    } catch (error) {
      const needs_token = error instanceof Refused && error.kind === "token";
      main.replaceChildren(h("section", {}, needs_token ? this.token_form(this.words.token_read) : this.refusal(error)));
    }
  }

  private named(me: Me): View {
    const live = /^\/live\/(\d+)$/.exec(location.pathname)?.[1];
    if (live) return new Live(this, Number(live), me);
    return location.pathname === "/start" ? new Start(this, me) : new List(this, me);
  }

  private header(): HTMLElement {
    const { words } = this;
    const link = (to: string, text: string) => h("a", { href: to, ...(location.pathname === to ? { "aria-current": "page" } : {}) }, text);
    const button = (code: Code) =>
      h("button", { type: "button", lang: code, "aria-pressed": String(code === this.code), onclick: () => void this.speak(code) }, LANGUAGES[code].name);
    const languages = h("p", { class: "languages", role: "group", "aria-label": words.language }, ...(Object.keys(LANGUAGES) as Code[]).map(button));
    return h("header", {}, h("p", { class: "kind" }, "Prony"), h("nav", { class: "pages" }, link("/", words.all_runs), link("/start", words.start)), languages);
  }

  private async speak(code: Code): Promise<void> {
    document.cookie = `${STORED}=${code}; SameSite=Strict; Path=/; Max-Age=31536000`;
    this.code = code;
    this.words = LANGUAGES[code].words;
    await this.show();
    document.querySelector<HTMLElement>(`.languages [lang="${code}"]`)?.focus();
  }

  /** What studies are called in Chinese. */
  private async learn(): Promise<void> {
    if (this.code !== "zh-CN" || this.titles.size > 0) return;
    const { builtin, files } = await get<{ builtin: Study[]; files: Study[] }>("/api/studies");
    for (const { title, title_zh } of [...builtin, ...files]) if (title_zh) this.titles.set(title, title_zh);
  }

  private async heard(event: MessageEvent<string>): Promise<void> {
    this.running = (JSON.parse(event.data) as { running: number | null }).running;
    this.say_running();
    await this.view?.changed().catch(() => undefined);
  }

  private async find_running(): Promise<void> {
    const runs = await get<{ id: number; state: string }[]>("/api/runs");
    this.running = runs.find(({ state }) => state === "running")?.id ?? null;
    this.say_running();
  }

  private say_running(): void {
    const run = this.running;
    const is_shown = run !== null && location.pathname !== `/live/${run}`;
    this.banner.hidden = !is_shown;
    if (is_shown) this.banner.replaceChildren(`${this.words.is_running(run)} `, h("a", { href: `/live/${run}` }, this.words.live));
  }

  /** Takes the token by hand. */
  token_form(why: string): HTMLElement {
    const { words } = this;
    const input = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
    const said = h("p", { class: "bad", role: "alert" });
    const enter = async (event: Event) => {
      event.preventDefault();
      const typed = input.value.trim();
      await post("/api/login", { token: typed.split("#token=").at(-1) ?? typed }).then(
        () => this.show(),
        (error: unknown) => said.replaceChildren(this.said(error)),
      );
    };
    const form = { class: "tools", onsubmit: (event: Event) => void enter(event) };
    return h("form", form, h("p", {}, why), h("label", { for: "token" }, words.token), input, h("button", { type: "submit" }, words.token_enter), said);
  }

  /** Why something was refused, in words. */
  said(error: unknown): string {
    const { refused } = this.words;
    if (!(error instanceof Refused)) return String(error instanceof Error ? error.message : error);
    switch (error.kind) {
      case "host":
      case "origin":
      case "token":
      case "starting":
        return refused[error.kind];
      case "running":
        return refused.running(error.run);
      case "not_last":
        return refused.not_last(error.run);
      case "not_ours":
        return refused.not_ours(error.run, error.process);
      default:
        return error.message;
    }
  }

  refusal(error: unknown): HTMLElement {
    return h("pre", { class: "bad", role: "alert", tabindex: "0" }, this.said(error));
  }
}

void new Page().begin();
