// Watches a server in Chromium while requests come in two Worlds; the last line it prints is JSON of what was seen.
import { auditAll, go, injected, open, settings, settle } from "./reader.mjs";

const { origin, token } = settings;
const { browser, page, problems } = await open({ origin });
const seen = { problems };
const text = () => page.locator("#app").innerText();
const says = (words) => page.waitForFunction((wanted) => document.querySelector("#app").innerText.includes(wanted), words);
/** Sets a switch, and waits until the server knows it: what is asked next must find it set. */
const set = async (label, path, on) => {
  const known = page.waitForResponse((answer) => new URL(answer.url()).pathname.endsWith(path));
  await page.getByLabel(label).setChecked(on);
  await known;
};
/** Queues turns in the page, as a list in YAML, and folds the script again. */
const queue = async (turns) => {
  await page.click(".dock-script summary");
  await page.fill(".dock-script textarea", turns);
  await page.click(".dock-script button.primary");
  await says("2 turns waiting");
  await page.click(".dock-script summary");
};
const where = () => page.evaluate(() => decodeURIComponent(location.hash));

async function ask(key, input, members = {}) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ model: "gpt-4.1", input, ...members });
  return (await fetch(`${origin}/v1/responses`, { method: "POST", headers, body })).text();
}

// Without the token the page asks for it.
await page.goto(`${origin}/_harness/view`);
await page.waitForSelector("input[type=password]");
seen.locked = await text();
problems.length = 0; // the browser notes each 401
await page.fill("input[type=password]", token);
await page.keyboard.press("Enter");
await page.waitForSelector(".page");
seen.empty = await text();

// A link with the token opens it, and does not keep it in the address.
await page.goto("about:blank");
await page.goto(`${origin}/_harness/view#token=${token}`);
await page.waitForSelector(".page");
await settle(page);
seen.address = await where();

// Two Worlds come up without the page being loaded again.
await page.evaluate(() => { globalThis.kept = true; });
await ask("sk-live-one", "The first World speaks.");
await says("1 request");
await ask("sk-live-two", settings.evil);
await says("2 Worlds");
await page.getByText("1 new World").click();
await settle(page);
seen.both = await text();
seen.injected = await injected(page);

// A World that is looked at grows; the other one does not disturb it.
const runs = await (await fetch(`${origin}/_harness/view/run`, { headers: { "x-harness-token": token } })).json();
const [one, two] = runs.cases.map(({ id }) => id);
seen.worlds = [one, two];
await go(page, `#/case/${encodeURIComponent(one)}`);
await says("The first World speaks.");
await ask("sk-live-two", "The second World goes on.");
await ask("sk-live-one", "The first World goes on.");
await says("The first World goes on.");
seen.grown = await text();

// Its stream, when it is over; its request, when it comes.
await ask("sk-live-one", "Stream, please.", { stream: true });
await go(page, `#/case/${encodeURIComponent(one)}/3/stream?event=0`);
await says("event 1 of");
await page.keyboard.press("j");
await says("event 2 of");
seen.stepped = await text();
await go(page, `#/case/${encodeURIComponent(two)}/1`);
await says("bold");
seen.injected.push(...(await injected(page)));

// What the model says next is queued, said by hand, and let go event by event.
await go(page, `#/case/${encodeURIComponent(one)}`);
await queue('- "Queued in the page."\n- "Event by event."');
seen.queued = await ask("sk-live-one", "What is next?");
await says("Queued in the page.");
await set("answer requests by hand", "/hold", true);
const held = ask("sk-live-one", "Who answers?");
await says("A request is waiting for your answer");
seen.waits = await page.locator(".held").innerText();
await page.fill(".held textarea", '- "A person answers."');
await page.click(".held button.primary");
seen.byHand = await held;
await set("answer requests by hand", "/hold", false);
await set("event by event", "/step", true);
await says("no stream is waiting");
const stepped = ask("sk-live-one", "One by one.", { stream: true });
const next = page.getByRole("button", { name: "next event" });
await next.waitFor();
for (let step = 0; step < 3; step++) await next.click();
await set("event by event", "/step", false);
seen.steppedAnswer = await stepped;

// What the server said before a click does not undo it, however late it comes.
const [asked, newer, released, looked] = [0, 0, 0, 0].map(() => Promise.withResolvers());
const late = [];
await page.route("**/_harness/waiting", async (route) => {
  const response = await route.fetch();
  if (!(await response.json()).holds) {
    late.push(route.request());
    asked.resolve();
    await released.promise;
    await route.fulfill({ response });
  } else if (late.length > 0 && !newer.shown) {
    newer.shown = true;
    await route.fulfill({ response });
    newer.resolve();
  } else {
    await looked.promise; // what comes later would put it right again
    await route.fulfill({ response });
  }
});
await ask("sk-live-one", "The page looks again.");
await asked.promise;
await set("answer requests by hand", "/hold", true);
await newer.promise;
await settle(page);
released.resolve();
for (const request of late) await (await request.response()).finished();
await settle(page);
seen.late = await page.getByLabel("answer requests by hand").isChecked();
looked.resolve();
await page.unrouteAll({ behavior: "wait" });
await set("answer requests by hand", "/hold", false);

// A turn is edited where it waits, below those that were taken.
await queue('- "First."\n- "Second."');
await says('next: script: message "Second."');
await page.getByRole("button", { name: "edit", exact: true }).nth(1).click();
await page.fill(".waiting textarea", '- "Edited in place."');
await page.click(".waiting button.primary");
await says('next: script: message "Edited in place."');
seen.edited = [await ask("sk-live-one", "One."), await ask("sk-live-one", "Two.")];

// A call that waits for an approval is approved where it was asked for.
await queue('- mcp_approval_request: {server_label: prod, name: deploy}\n- "It is live."');
const prod = { type: "mcp", server_label: "prod", server_url: "https://mcp.example.org/sse", require_approval: "always" };
await ask("sk-live-one", "Deploy.", { tools: [prod] });
await page.getByRole("button", { name: "approve", exact: true }).click();
await says("approved by the client");
await says("It is live.");
seen.approved = await text();

// What was refused says so at once.
await go(page, "#/");
await ask("sk-live-two", [{ type: "function_call", call_id: "call_1", name: "run", arguments: "{}" }]);
await says("No tool output found for function call call_1");
seen.refused = await text();
seen.kept = await page.evaluate(() => globalThis.kept === true);
seen.axe = await auditAll(page, { live: "#/", world: `#/case/${encodeURIComponent(one)}` });
seen.title = await page.title();
await browser.close();
console.log(JSON.stringify(seen));
