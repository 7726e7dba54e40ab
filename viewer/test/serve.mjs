// Uses `prony serve` in a real Chromium: node test/serve.mjs PRONY STORE [DIRECTORY FOR SCREENSHOTS]. STORE has many
// made-up runs (examples/sample_store.rs); a real one is started from the form, on a MariaDB, and stopped, and then one whose
// load comes from two load hosts, of which one falls silent for a while.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [prony, store, pictures] = process.argv.slice(2);
if (!prony || !store) throw new Error("name the program and the store");
const browsers = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = browsers.find((path) => path && existsSync(path));
if (!executablePath) throw new Error("no Chromium: install it (apt install chromium) or name it in CHROMIUM");
if (pictures) mkdirSync(pictures, { recursive: true });

const STUDY = `title = "Served"
title_zh = "服务中的研究"
[server.a]
product = "mariadb"
version = "10.11"
[data]
rows = 500
[[stream]]
workload = "oltp_point_select"
[vary]
"stream.connections" = [1, 2]
[measure]
warm_up = "1s"
interval = "3s"
repeats = 50
[scale.quick]
measure.repeats = 40
`;

const home = mkdtempSync(join(tmpdir(), "prony-serve-"));
copyFileSync(store, join(home, "prony.sqlite"));
writeFileSync(join(home, "served.toml"), STUDY);
const certificates = join(home, "load-hosts");
const environment = { ...process.env, XDG_STATE_HOME: join(home, "state"), PRONY_STORE: join(home, "prony.sqlite"), PRONY_AGENTS_DIR: certificates };
const server = spawn(resolve(prony), ["serve", "--listen", "127.0.0.1:0"], { cwd: home, env: environment, stdio: ["ignore", "pipe", "inherit"] });
const [opened] = await new Promise((done, fail) => {
  createInterface({ input: server.stdout }).once("line", (line) => done([line]));
  server.once("exit", (code) => fail(new Error(`prony serve ended with ${code}`)));
});
const [address, token] = opened.split("/#token=");
assert.match(address, /^http:\/\/127\.0\.0\.1:\d+$/);

const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
const browser = await chromium.launch({ executablePath, headless: true, args });
const heard = [];
const agents = [];

/** A reader with a browser of his own; everything that is wrong is heard. */
async function reader(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", locale: "en-GB", ...options });
  const page = await context.newPage();
  // a debug build on a busy machine takes its time to make a page
  page.setDefaultTimeout(120_000);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) heard.push(message.text());
  });
  page.on("pageerror", (error) => heard.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(`${address}/`) && !request.url().startsWith("data:")) heard.push(`asked for ${request.url()}`);
    if (request.url().includes(token)) heard.push(`the token is in ${request.url()}`);
  });
  return page;
}

async function picture(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, `serve-${name}.png`), fullPage: !name.startsWith("list") });
}

const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
async function checkAccess(page, where) {
  // by the debugger, as the pages let no such script run
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  const told = serious.flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ html }) => `${id}: ${html.slice(0, 160)}`));
  assert.deepEqual(told, [], `axe finds nothing serious: ${where}`);
}

const rows = (page) => page.locator(".runs tbody tr:not([hidden])");

async function checkList() {
  const page = await reader();
  await page.goto(address);
  await rows(page).first().waitFor();
  const all = await rows(page).count();
  assert.ok(all >= 1000, `${all} runs are listed`);
  // once more, with the server's list as it was read: nothing has changed
  const begun = Date.now();
  await page.reload();
  await rows(page).first().waitFor();
  const took = Date.now() - begun;
  assert.ok(took < 3000, `the list of ${all} runs is there after ${took} ms`);
  await page.locator(".curve svg").first().waitFor();
  assert.match(await page.locator(".curve svg").first().getAttribute("aria-label"), /Throughput of each combination, from \d/);
  await picture(page, "list");
  await checkAccess(page, "the list");

  const typed = await page.evaluate(() => {
    const search = document.querySelector("#search");
    const at = performance.now();
    search.value = "nightly";
    search.dispatchEvent(new Event("input", { bubbles: true }));
    document.body.getBoundingClientRect();
    return performance.now() - at;
  });
  assert.ok(typed < 500, `a search takes ${typed} ms`);
  assert.equal(await rows(page).count(), all / 10, "labels are searched");
  await page.locator("#search").fill("no such thing");
  assert.equal(await rows(page).count(), 0);
  await page.getByText("No run matches.").waitFor();
  await page.locator("#search").fill("");

  // two runs are compared, with the keyboard alone
  const compare = page.locator(".tools button");
  assert.ok(await compare.isDisabled());
  for (const place of [1, 2, 3]) {
    await rows(page).nth(place).locator("input").focus();
    await page.keyboard.press("Space");
  }
  await compare.focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/compare\?runs=\d+,\d+,\d+$/);
  assert.match(await page.locator("h1").innerText(), /Runs \d+ and \d+ against run \d+/);
  await page.getByRole("link", { name: "All runs" }).click();

  // the report is the very report: its charts are drawn, under the policy that the server sends
  await rows(page).first().locator("a").first().click();
  await page.waitForURL(/\/runs\/\d+$/);
  await page.waitForFunction(() => [...document.querySelectorAll("[data-chart]")].every((place) => place.dataset.ready === "yes"));
  assert.ok((await page.locator("[data-chart] svg").count()) > 5);
  await page.getByRole("link", { name: "History" }).click();
  await page.waitForURL(/\/history\/quickstart$/);
  await page.locator("[data-chart] svg").first().waitFor();
  await page.context().close();
}

async function checkLanguages() {
  const page = await reader();
  const wide = /[\u4e00-\u9fff]/;
  const words = async () => (await page.locator("body").innerText()).replaceAll("中文", "");
  for (const path of ["/", "/start"]) {
    await page.goto(address + path);
    await page.locator("section").first().waitFor();
    assert.ok(!wide.test(await words()), `${path} has no Chinese where English is read`);
  }
  await page.getByRole("button", { name: "中文" }).click();
  await page.getByText("启动和停止运行需要").waitFor();
  await page.goto(address);
  await rows(page).first().waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), "zh-CN", "the choice stays");
  assert.match(await words(), /全部运行[\s\S]*吞吐量/);
  await picture(page, "list-chinese");
  await rows(page).first().locator("a").first().click();
  await page.waitForURL(/\/runs\/\d+$/);
  assert.equal(await page.evaluate(() => document.documentElement.lang), "zh-CN", "reports begin in the language that was chosen");
  await page.context().close();
  const there = await reader({ locale: "zh-CN" });
  await there.goto(address);
  await there.getByText("启动研究").waitFor();
  await there.context().close();
}

async function checkSmallAndDark() {
  for (const [name, options] of [["telephone", { viewport: { width: 390, height: 844 } }], ["dark", { colorScheme: "dark" }]]) {
    const page = await reader(options);
    for (const path of ["/", "/start"]) {
      await page.goto(address + path);
      await page.locator("section").first().waitFor();
      if (path === "/") await rows(page).first().waitFor();
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} fits a ${name}`);
      await checkAccess(page, `${path}, ${name}`);
      await picture(page, `${path === "/" ? "list" : "start"}-${name}`);
    }
    await page.context().close();
  }
}

/** Throughput and 95th percentile as a row of a table has them. */
async function figuresOf(row) {
  await row.waitFor();
  const heads = (await row.locator("xpath=ancestor::table").locator("thead th").allInnerTexts()).map((text) => text.trim());
  const cells = await row.locator("td, th").allInnerTexts();
  return ["Transactions/s", "p95, ms"].map((head) => cells[heads.indexOf(head)]?.trim());
}

async function checkRun() {
  const page = await reader();
  // without the token nothing is started
  await page.goto(`${address}/start`);
  await page.locator("#token").fill("wrong");
  await page.getByRole("button", { name: "Enter" }).click();
  await page.getByText("The token is missing or wrong.").waitFor();
  // the browser tells the console of each refusal
  assert.match(heard.splice(0).join(), /^Failed to load resource: the server responded with a status of 401 \(Unauthorized\)$/);
  // the address that is printed has it, and leaves no trace of it
  await page.goto(`${address}/start#token=${token}`);
  await page.locator("#study").waitFor();
  assert.equal(page.url(), `${address}/start`);
  const [cookie] = await page.context().cookies();
  assert.ok(cookie.httpOnly && cookie.sameSite === "Strict", "no script sees the cookie, no other site sends it");

  const start = page.getByRole("button", { name: "Start the run" });
  await page.locator("#study").selectOption("served.toml");
  assert.equal(await page.locator("#scale").inputValue(), "quick");
  assert.ok(await start.isDisabled(), "the plan comes first");
  await page.locator("#set").fill("measure.repeat=2");
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByText("measure.repeat", { exact: false }).locator("visible=true").last().waitFor();
  await page.locator("pre.bad").waitFor();
  assert.ok(await start.isDisabled(), "a study with mistakes does not start");
  assert.match(heard.splice(0).join(), /status of 422/);
  await page.locator("#set").fill("measure.repeats=30");
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.locator("pre.plan").waitFor();
  assert.match(await page.locator("pre.plan").innerText(), /60 trials/);
  await checkAccess(page, "the form");
  await picture(page, "start");
  await start.click();
  await page.waitForURL(/\/live\/\d+$/, { timeout: 60_000 });
  const run = page.url().split("/").at(-1);

  // second by second, as the run tells it
  await page.locator("#seconds svg path").first().waitFor({ state: "attached", timeout: 120_000 });
  await page.locator("#finished tbody tr").first().waitFor({ timeout: 60_000 });
  assert.match(await page.locator(".state").innerText(), /Trial \d+ of 60 · .* left · .* elapsed/);
  assert.ok(Number(await page.locator("progress").getAttribute("value")) > 0 || (await page.locator("progress").evaluate((bar) => bar.value)) > 0);
  const events = await page.locator(".log").innerText();
  assert.match(events, /Run begins: 60 trials on a[\s\S]*/);
  assert.match(events, /a: ready, mariadb 10\.11/);
  await checkAccess(page, "the live page");
  await picture(page, "live");

  // another reader finds the run, sees the same figures, and cannot stop it
  const other = await reader({ viewport: { width: 390, height: 844 } });
  await other.goto(address);
  await other.locator(".banner a").click();
  await other.waitForURL(`${address}/live/${run}`);
  await other.locator("#finished tbody tr").first().waitFor();
  assert.ok(await other.locator(".stop").isHidden());
  const oldest = async (reader) => (await reader.locator("#finished tbody tr").last().innerText()).replace(/\s+/g, " ").trim();
  assert.equal(await oldest(other), await oldest(page));
  await picture(other, "live-telephone");

  // the page goes, the run goes on, and a page that comes again is told what there was
  await page.goto("about:blank");
  const finished = await other.locator("#finished tbody tr").count();
  await other.waitForFunction((before) => document.querySelectorAll("#finished tbody tr").length > before, finished, { timeout: 60_000 });
  await page.goto(`${address}/live/${run}`);
  await page.waitForFunction((before) => document.querySelectorAll("#finished tbody tr").length > before, finished);

  // a second one is refused, and says why
  await page.goto(`${address}/start?study=served.toml`);
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.locator("pre.plan").waitFor();
  await page.getByRole("button", { name: "Start the run" }).click();
  await page.getByText("Two runs at a time would disturb each other").waitFor();
  assert.match(heard.splice(0).join(), /status of 409/);

  page.on("dialog", (dialog) => void dialog.accept());
  await page.goto(`${address}/live/${run}`);
  const followed = await figuresOf(page.locator("#finished tbody tr").last());
  await page.getByRole("button", { name: "Stop the run" }).click();
  for (const one of [page, other]) await one.getByText("The run was interrupted. Finished trials are kept.").waitFor({ timeout: 60_000 });
  assert.ok(await other.getByRole("button", { name: "Resume the run" }).isHidden(), "without the token nothing is resumed");
  await page.goto(address);
  assert.match(await rows(page).first().innerText(), /interrupted/);

  // the report has the figures of the trial that was followed
  await page.getByRole("link", { name: run, exact: true }).click();
  await page.waitForFunction(() => [...document.querySelectorAll("[data-chart]")].every((place) => place.dataset.ready === "yes"));
  await page.locator("#order summary").click();
  assert.deepEqual(await figuresOf(page.locator("#order tbody tr").first()), followed);

  // what is missing is carried out from the page of the run, which goes on with the same number
  await page.goto(`${address}/live/${run}`);
  await page.getByRole("button", { name: "Resume the run" }).click();
  await page.locator(".state", { hasText: /Trial \d+ of \d+ · / }).waitFor({ timeout: 120_000 });
  await page.getByRole("button", { name: "Stop the run" }).click();
  await page.getByText("The run was interrupted. Finished trials are kept.").waitFor({ timeout: 60_000 });
  await page.context().close();
  await other.context().close();
}

/** Two load hosts on this machine, and where they listen. */
async function loadHosts() {
  execFileSync(resolve(prony), ["agent", "init", "--dir", certificates, "127.0.0.1"], { stdio: "ignore" });
  return await Promise.all([1, 2].map(async () => {
    const flags = ["agent", "--dir", join(certificates, "127.0.0.1"), "--listen", "127.0.0.1:0", "--allow", "127.0.0.1:*"];
    const agent = spawn(resolve(prony), flags, { stdio: ["ignore", "ignore", "pipe"] });
    agents.push(agent);
    const line = await new Promise((done) => createInterface({ input: agent.stderr }).once("line", done));
    return { agent, address: /127\.0\.0\.1:\d+/.exec(line)[0] };
  }));
}

async function checkLoadHosts() {
  const [first, second] = await loadHosts();
  const agents_of_study = JSON.stringify([first.address, second.address]);
  // trials that are long enough to look at
  const study = STUDY.replace("[data]", `[load]\nagents = ${agents_of_study}\n[data]`).replace('"3s"', '"60s"');
  writeFileSync(join(home, "hosts.toml"), study.replace("[1, 2]", "[6, 5]"));
  const page = await reader();
  page.on("dialog", (dialog) => void dialog.accept());
  await page.goto(`${address}/start#token=${token}`);
  await page.locator("#study").selectOption("hosts.toml");
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.locator("pre.plan").waitFor();
  await page.getByRole("button", { name: "Start the run" }).click();
  await page.waitForURL(/\/live\/\d+$/, { timeout: 60_000 });
  // both, with half of the connections each, and what their load processes take
  const table = page.locator("#hosts tbody tr");
  await table.nth(1).waitFor({ timeout: 120_000 });
  const cells = await table.evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(cells.map(([host]) => host).sort(), [first.address, second.address].sort());
  const connections = cells.map(([, count]) => Number(count)).sort().join();
  assert.ok(["3,3", "2,3"].includes(connections), connections);
  for (const [, , busy, own, waiting, network] of cells) {
    assert.ok(Number(own) >= 0 && Number(busy) > 0 && Number(waiting) >= 0 && Number(network) >= 0, cells.join(" | "));
  }
  assert.ok(cells.some(([, , , own]) => Number(own) > 0), "a load takes processors");
  assert.equal(await page.locator("#hosts h2").innerText(), "Load hosts");
  await checkAccess(page, "the live page with load hosts");
  await picture(page, "live-hosts");
  // one falls silent: it is told although no second of the load is complete, and forgotten when it goes on
  second.agent.kill("SIGSTOP");
  const lags = page.locator("#hosts tbody tr", { hasText: second.address }).getByText(/lags: no results for \d+ s/);
  await lags.waitFor({ timeout: 20_000 });
  assert.match(await table.first().innerText(), new RegExp(second.address), "whoever lags is first");
  second.agent.kill("SIGCONT");
  await lags.waitFor({ state: "detached", timeout: 60_000 });
  await page.getByRole("button", { name: "中文" }).click();
  await page.getByRole("heading", { name: "压测机" }).waitFor({ timeout: 60_000 });
  await page.getByRole("button", { name: "停止运行" }).click();
  await page.getByText("运行被中断，已结束的试验已保留。").waitFor({ timeout: 60_000 });
  await page.context().close();
}

try {
  await checkList();
  await checkLanguages();
  await checkSmallAndDark();
  await checkRun();
  await checkLoadHosts();
  assert.deepEqual(heard, [], "nothing is wrong, and nothing was fetched from elsewhere");
  console.log("prony serve works in Chromium");
} finally {
  await browser.close();
  const ended = new Promise((done) => server.once("exit", done));
  if (server.exitCode === null && server.kill("SIGTERM")) await ended;
  for (const agent of agents) agent.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
}
