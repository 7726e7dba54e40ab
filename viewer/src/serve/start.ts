// The form that starts a study: what is to be run, then its plan, then the run. Nothing starts whose plan was not shown.

import { get, type Me, post, type Study } from "./api";
import { h } from "./dom";
import type { Page, View } from "./main";

export class Start implements View {
  private studies: Study[] = [];
  private readonly study = h("select", { id: "study", onchange: () => this.choose() });
  private readonly scale = h("select", { id: "scale", onchange: () => this.forget() });
  private readonly set = h("textarea", { id: "set", rows: "4", spellcheck: "false", autocomplete: "off", oninput: () => this.forget() });
  private readonly plan_button: HTMLButtonElement;
  private readonly start_button: HTMLButtonElement;
  private readonly said = h("div", { role: "status" });

  constructor(
    private readonly page: Page,
    private readonly me: Me,
  ) {
    this.plan_button = h("button", { type: "submit" }, page.words.show_plan);
    this.start_button = h("button", { type: "button", class: "main", disabled: true, onclick: () => void this.start() }, page.words.start_run);
  }

  get title(): string {
    return this.page.words.start;
  }

  async open_in(main: HTMLElement): Promise<void> {
    const { words, code } = this.page;
    main.append(h("section", {}, h("p", {}, words.start_about), ...(this.me.has_token ? [this.form()] : [this.page.token_form(words.token_needed)])));
    if (!this.me.has_token) return;
    const { builtin, files } = await get<{ builtin: Study[]; files: Study[] }>("/api/studies");
    this.studies = [...files, ...builtin];
    const option = (study: Study) => {
      const title = (code === "zh-CN" && study.title_zh) || study.title;
      const text = `${study.name}${title ? `: ${title}` : ""}${study.is_wrong ? ` (${words.wrong})` : ""}`;
      return h("option", { value: study.name }, text);
    };
    const group = (label: string, studies: Study[]) => (studies.length > 0 ? [h("optgroup", { label }, ...studies.map(option))] : []);
    this.study.replaceChildren(...group(words.files(this.me.directory), files), ...group(words.builtin, builtin));
    const wanted = new URLSearchParams(location.search).get("study");
    if (this.studies.some(({ name }) => name === wanted)) this.study.value = wanted ?? "";
    this.choose();
  }

  close(): void {
    // nothing goes on here
  }

  seen(): void {
    // nor is anything missed
  }

  async changed(): Promise<void> {
    // a form stays as it is
  }

  private form(): HTMLElement {
    const { words } = this.page;
    const field = (label: string, control: HTMLElement, hint = "") => h("p", { class: "field" }, h("label", { for: control.id }, label), control, hint && h("span", { class: "faint" }, hint));
    const submit = (event: Event) => {
      event.preventDefault();
      void this.plan();
    };
    return h(
      "form",
      { onsubmit: submit },
      field(words.study, this.study),
      field(words.scale, this.scale),
      field(words.settings, this.set, words.settings_hint),
      h("p", { class: "tools" }, this.plan_button, this.start_button, h("span", { class: "faint" }, words.plan_first)),
      this.said,
    );
  }

  private choose(): void {
    const study = this.studies.find(({ name }) => name === this.study.value);
    const scales = [h("option", { value: "" }, this.page.words.scale_none), ...(study?.scales ?? []).map((name) => h("option", { value: name }, name))];
    this.scale.replaceChildren(...scales);
    if (study?.scales.includes("quick")) this.scale.value = "quick";
    this.forget();
  }

  /** What was planned is not what the form says any more. */
  private forget(): void {
    this.start_button.disabled = true;
    this.said.replaceChildren();
  }

  private get wanted(): { study: string; scale: string | null; set: string[] } {
    const lines = this.set.value.split("\n").map((line) => line.trim());
    return { study: this.study.value, scale: this.scale.value || null, set: lines.filter(Boolean) };
  }

  private async plan(): Promise<void> {
    const { words } = this.page;
    this.plan_button.disabled = true;
    try {
      const { text } = await post<{ text: string }>("/api/plan", this.wanted);
      this.said.replaceChildren(h("h2", {}, words.plan), h("pre", { class: "plan", tabindex: "0" }, text));
      this.start_button.disabled = false;
    } catch (error) {
      this.start_button.disabled = true;
      this.said.replaceChildren(this.page.refusal(error));
    }
    this.plan_button.disabled = false;
  }

  private async start(): Promise<void> {
    const { words } = this.page;
    this.start_button.disabled = true;
    const button = this.start_button.textContent;
    this.start_button.textContent = words.starting;
    try {
      const { run } = await post<{ run: number | null }>("/api/start", this.wanted);
      if (run !== null) location.assign(`/live/${run}`);
      else this.said.replaceChildren(h("p", {}, words.still_starting));
    } catch (error) {
      this.said.replaceChildren(this.page.refusal(error));
    }
    this.start_button.textContent = button;
  }
}
