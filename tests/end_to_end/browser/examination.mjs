// Opens results of examinations in Chromium and does what a reader would; the last line it prints is JSON of what was seen.
import { auditAll, crawl, go, injected, open, settings, settle } from "./reader.mjs";

const { browser, page, problems } = await open();
const seen = { problems };
const texts = (selector) => page.locator(selector).allInnerTexts();
const where = () => page.evaluate(() => decodeURIComponent(location.hash));

await page.goto(`file://${settings.file}`);
await page.waitForSelector(".matrix");
await settle(page);
seen.head = await texts(".matrix thead th");
seen.causes = await texts(".matrix .cause");
seen.rows = await texts(".matrix tbody tr:not(.cause)");
seen.passed = await texts(".examine-passed");
await page.click(".cell.wrong");
await settle(page);
seen.opened = { address: await where(), sides: await texts(".cell-side"), steps: await page.locator(".cell-side svg").count() };
await page.keyboard.press("Escape");
await settle(page);
seen.escaped = await where();

await page.selectOption(".examine-compare select >> nth=0", settings.old);
await page.selectOption(".examine-compare select >> nth=1", settings.new);
await settle(page);
seen.compared = { counts: await texts(".counts button"), causes: await texts(".matrix .cause"), head: await texts(".matrix thead th") };
await page.click(".counts button >> nth=0");
await settle(page);
seen.onlyNew = { address: await where(), causes: await texts(".matrix .cause") };
await go(page, "#/");
seen.crawled = await crawl(page, 30);
seen.injected = [...seen.crawled.evil, ...(await injected(page))];
await go(page, "#/");
seen.axe = await auditAll(page, { matrix: "#/", cell: seen.opened.address });
seen.title = await page.title();
await browser.close();
console.log(JSON.stringify(seen));
