// The values of a case, and the text that search reads.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Pool } from "../src/data/pool";
import { shownText, textOfCase } from "../src/data/shown_text";

test("what refers to the pool is put together, and read once", () => {
  const pool = new Pool([{ type: "message" }, [1, 2, 3], { item: { $: 0 } }]);
  assert.deepEqual(pool.value({ a: { $: 2 }, b: { $list: 1, keep: 2, then: [9] } }), { a: { item: { type: "message" } }, b: [1, 2, 9] });
  assert.equal(pool.value({ $: 2 }), pool.value({ $: 2 }));
});

test("an object that looks like a reference is not one", () => {
  assert.deepEqual(new Pool([]).value({ $literal: { $: "x" } }), { $: "x" });
});

test("a part that the file does not have is named", () => {
  assert.throws(() => new Pool([]).value({ $: 7 }), /part 7/);
});

test("names and values are found, their form in the page is not", () => {
  assert.equal(shownText({ Model: "GPT", input: [{ text: "Hi" }, { $: 3 }], empty: null }), "model: gpt\ntext: hi");
});

test("of an event and a transcript only what was sent is found", () => {
  const shown = {
    method: "POST",
    path: "/v1/responses",
    rule: "",
    error: "",
    gist: "",
    said: "",
    request: { model: "m" },
    events: [{ event: { type: "x" }, delivered: true }],
  };
  const exchange = {
    ...shown,
    query: null,
    answer: null,
    added: [],
    output: [],
    instructions: null,
    tools: null,
    settings: null,
    request_headers: [],
    answer_headers: [],
  };
  const pool = [{ item: { text: "Ship it." }, origin: "resent", said: 1 }];
  const text = textOfCase({ pool, exchanges: [exchange], printed: [["Captured stdout call", "hello"]], waiting: [], deliveries: [] });
  assert.deepEqual(
    ["delivered", "resent", "origin"].filter((word) => text.includes(word)),
    [],
  );
  assert.deepEqual(
    ["post /v1/responses", "model: m", "type: x", "text: ship it.", "hello"].filter((word) => !text.includes(word)),
    [],
  );
});
