// Opens a report in Chromium and does what a reader would; the last line it prints is JSON of what was seen.
import { auditAll, crawl, go, injected, open, settings, settle } from "./reader.mjs";

const { browser, page, problems } = await open();
const seen = { problems, seconds: {} };
let last = performance.now();
const lap = (name) => {
  seen.seconds[name] = Math.round(performance.now() - last) / 1000;
  last = performance.now();
};
const at = (test, rest = "") => `#/case/${encodeURIComponent(`test_stories.py::${test}`)}${rest}`;
const text = (selector) => page.locator(selector).first().innerText();
const texts = (selector) => page.locator(selector).allInnerTexts();
const where = () => page.evaluate(() => decodeURIComponent(location.hash));
const press = async (key) => {
  await page.keyboard.press(key);
  await settle(page);
};

const began = performance.now();
await page.goto(`file://${settings.file}`);
await page.waitForSelector(".page");
await settle(page);
seen.opened = performance.now() - began;
seen.first = await text(".body");
seen.verdict = await text(".verdict");
seen.title = await page.title();

lap("opened");

// Search.
await press("/");
await page.keyboard.type("tell me a story");
await page.waitForTimeout(400);
await settle(page);
seen.searched = { address: await where(), text: await text(".body") };
await press("Escape");
await go(page, "#/");

// An exchange: each key.
seen.keys = {};
await go(page, at("test_call_altered", "/1"));
for (const key of ["l", "h", "]", "[", "2", "3", "4", "5", "6", "7", "1"]) {
  await press(key);
  seen.keys[key] = await where();
}
await press("Escape");
seen.keys.Escape = await where();
await press("?");
seen.help = await text("dialog[open]");
await press("Escape");
seen.closed = (await page.locator("dialog[open]").count()) === 0;

// The refusal at its place, and what was edited.
await go(page, at("test_refused_place", "/1/sent"));
seen.place = { path: await page.getAttribute(".json-at", "data-path"), note: await text(".json-at .json-note") };
await go(page, at("test_citations", "/2"));
seen.problem = await text(".problem");
seen.marked = await texts(".item-marked");
await go(page, at("test_call_altered", "/2"));
seen.altered = { removed: await texts(".item-marked del"), added: await texts(".item-marked ins") };
await go(page, at("test_call_altered", "/2?item=0"));
seen.wanted = await texts(".item-wanted");

lap("keys");

// Compare.
await go(page, at("test_call_altered", "/2/compare"));
seen.compare = await text(".json-diff");
await go(page, at("test_citations", "/2/compare?with=1"));
seen.asText = await text(".columns");
await go(page, at("test_long_talk[12]", "/7/compare"));
await page.selectOption("select", "3");
await settle(page);
seen.chosen = { address: await where(), text: await text(".json-diff") };

// History is folded, and opens.
await go(page, at("test_long_talk[12]", "/12"));
seen.fold = await text(".fold");
const before = await page.locator("article.item").count();
await page.click(".fold");
await settle(page);
seen.unfolded = (await page.locator("article.item").count()) - before;

lap("compared");

// A stream, event by event.
await go(page, at("test_stream", "/1/stream?event=0"));
seen.stream = { events: await text(".stepper"), grown: [] };
for (let step = 0; step < 40; step++) {
  await press("j");
  seen.stream.grown.push(await texts(".stream-grown .item"));
}
seen.stream.address = await where();

await go(page, at("test_stream_cut", "/1/stream"));
seen.cut = await text(".stream-events");
seen.rows = await texts(".stream-events .event");

// What can be copied.
await go(page, at("test_stream", "/2"));
await page.click(".copies summary");
seen.copies = await texts(".copies-menu button");
await page.evaluate(() => {
  globalThis.copied = [];
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => void globalThis.copied.push(text) } });
});
for (const button of await page.locator(".copies-menu button").all()) await button.click();
await go(page, at("test_tracker", "/2"));
await page.click(".copies summary");
await page.click(".copies-menu button:last-child");
seen.copied = await page.evaluate(() => globalThis.copied);
await go(page, at("test_picture", "/1"));
seen.picture = await page.evaluate(() => document.querySelector("img.picture")?.naturalWidth ?? 0);

lap("copied");

// Why this answer, and what went over the connection.
await go(page, at("test_agents", "/2/why"));
seen.why = await text(".why");
await go(page, at("test_stream", "/1/headers"));
seen.headers = await text(".exchange");

// Every link, and nothing that was sent becomes a part of the page.
await go(page, "#/");
seen.crawled = await crawl(page, 120);
seen.injected = seen.crawled.evil;
const [hostile, fileOfHostile] = JSON.parse(settings.hostile).map((id) => `#/case/${encodeURIComponent(id)}`);
const tabs = ["", "/sent", "/answer", "/stream", "/why", "/headers", "/compare"];
const screens = ["", ...[1, 2, 3, 4].flatMap((number) => tabs.map((tab) => `/${number}${tab}`))];
const places = { ...Object.fromEntries(screens.map((rest) => [rest, hostile + rest])), file: fileOfHostile, request: `${fileOfHostile}/1` };
seen.hostile = {};
for (const [name, place] of Object.entries(places)) {
  await go(page, place);
  seen.injected.push(...(await injected(page)));
  seen.hostile[name] = await text("#app");
}

lap("followed");
seen.axe = await auditAll(page, {
  run: "#/",
  coverage: "#/coverage",
  case: at("test_agents"),
  approvals: at("test_approvals"),
  failed: at("test_tracker"),
  transcript: at("test_tracker", "/2"),
  sent: at("test_citations", "/2/sent"),
  stream: at("test_stream", "/1/stream"),
  why: at("test_no_turn", "/1/why"),
  headers: at("test_stream", "/1/headers"),
  compare: at("test_call_altered", "/2/compare"),
  rule: "#/rule/call_needs_output",
});

lap("audited");

// The theme can be chosen.
const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const light = await colour();
await page.emulateMedia({ colorScheme: "dark" });
const dark = await colour();
await page.click("#theme");
seen.themes = { differ: light !== dark, forced: (await colour()) === light };

// The policy refuses what would be added.
seen.before = problems.length;
await page.evaluate(() => {
  const script = document.createElement("script");
  script.textContent = "document.title = 'injected'";
  document.body.append(script);
});
await page.waitForTimeout(50);
seen.refused = problems.splice(seen.before).map((problem) => problem.includes("Content Security Policy"));
seen.titleAfter = await page.title();
await browser.close();
console.log(JSON.stringify(seen));
