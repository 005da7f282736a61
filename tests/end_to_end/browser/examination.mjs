// Opens results of examinations in Chromium and does what a reader would; the last line it prints is JSON of what was seen.
import { chromium } from "playwright-core";

const { executable, file, shots } = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: executable, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1400, height: 1000 }, offline: true });
const page = await context.newPage();
const problems = [];
page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
page.on("pageerror", (error) => problems.push(String(error)));
page.on("request", (request) => /^(file|data):/.test(request.url()) || problems.push(`asked for ${request.url()}`));
await page.goto(`file://${file}`, { waitUntil: "load" });
await page.waitForSelector("#cases td");
const seen = {};

seen.clients = await page.locator("#cases thead tr:first-child th").allTextContents();
seen.modes = await page.locator("#cases thead .mode").allTextContents();
seen.rows = await page.locator("#cases tbody tr:not(.area)").count();
seen.areas = await page.locator("#areas tbody tr:last-child td").allTextContents();
await page.screenshot({ path: `${shots}/matrix.png` });

await page.click("#cases td.red button");
await page.waitForSelector("dialog[open]");
seen.again = await page.textContent("dialog .again");
seen.flow = await page.textContent("dialog .flow");
seen.dialog = await page.textContent("dialog dl");
seen.arrows = await page.locator("dialog .diagram svg g").count();
seen.injected = await page.locator("dialog b, dialog img, dialog script").count();
seen.title = await page.title();
await page.screenshot({ path: `${shots}/cell.png` });
await page.click("dialog form button");
seen.closed = await page.locator("dialog[open]").count();

await page.check("#wrong");
seen.wrong = await page.locator("#cases tbody tr:not(.area)").count();
await page.uncheck("#wrong");
await page.fill("#search", "no such case");
seen.none = await page.textContent("#count");
await page.evaluate(() => {
  const script = document.createElement("script");
  script.textContent = "document.title = 'injected'";
  document.body.append(script);
});
seen.refused = (await page.title()) !== "injected";
seen.problems = problems.filter((each) => !each.includes("Content Security Policy"));
seen.policy = problems.length - seen.problems.length;
await browser.close();
console.log(JSON.stringify(seen));
