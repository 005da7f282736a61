// Opens runs that are compared with earlier ones in Chromium; the last line it prints is JSON of what was seen.
import { auditAll, injected, open, settings, settle } from "./reader.mjs";

const { browser, page, problems } = await open();
const seen = { problems };
const texts = (selector) => page.locator(selector).allInnerTexts();
await page.goto(`file://${settings.file}`);
await page.waitForSelector(".compared");
await settle(page);
seen.compared = await texts(".compared > h2, .compared > p, .compared summary");
seen.causes = await page.locator(".cause").evaluateAll((blocks) => blocks.map((block) => block.querySelector("summary b")?.textContent === "new "));
for (const summary of await page.locator(".compared summary").all()) await summary.click();
await settle(page);
seen.listed = await texts(".compared li");
seen.links = await page.locator(".compared li a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
seen.injected = await injected(page);
seen.axe = await auditAll(page, { run: "#/" });
await page.goto(`file://${settings.examined}`);
await page.waitForSelector(".matrix");
await settle(page);
const head = () => texts(".matrix thead th");
const counts = () => texts(".counts button");
seen.examined = { head: await head(), counts: await counts() };
await page.click(".examine-compare button");
await settle(page);
seen.examined = { ...seen.examined, all: await head(), counts_of_all: await counts() };
seen.title = await page.title();
await browser.close();
console.log(JSON.stringify(seen));
