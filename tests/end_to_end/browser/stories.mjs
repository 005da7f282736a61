// Opens each story as a run of its own, and as the test that failed, and reads what can be seen without a click.
import { readFileSync, writeFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { go, open, settings, settle } from "./reader.mjs";

const SCRIPT = /<script type="text\/plain" id="([^"]+)">([^<]*)<\/script>/g;
const whole = readFileSync(settings.file, "utf8");
const parts = new Map([...whole.matchAll(SCRIPT)].map(([, id, data]) => [id, data]));
const run = JSON.parse(gunzipSync(Buffer.from(parts.get("run"), "base64")));

/** Writes the page of a run that had this test alone. */
function only(story) {
  const place = run.cases.findIndex(({ id }) => id.endsWith(`::${story}`));
  const row = run.cases[place];
  const causes = run.causes.flatMap((cause) => {
    const cases = cause.cases.filter(([id]) => id === row.id);
    return cases.length ? [{ ...cause, cases }] : [];
  });
  const counts = { [row.outcome]: 1 };
  const data = { run: JSON.stringify({ ...run, cases: [row], causes, counts }).replaceAll("<", "\\u003c"), "case-0": parts.get(`case-${place}`) };
  const scripts = Object.entries(data).map(([id, text]) => `<script type="text/plain" id="${id}">${text}</script>`);
  const file = `${process.cwd()}/${story}.html`;
  const [before] = whole.split('<script type="text/plain" id="run">');
  writeFileSync(file, before + scripts.join("\n") + whole.slice(whole.lastIndexOf("</script>") + 9));
  return [file, `#/case/${encodeURIComponent(row.id)}`];
}

/** Reads the texts that are inside the window. */
function visible(page) {
  return page.evaluate(() => {
    const walker = document.createTreeWalker(document.querySelector("#app"), NodeFilter.SHOW_TEXT);
    const texts = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const range = document.createRange();
      range.selectNodeContents(node);
      const box = range.getBoundingClientRect();
      const shown = node.parentElement?.checkVisibility() && box.height > 0;
      if (shown && box.top < innerHeight && box.bottom > 0 && box.left < innerWidth) texts.push(node.data);
    }
    return texts.join("").replace(/\s+/g, " ");
  });
}

const { browser, page } = await open();
const seen = {};
for (const story of Object.keys(JSON.parse(settings.stories))) {
  const [file, failed] = only(story);
  await page.goto(`file://${file}`);
  await page.waitForSelector(".page");
  seen[story] = { run: {}, case: {} };
  for (const [screen, hash] of [["run", "#/"], ["case", failed]]) {
    await go(page, hash);
    for (const width of [400, 1280, 2560]) {
      await page.setViewportSize({ width, height: width === 400 ? 860 : 1000 });
      await settle(page);
      seen[story][screen][width] = await visible(page);
      for (const colorScheme of settings.keep ? ["dark", "light"] : []) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: `${settings.shots}/${story}-${screen}-${width}-${colorScheme}.png` });
      }
    }
  }
}
await browser.close();
console.log(JSON.stringify(seen));
