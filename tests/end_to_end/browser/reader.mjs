// What the scripts of this folder share: a browser that notes every problem, and checks that hold for each screen.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** The rules whose outcome follows from the theme. */
const COLOURS = ["color-contrast", "link-in-text-block"];
const SERIOUS = ["serious", "critical"];

export const settings = JSON.parse(process.argv[2]);

/** Opens a browser; `problems` are errors of the console and of scripts, and requests that leave the page. */
export async function open({ width = 1280, height = 1000, origin = "" } = {}) {
  const browser = await chromium.launch({ executablePath: settings.executable, args: ["--no-sandbox"] });
  const context = await browser.newContext({ viewport: { width, height }, offline: !origin, colorScheme: "light" });
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => {
    const address = request.url();
    const own = origin ? address.startsWith(origin) : /^file:/.test(address);
    if (!own && !/^(data|blob):/.test(address)) problems.push(`asked for ${address}`);
  });
  return { browser, context, page, problems };
}

/** Goes to an address of the page, as a click on a link does, and waits until its screen is drawn. */
export async function go(page, hash) {
  await page.evaluate((to) => { location.hash = to; }, hash);
  await settle(page);
}

export async function settle(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.waitForFunction(() => !document.body.innerText.includes("Opening …"));
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** Lists what an injected text would have made. */
export async function injected(page) {
  return page.evaluate(() => [
    ...document.querySelectorAll("#app script, #app img[src='x'], #app a[href^='javascript']"),
    ...[...document.querySelectorAll("#app b")].filter((node) => node.textContent === "bold"),
  ].map((node) => node.outerHTML));
}

/** Lists what axe-core finds serious on a screen: the rule and the first element. */
async function audit(page, options = {}) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
  const run = (given) => globalThis.axe.run(document, { resultTypes: ["violations"], ...given });
  const { violations } = await page.evaluate(run, options);
  return violations
    .filter(({ impact }) => SERIOUS.includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)} ${nodes[0].failureSummary?.split("\n")[1] ?? ""}`);
}

/** Audits screens at three widths in both themes, the second for its colours, and tells where something is too wide. */
export async function auditAll(page, hashes) {
  const found = [];
  for (const width of [400, 1280, 2560]) {
    await page.setViewportSize({ width, height: 1000 });
    for (const [name, hash] of Object.entries(hashes)) {
      await go(page, hash);
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        const options = colorScheme === "dark" ? { runOnly: COLOURS } : {};
        const where = `${name} at ${width} px, ${colorScheme}`;
        for (const finding of await audit(page, options)) found.push(`${where}: ${finding}`);
        if (settings.keep) await page.screenshot({ path: `${settings.shots}/${name}-${width}-${colorScheme}.png` });
      }
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) found.push(`${name} at ${width} px: too wide`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 1000 });
  await page.emulateMedia({ colorScheme: "light" });
  return found;
}

/** Follows every link inside the page from where it is, at most so many; returns those that lead nowhere. */
export async function crawl(page, most) {
  const seen = new Set();
  const waiting = [await page.evaluate(() => location.hash || "#/")];
  const dead = [];
  const evil = [];
  while (waiting.length && seen.size < most) {
    const hash = waiting.shift();
    if (seen.has(hash)) continue;
    seen.add(hash);
    await go(page, hash);
    const text = await page.evaluate(() => document.querySelector("#app").innerText);
    if (/There is no|No request \d/.test(text) || text.length < 100) dead.push(hash);
    for (const node of await injected(page)) evil.push(`${hash}: ${node}`);
    for (const link of await page.evaluate(() => [...document.querySelectorAll("a[href^='#']")].map((a) => a.getAttribute("href"))))
      if (!seen.has(link)) waiting.push(link);
  }
  return { links: seen.size, dead, evil };
}
