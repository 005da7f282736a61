// Opens a report in Chromium and does what a reader would; the last line it prints is JSON of what was seen.
import { chromium } from "playwright-core";

const { executable, file, shots } = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: executable, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1400, height: 1000 }, offline: true });
const page = await context.newPage();
const problems = [];
page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
page.on("pageerror", (error) => problems.push(String(error)));
page.on("request", (request) => /^(file|data):/.test(request.url()) || problems.push(`asked for ${request.url()}`));

const began = performance.now();
await page.goto(`file://${file}`, { waitUntil: "load" });
await page.waitForSelector(".test");
await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const seen = { opened: performance.now() - began };

const count = async () => (await page.textContent("#count")).match(/\d+/g).map(Number);
const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const settle = () => page.waitForTimeout(250);

seen.count = await count();
seen.line = await page.textContent("#line");
seen.first = await page.textContent(".test > summary b");
await page.screenshot({ path: `${shots}/opened.png` });

await page.selectOption("#kind", "unexpected");
seen.unexpected = await count();
await page.selectOption("#kind", "");
await page.fill("#search", "only here <b>");
await settle();
seen.searched = await count();
await page.click(".row > summary");
await page.waitForSelector(".sides");
seen.sides = await page.locator(".sides h3").allTextContents();
seen.body = await page.textContent(".sides pre");
seen.diagrams = await page.locator(".diagram svg g").count();
seen.injected = await page.locator("pre b, pre script").count();
await page.click(".stream summary");
seen.event = JSON.parse(await page.textContent(".stream details[open] pre")).type;
await page.click("button[type=reset]");
await settle();
seen.reset = await count();

await page.click("#surface details:first-child summary");
await page.waitForSelector("#surface .chip");
seen.chips = await page.locator("#surface .chip").count();
await page.locator("#surface .chip.hit").first().click();
seen.chosen = await page.inputValue("#search");
await page.click("button[type=reset]");

await page.emulateMedia({ colorScheme: "light" });
const light = await colour();
await page.emulateMedia({ colorScheme: "dark" });
const dark = await colour();
await page.screenshot({ path: `${shots}/dark.png` });
await page.click("#theme");
seen.themes = { differ: light !== dark, forced: (await colour()) === light, said: await page.textContent("#theme") };

await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
await page.emulateMedia({ media: "print" });
seen.print = { controls: await page.isVisible(".controls"), closed: await page.locator(".test:not([open])").count() };
seen.unnamed = await page.evaluate(() => [...document.querySelectorAll("button, input, select, meter, svg")]
  .filter((node) => !(node.ariaLabel ?? node.getAttribute("aria-label") ?? node.labels?.[0]?.textContent ?? node.textContent).trim())
  .map((node) => node.outerHTML));
await browser.close();
console.log(JSON.stringify({ ...seen, problems }));
