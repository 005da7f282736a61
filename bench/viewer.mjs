// Opens a large page in Chromium and does what a reader does; the last line it prints is JSON of milliseconds and megabytes.
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const { executable, file, needle } = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: executable, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, offline: true });
const page = await context.newPage();
const figures = {};

const opened = performance.now();
await page.goto(`file://${file}`, { waitUntil: "commit" });
await page.waitForSelector(".cause");
figures["first screen"] = performance.now() - opened;
await page.waitForSelector(".beside .turn");
figures["the test beside it"] = performance.now() - opened;

const steps = await page.evaluate(async () => {
  const box = document.querySelector(".beside");
  const times = [];
  for (let step = 0; step < 60; step++) {
    const began = performance.now();
    box.scrollTop += 600;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - began);
  }
  return times.sort((one, other) => one - other);
});
figures["scroll, a step, median"] = steps[30];
figures["scroll, a step, longest"] = steps.at(-1);

await page.evaluate(() => {
  window.longest = 0;
  new PerformanceObserver((list) => list.getEntries().forEach(({ duration }) => (window.longest = Math.max(window.longest, duration)))).observe({ type: "longtask" });
});
await page.keyboard.press("/");
const searched = performance.now();
const keys = [];
for (const key of needle) {
  const began = performance.now();
  await page.keyboard.press(key);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  keys.push(performance.now() - began);
}
figures["search, a keystroke, longest"] = Math.max(...keys);
await page.waitForFunction(() => document.querySelector("#found")?.textContent === "1 hit", null, { timeout: 60_000 });
figures["search, until all bodies are read"] = performance.now() - searched;
figures["search, longest time without a picture"] = await page.evaluate(() => window.longest);
await page.keyboard.press("Escape");
await page.keyboard.press("Escape");
await page.click(".fold button");

const walked = performance.now();
for (let step = 0; step < 15; step++) {
  await page.keyboard.press("j");
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
}
figures["next test, a step"] = (performance.now() - walked) / 15;
await page.waitForTimeout(1000);
figures["memory of the page"] = await memory();
await browser.close();
console.log(JSON.stringify(figures));

/** Adds up the proportional set of the processes that draw pages; there is one page. */
async function memory() {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const kilobytes = processInfo
    .filter(({ type }) => type === "renderer")
    .map(({ id }) => Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, "utf8"))[1]));
  return Math.max(...kilobytes) / 1024;
}
