// Takes pictures of reports, to be looked at before a release: node test/pictures.mjs DIRECTORY REPORT.html...
// Of each: the whole page on a desktop, the same in Chinese and dark, on a telephone, and its pages on paper (A4, as PDF).

import { existsSync, mkdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [directory, ...reports] = process.argv.slice(2);
if (!directory || reports.length === 0) throw new Error("name a directory and the reports");
const browsers = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = browsers.find((path) => path && existsSync(path));
if (!executablePath) throw new Error("no Chromium: install it (apt install chromium) or name it in CHROMIUM");
mkdirSync(directory, { recursive: true });

const LOOKS = {
  desktop: { width: 1440, locale: "en", colorScheme: "light" },
  chinese: { width: 1440, locale: "zh-CN", colorScheme: "light" },
  dark: { width: 1440, locale: "en", colorScheme: "dark" },
  telephone: { width: 390, locale: "en", colorScheme: "light" },
  "telephone-chinese": { width: 390, locale: "zh-CN", colorScheme: "light" },
};
const browser = await chromium.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-gpu"] });
for (const report of reports) {
  const name = basename(report, ".html");
  for (const [look, { width, locale, colorScheme }] of Object.entries(LOOKS)) {
    const context = await browser.newContext({ locale, colorScheme, reducedMotion: "reduce", viewport: { width, height: 900 } });
    const page = await context.newPage();
    await page.goto(pathToFileURL(resolve(report)).href);
    await page.waitForFunction(() => [...document.querySelectorAll("[data-chart]")].every((place) => place.dataset.ready === "yes"));
    await page.screenshot({ path: join(directory, `${name}-${look}.png`), fullPage: true });
    if (look === "desktop") await page.pdf({ path: join(directory, `${name}.pdf`), format: "A4" });
    await context.close();
  }
  console.log(name);
}
await browser.close();
