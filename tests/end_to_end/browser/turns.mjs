// Goes through the list of a run and the turns of its tests; the last line it prints is JSON of what was seen.
import { go, open, settings, settle } from "./reader.mjs";

const { browser, page, problems } = await open({ width: 1400 });
await page.goto(`file://${settings.file}`);
await page.waitForSelector(".cause");
await settle(page);
const at = (test, rest = "") => `#/case/${encodeURIComponent(`test_stories.py::${test}`)}${rest}`;
const texts = (selector) => page.locator(selector).allInnerTexts();
const where = () => page.evaluate(() => decodeURIComponent(location.hash).replaceAll("+", " "));
const press = async (key) => {
  await page.keyboard.press(key);
  await settle(page);
};
const toEnd = async () => {
  for (let step = 0; step < 4; step++) {
    await page.evaluate(() => document.querySelector(".list").scrollTo(0, 1e6));
    await settle(page);
  }
};
const seen = { problems };

// The cause leads to the manual, which the page has inside.
await page.click(".manual summary");
seen.manual = await page.locator(".manual .prose").first().innerText();

// The list: keys, folds, filters, the case beside it.
seen.causes = (await texts(".cause > summary strong")).length;
seen.opened = await page.locator(".cause[open]").count();
await press("j");
seen.moved = await where();
await page.waitForTimeout(300);
await settle(page);
seen.beside = await texts(".beside h1");
await press("k");
await toEnd();
await page.click(".fold button >> nth=0");
await settle(page);
seen.unfolded = await where();
await page.selectOption(".fold select", "requests");
await settle(page);
await toEnd();
seen.requests = (await texts(".case .figures")).map((text) => Number(/(\d+) requests?/.exec(text)[1]));
await go(page, "#/?outcome=passed");
seen.passed = await texts(".list .case");
await go(page, "#/?q=nothing says this");
await page.waitForSelector(".empty");
seen.nothing = await texts(".list .empty");
await press("Escape");
seen.cleared = await where();

// Search finds what is shown, not how the page stores it; the time line has a bar for each test.
const hits = async (words) => {
  await go(page, `#/?q=${encodeURIComponent(words)}`);
  await page.waitForFunction(() => /^\d+ hits?$/.test(document.querySelector("#found")?.textContent.trim() ?? ""));
  return (await texts("#found"))[0].trim();
};
seen.hits = { stored: await hits("delivered"), shown: await hits("transfer_to_ops") };
await go(page, "#/");
await page.click(".time-line summary");
seen.bars = await page.locator(".spans a").count();

// Lanes, hand-offs, approvals, rails.
await go(page, at("test_agents"));
seen.lanes = await texts(".names-of-lanes strong");
seen.scriptedInLanes = await texts(".scripted-line");
seen.handed = await texts(".handed .mono");
await press("j");
seen.selected = await where();
await press("Enter");
seen.entered = await where();
await press("Escape");
await press("Escape");
seen.left = await where();
await go(page, at("test_stream"));
seen.scripted = await texts(".scripted");
await go(page, at("test_approvals"));
seen.approvals = await texts(".tags .right, .tags .doubtful");
await go(page, at("test_tracker"));
const rails = (kind) => page.locator(`.tracks i.${kind}`).count();
seen.rails = { starts: await rails("start"), ends: await rails("end"), missing: await rails("end.wrong") };
seen.missing = await texts(".of-missing .what");
seen.refused = await texts(".of-error .what");
seen.folded = await texts(".of-before .what");
await page.click(".of-before button >> nth=0");
await settle(page);
seen.history = (await texts(".of-before .what")).length;

// The other views.
await press("2");
seen.arrows = await page.locator(".sequence .arrow").count();
await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
await page.click("text=copy as Mermaid");
seen.mermaid = await page.evaluate(() => navigator.clipboard.readText());
const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=download as SVG")]);
seen.picture = download.suggestedFilename();
await press("3");
seen.transcript = await texts(".said > p b");

// A small screen: the selection is a screen of its own, with a way back.
await page.setViewportSize({ width: 400, height: 900 });
await go(page, "#/");
seen.alone = await page.locator(".beside").count();
await page.click(".of-cause >> nth=0");
await settle(page);
seen.small = await where();
await page.click(".crumbs .name");
await settle(page);
seen.back = await where();
await browser.close();
console.log(JSON.stringify(seen));
