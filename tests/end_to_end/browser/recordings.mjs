// Opens what `responses-harness verify` wrote in Chromium; the last line it prints is JSON of what was seen.
import { auditAll, crawl, go, open, settings, settle } from "./reader.mjs";

const { browser, page, problems } = await open();
const seen = { problems };
const text = (selector) => page.locator(selector).first().innerText();
await page.goto(`file://${settings.file}`);
await page.waitForSelector(".page");
await settle(page);
seen.first = await text(".body");
const at = (rest) => `#/case/${encodeURIComponent(settings.recording)}/${rest}`;
await go(page, at("1/stream"));
seen.event = { row: await text(".event-selected"), said: await text(".stream-grown") };
await go(page, at("2/answer"));
seen.answer = { path: await page.getAttribute(".json-at", "data-path"), note: await text(".json-note") };
await go(page, at("2"));
await page.click(".problem a >> text=show it");
await settle(page);
seen.shown = await page.evaluate(() => location.hash);
await go(page, "#/");
seen.crawled = await crawl(page, 40);
seen.axe = await auditAll(page, { run: "#/", event: at("1/stream"), answer: at("2/answer") });
await browser.close();
console.log(JSON.stringify(seen));
