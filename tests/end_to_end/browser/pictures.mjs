// Takes the pictures of the manual; prints their names.
import { go, open, settings } from "./reader.mjs";

const case_ = (test, rest = "") => `#/case/${encodeURIComponent(`test_stories.py::${test}`)}${rest}`;
const { browser, page } = await open({ width: 1280, height: 800 });
await page.goto(`file://${settings.file}`);
await page.waitForSelector(".page");
const shown = { run: "#/", case: case_("test_approval_thread"), exchange: case_("test_citations", "/2") };
for (const [name, hash] of Object.entries(shown)) {
  await go(page, hash);
  await page.screenshot({ path: `${settings.shots}/${name}.png` });
}
await browser.close();
console.log(JSON.stringify(Object.keys(shown)));
