// Opens the sample reports in a real Chromium and uses them: node test/browser.mjs REPORT.html LOADS.html [DIRECTORY FOR
// SCREENSHOTS].
// Nothing may be fetched, no error may be logged, every chart must be drawn, and its controls must work.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [page_file, loads_file, pictures] = process.argv.slice(2);
if (!page_file || !loads_file) throw new Error("name the reports to open");
const addressOf = (file) => pathToFileURL(resolve(file)).href;
const address = addressOf(page_file);
const browsers = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = browsers.find((path) => path && existsSync(path));
if (!executablePath) throw new Error("no Chromium: install it (apt install chromium) or name it in CHROMIUM");
if (pictures) mkdirSync(pictures, { recursive: true });

const profile = mkdtempSync(join(tmpdir(), "prony-browser-"));
const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args });

/** The page at a size, ready, with everything it said and asked for. */
async function open(width, height, colorScheme, url = address) {
  const page = await context.newPage();
  const heard = { errors: [], requests: [] };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) heard.errors.push(message.text());
  });
  page.on("pageerror", (error) => heard.errors.push(String(error)));
  page.on("request", (request) => heard.requests.push(request.url()));
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.goto(url);
  await page.waitForFunction(() => {
    const places = [...document.querySelectorAll("[data-chart]")];
    return places.length > 0 && places.every((place) => place.dataset.ready === "yes");
  });
  return { page, heard };
}

async function picture(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

/** Drawn paths of one chart in a colour; hidden series have none. */
const strokes = (chart, colour) =>
  chart.evaluate((place, wanted) => place.querySelectorAll(`path[stroke="${wanted}"]`).length, colour);

/** Waits until a question has the wanted answer: how long drawing takes depends on the machine. */
async function eventually(question, isWanted, message) {
  let answer;
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; await new Promise((done) => setTimeout(done, 50))) {
    answer = await question();
    if (isWanted(answer)) return;
  }
  assert.fail(`${message}; at last there was ${answer}`);
}

const EMBEDDED = /(<script type="application\/json" id="prony-charts">)(.*?)(<\/script>)/s;
/** A page's charts in English. */
const chartsOf = (text) =>
  JSON.parse(EMBEDDED.exec(text)[2], (_, value) => (value?.in?.en !== undefined ? value.in.en : value)).charts;
const charts = chartsOf(readFileSync(page_file, "utf8"));
const KINDS = ["throughput", "latency", "tradeoff", "distribution", "timeline"];
const ladders = charts.filter(({ id }) => KINDS.includes(id.split("-")[0]));
/** Places of the charts of ladders on a page, and of those of a kind. */
const laddersOf = (page) => page.locator(KINDS.map((kind) => `.results [data-chart^="${kind}-"]`).join(", "));
const placesOf = (page, kind) => page.locator(`[data-chart^="${kind}"]`);

async function checkDesktop() {
  const { page, heard } = await open(1280, 900, "light");
  const places = laddersOf(page);
  assert.equal(await places.count(), ladders.length, "each chart has its place");
  assert.equal(ladders.length, 2 * KINDS.length, "five charts for each group");
  const first = placesOf(page, "throughput").first();
  const [one, other] = ["#0067b8", "#c2410c"];
  for (let i = 0; i < (await places.count()); i++) {
    for (const colour of [one, other]) {
      assert.ok((await strokes(places.nth(i), colour)) > 0, `chart ${i} shows a line in ${colour}`);
    }
  }
  // Each rung has a symbol and an error bar of three strokes for each server, and a line through all.
  const { ticks } = ladders[0].drawing.x;
  assert.ok((await strokes(first, one)) >= ticks.length * 3 + 1, "error bars are drawn");
  const words = await first.locator("text").allTextContents();
  for (const { label } of ticks) assert.ok(words.includes(label), `the axis has a tick at ${label}`);
  await picture(page, "desktop");
  if (pictures) await page.locator(".pair").first().screenshot({ path: join(pictures, "charts.png") });

  // A map of response times has a name for each server and cells in more than one colour of one hue.
  const heat = placesOf(page, "heat").first();
  const named = (await heat.locator("text").allTextContents()).join(" ");
  for (const { name } of ladders[0].drawing.panels[0].lines.slice(0, 2)) assert.ok(named.includes(name), `a map of ${name}`);
  assert.ok(named.includes("transactions per second"), "what colours mean");
  const ramp = ["#dcebf8", "#b3d3ee", "#7fb3de", "#4a8fca", "#1f6bb0", "#0b4a86", "#06305a"];
  const cells = await heat.evaluate((place, colours) => colours.map((colour) => place.querySelectorAll(`path[fill="${colour}"]`).length), ramp);
  assert.ok(cells.filter((count) => count > 1).length > 1, `cells by colour: ${cells}`);
  // Cost against response time: the front is dashed, and each point says where it is.
  const pareto = placesOf(page, "pareto").first();
  assert.ok((await pareto.locator("path[stroke-dasharray]").count()) > 0, "the front is dashed");

  // The legend hides a server and shows it again.
  const before = await strokes(first, other);
  const entry = first.locator("text", { hasText: ladders[0].drawing.panels[0].lines[1].name }).first();
  const drawn_in_other = () => strokes(first, other);
  await entry.click();
  await eventually(drawn_in_other, (count) => count === 0, "a click on the legend hides a server, error bars too");
  await entry.click();
  // Under the pointer a series is drawn stronger, in another shade. The click draws the legend anew, and a pointer that
  // leaves before that is done has left the old one: so it comes and goes until it was seen.
  const left = async () => {
    await entry.hover();
    await page.mouse.move(5, 5);
    return drawn_in_other();
  };
  await eventually(left, (count) => count === before, "another click shows it again");

  // The tooltip tells the numbers of the rung, with their intervals.
  const box = await first.boundingBox();
  await page.mouse.move(box.x + box.width * 0.55, box.y + box.height * 0.5);
  const tooltip = first.locator("div", { hasText: /Connections: 64/ }).last();
  await tooltip.waitFor({ state: "visible" });
  assert.match(await tooltip.innerText(), /threads\s+[\d,]+ \([\d,]+ – [\d,]+\) \/s\s+pool/);
  await picture(page, "tooltip");

  // Choosers change what is drawn, by keyboard as well.
  const latency = page.locator("figure", { has: placesOf(page, "latency") }).first();
  assert.match((await latency.locator("text").allTextContents()).join(), /p95/);
  await latency.locator("select").selectOption({ label: "p99" });
  assert.match((await latency.locator("text").allTextContents()).join(), /p99/);
  const spread = page.locator("figure", { has: placesOf(page, "distribution") }).first();
  const drawn = await spread.locator("svg").innerHTML();
  await spread.locator("select").focus();
  await page.keyboard.press("ArrowUp");
  const now = () => spread.locator("svg").innerHTML();
  await eventually(now, (markup) => markup !== drawn, "another rung has another distribution");

  // One trial second by second: another figure of the servers, another trial.
  const course = page.locator("figure", { has: page.locator('[data-chart="course"]') });
  const titles = async () => (await course.locator("text").allTextContents()).join(" ");
  for (const panel of ["Throughput", "Processors of the servers' machine", "Context switches", "Memory"]) {
    assert.ok((await titles()).includes(panel), `there is a panel: ${panel}`);
  }
  const [which, figure] = await course.locator("select").all();
  await figure.selectOption({ label: "log_syncs" });
  await eventually(titles, (text) => text.includes("log_syncs"), "the chosen figure is drawn");
  const paths = () => course.locator("svg").innerHTML();
  const first_paths = await paths();
  await which.selectOption({ index: 1 });
  await eventually(paths, (markup) => markup !== first_paths, "another trial has other seconds");

  for (const summary of await page.locator("details > summary").all()) await summary.click();
  await picture(page, "desktop-open");
  assert.deepEqual(heard.errors, [], "nothing is wrong on the console");
  assert.deepEqual(heard.requests, [address], "nothing is fetched but the file itself");
  await page.close();
}

async function checkSmallAndDark() {
  const { page, heard } = await open(390, 844, "light");
  const widest = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(widest <= 390, `a phone need not scroll sideways: the page is ${widest} wide`);
  await picture(page, "phone");
  if (pictures) await page.locator("main > section").nth(2).screenshot({ path: join(pictures, "phone-charts.png") });
  assert.deepEqual(heard.errors, []);
  await page.close();

  const dark = await open(1280, 900, "dark");
  const background = await dark.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(background, "rgb(16, 22, 28)");
  assert.ok((await strokes(placesOf(dark.page, "throughput").first(), "#5eb1ff")) > 0, "charts are dark too");
  await picture(dark.page, "dark");
  await dark.page.emulateMedia({ media: "print" });
  await dark.page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.ok((await strokes(placesOf(dark.page, "throughput").first(), "#0067b8")) > 0, "paper is light");
  assert.deepEqual(dark.heard.errors, []);
  if (pictures) await dark.page.pdf({ path: join(pictures, "print.pdf"), format: "A4" });
  await dark.page.close();
}

/** Names as long as a varied setting makes them: no table is cut where there is room, and the page never scrolls sideways. */
async function checkLongNames() {
  const names = [[/\bpool\b(?![-=])/g, "mariadb innodb_flush_log_at_trx_commit=2 sync_binlog=1000"],
    [/\bthreads\b/g, "mariadb innodb_flush_log_at_trx_commit=1 sync_binlog=1"]];
  for (const [place, file] of [page_file, loads_file].entries()) {
    const text = names.reduce((page, [short, long]) => page.replace(short, long), readFileSync(file, "utf8"));
    const copy = join(profile, `long-${place}.html`);
    writeFileSync(copy, text);
    const wide = await open(1280, 900, "light", addressOf(copy));
    const cut = await wide.page.evaluate(() =>
      [...document.querySelectorAll(".results .scroll")]
        .filter((table) => table.offsetParent && table.scrollWidth > table.clientWidth + 1)
        .map((table) => `${table.scrollWidth} in ${table.clientWidth}`),
    );
    assert.deepEqual(cut, [], "no table of results is wider than its place");
    await picture(wide.page, `long-${place}-1280`);
    await wide.page.close();
    const narrow = await open(420, 900, "light", addressOf(copy));
    const widest = await narrow.page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(widest <= 420, `the page does not scroll sideways: it is ${widest} wide`);
    await picture(narrow.page, `long-${place}-420`);
    await narrow.page.close();
  }
}

/** Several streams at an offered rate: each has its charts, what is offered is drawn, an overloaded point is hollow. */
async function checkLoads() {
  const { page, heard } = await open(1280, 900, "light", addressOf(loads_file));
  const places = laddersOf(page);
  assert.equal(await places.count(), 3 * KINDS.length, "five charts for each stream");
  for (let i = 0; i < (await places.count()); i++) {
    assert.ok((await strokes(places.nth(i), "#0067b8")) > 0, `chart ${i} shows a line`);
  }
  const first = placesOf(page, "throughput").first();
  const dashed = () => first.evaluate((place) => place.querySelectorAll("path[stroke-dasharray]").length);
  assert.ok((await dashed()) > 0, "what was offered is a dashed line");
  const hollow = () =>
    first.evaluate((place) => place.querySelectorAll('path[stroke="#0067b8"][fill="#ffffff"], path[stroke="#0067b8"][fill="#fff"]').length);
  assert.equal(await hollow(), 2, "two points of the first server are overloaded");
  await picture(page, "loads");
  await first.scrollIntoViewIfNeeded();
  const box = await first.boundingBox();
  await page.mouse.move(box.x + box.width * 0.95, box.y + box.height * 0.5);
  const tooltip = first.locator("div", { hasText: /orders offered\/s: 4,000/ }).last();
  await tooltip.waitFor({ state: "visible" });
  assert.match(await tooltip.innerText(), /\/s, overloaded/);
  assert.deepEqual(heard.errors, [], "nothing is wrong on the console");
  await page.close();
}

/** Pictures of charts, drawn by the program without a browser, are files that a browser opens, with what the page shows. */
async function checkPictures() {
  const { page } = await open(1280, 900, "light");
  const files = readdirSync(dirname(page_file)).filter((name) => name.endsWith(".svg"));
  assert.equal(files.length, 2 * (KINDS.length + 1) + 1, "a picture of each chart of results, a map included, and of costs");
  for (const file of files) {
    const svg = readFileSync(join(dirname(page_file), file), "utf8");
    const told = await page.evaluate((text) => {
      const drawn = new DOMParser().parseFromString(text, "image/svg+xml");
      const shown = (root) => [...root.querySelectorAll("text")].map((one) => one.textContent);
      return { broken: drawn.querySelector("parsererror")?.textContent ?? null, texts: shown(drawn) };
    }, svg);
    assert.equal(told.broken, null, `${file} is well-formed`);
    const place = page.locator(`[data-chart="${file.replace(/\.svg$/, "")}"]`);
    for (const text of ["threads", "pool"]) {
      assert.ok(told.texts.includes(text) && (await place.locator("text").allTextContents()).includes(text), `${file}: ${text}`);
    }
  }
  await page.close();
}

/** Switches the page to the other language and back; a browser of another language opens in it. */
async function checkLanguages() {
  const { page, heard } = await open(1280, 900, "light");
  const words = async () => `${await page.locator("body").innerText()} ${(await page.locator("svg text").allTextContents()).join(" ")}`;
  const wide = /[\u4e00-\u9fff]/;
  const english = await words();
  assert.match(english, /Trust: .*trials/);
  assert.ok(!wide.test(english.replace("中文", "")), "an English page has no Chinese");
  await page.getByRole("button", { name: "中文" }).click();
  assert.equal(await page.evaluate(() => document.documentElement.lang), "zh-CN");
  const chinese = await words();
  for (const word of ["可信度", "吞吐量", "响应时间", "置信区间"]) assert.ok(chinese.includes(word), `${word} stands in the page`);
  assert.match(await page.title(), wide);
  const latin = chinese.split("\n").filter((line) => /^[A-Z][a-z]+ [a-z]+ [a-z]+ [a-z]+/.test(line) && !wide.test(line));
  assert.deepEqual(latin, [], "no English sentence is left");
  assert.match(await page.locator("[data-chart]").first().getAttribute("aria-label"), wide);
  await picture(page, "chinese");
  await page.getByRole("button", { name: "English" }).click();
  assert.ok(!wide.test((await words()).replace("中文", "")), "and English again");
  assert.deepEqual(heard.errors, []);
  await page.close();
  const browser = await chromium.launch({ executablePath, headless: true, args });
  const there = await (await browser.newContext({ locale: "zh-CN" })).newPage();
  await there.goto(address);
  assert.equal(await there.evaluate(() => document.documentElement.lang), "zh-CN", "a Chinese browser opens it in Chinese");
  await browser.close();
}

/** What a chart shows can be kept as a picture or as numbers. */
async function checkFiles() {
  const { page, heard } = await open(1280, 900, "light");
  const figure = page.locator("figure", { has: placesOf(page, "throughput") }).first();
  const kept = async (kind) => {
    const [download] = await Promise.all([page.waitForEvent("download"), figure.getByRole("button", { name: kind }).click()]);
    assert.match(download.suggestedFilename(), new RegExp(`^throughput-.*\\.${kind.toLowerCase()}$`));
    return readFileSync(await download.path());
  };
  assert.match((await kept("SVG")).toString(), /^<svg.*threads/s);
  assert.equal((await kept("PNG")).subarray(1, 4).toString(), "PNG");
  const numbers = (await kept("CSV")).toString().trim().split("\r\n");
  const { lines } = ladders[0].drawing.panels[0];
  assert.equal(numbers.length, 1 + lines.reduce((sum, { values }) => sum + values.filter((value) => value !== null).length, 0));
  assert.ok(numbers.some((line) => line.includes(`,${lines[0].values[0]},${lines[0].low[0]},`)), "the numbers are the chart's");
  assert.deepEqual(heard.errors, []);
  await page.close();
}

/** Six servers with long names in every chart, bars and ratios too: no two texts of a drawing lie upon each other. */
async function checkSixServers() {
  const names = ["mariadb-12.1-tuned-pool-of-threads", "mysql-8.4 innodb_flush_log_at_trx_commit=2", "mysql-5.7 sync_binlog=1000",
    "mariadb-10.11", "percona-server-8.0 with a long name, and a longer one", "线程池与每连接一线程的比较"];
  const six = (panel) => {
    const all = panel.lines.filter(({ look }) => look !== null);
    const grown = (values, by) => values?.map((value) => (value === null ? null : value * by));
    const line = (name, look) => {
      const { values, low, high, ...rest } = all[look % Math.max(all.length, 1)];
      const by = 1 + 0.07 * look;
      return { ...rest, name, look, values: grown(values, by), ...(low ? { low: grown(low, by), high: grown(high, by) } : {}) };
    };
    return all.length > 0 ? { ...panel, lines: names.map(line) } : panel;
  };
  const crowded = charts.map((chart) => {
    if (chart.drawing.kind !== "lines" || chart.id === "course") return chart;
    const drawing = { ...chart.drawing, panels: chart.drawing.panels.map(six) };
    if (chart.id !== "picture") return { ...chart, drawing };
    const ticks = drawing.x.ticks.map(({ at }, place) => ({ at: place, label: `${names[place % 6]} over TCP, ${at} connections` }));
    return { ...chart, drawing: { ...drawing, x: { ...drawing.x, scale: "names", ticks }, places: [ticks.map(({ at }) => at)] } };
  });
  const copy = join(profile, "six.html");
  const data = JSON.stringify({ format: 2, charts: crowded }).replaceAll("<", "\\u003c");
  writeFileSync(copy, readFileSync(page_file, "utf8").replace(EMBEDDED, (_, begin, __, end) => begin + data + end));
  for (const width of [1440, 820, 390]) {
    const { page, heard } = await open(width, 900, "light", addressOf(copy));
    const upon = await page.evaluate(() =>
      [...document.querySelectorAll("[data-chart]")].flatMap((chart) => {
        const texts = [...chart.querySelectorAll("text")].map((text) => ({ text: text.textContent.trim(), box: text.getBoundingClientRect() }));
        const said = texts.filter(({ text, box }) => text !== "" && box.width > 0);
        return said.flatMap((one, place) =>
          said.slice(place + 1).flatMap((other) => {
            const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
            const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
            // boxes have room above and below their letters
            return across > 1.5 && down > 4 ? [`${chart.dataset.chart}: ${one.text} | ${other.text}`] : [];
          }),
        );
      }),
    );
    await picture(page, `six-${width}`);
    assert.deepEqual(upon, [], `no text lies upon another at ${width}`);
    const outside = await page.evaluate(() =>
      [...document.querySelectorAll("[data-chart]")].flatMap((chart) => {
        const { left, right } = chart.getBoundingClientRect();
        const texts = [...chart.querySelectorAll("text")].filter((text) => text.textContent.trim() !== "");
        return texts.filter((text) => text.getBoundingClientRect().left < left - 2 || text.getBoundingClientRect().right > right + 2)
          .map((text) => `${chart.dataset.chart}: ${text.textContent}`);
      }),
    );
    assert.deepEqual(outside, [], `no text is cut at ${width}`);
    assert.deepEqual(heard.errors, []);
    await page.close();
  }
}

/** What axe finds in a page that matters to those who cannot see it, or not well. */
async function checkAccess() {
  const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
  for (const [scheme, width] of [["light", 1280], ["dark", 1280], ["light", 390]]) {
    for (const url of [address, addressOf(loads_file)]) {
      const { page } = await open(width, 900, scheme, url);
      await page.evaluate((script) => new Function(script)(), axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
      const told = serious.flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ html }) => `${id}: ${html.slice(0, 160)}`));
      assert.deepEqual(told, [], `axe finds nothing serious (${scheme}, ${width})`);
      await page.close();
    }
  }
}

async function checkWithoutScript() {
  const browser = await chromium.launch({ executablePath, headless: true, args });
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await page.goto(address);
  const text = await page.locator("body").innerText();
  assert.match(text, /lower with pool than with threads/, "the findings need no JavaScript");
  assert.match(text, /The charts need JavaScript/);
  await browser.close();
}

try {
  await checkDesktop();
  await checkSmallAndDark();
  await checkLoads();
  await checkPictures();
  await checkLongNames();
  await checkLanguages();
  await checkFiles();
  await checkSixServers();
  await checkAccess();
  await checkWithoutScript();
  console.log("the report works in Chromium");
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
