// The lines of a card, and the rails between calls and their outputs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { linesOf } from "../src/case/lines";
import { layRails, missingIn, segmentsAt } from "../src/case/rails";

const EDGE = { cut: "", left: null, arrived: null };
const exchange = (number, more = {}) => ({
  number,
  added: [],
  output: [],
  transcript: [],
  shown: { number, lane: 0, before: 0, gist: "", said: "", error: "", status: 200, method: "POST", path: "/responses", output: more.output ?? [], edge: EDGE },
  ...more,
});
const opened = (exchanges, more = {}) => ({ lanes: ["a"], calls: [], deliveries: [], exchanges, exchange: (number) => exchanges[number - 1], ...more });
const call = { call_id: "call_1", name: "look", said: 1, answered: [], executed: 0, approval: "" };
const made = { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" };

test("a call that the next request does not answer is missing there", () => {
  const story = opened([exchange(1, { output: [made] }), exchange(2)], { calls: [call] });
  const rails = layRails(story);
  assert.deepEqual(
    missingIn(rails, 2).map(({ name }) => name),
    ["look"],
  );
  assert.ok(rails.unanswered.has("call_1"));
});

test("a rail begins at the call and ends at its output", () => {
  const output = { type: "function_call_output", call_id: "call_1", output: "18" };
  const story = opened([exchange(1, { output: [made] }), exchange(2, { added: [output] })], { calls: [{ ...call, answered: [2] }] });
  const rails = layRails(story);
  const ends = [1, 2].map((number) => segmentsAt(rails, 0, number, linesOf(story, story.exchange(number), [], false), 0));
  assert.deepEqual(ends, [["start"], ["end"]]);
});

test("a response without output has its status, not a message", () => {
  const waiting = exchange(1);
  waiting.shown.said = "queued";
  const lines = linesOf(opened([waiting]), waiting, [], false);
  assert.deepEqual(lines.at(-1), { kind: "status", text: "queued" });
});

test("a delivery to a webhook stands after the exchange that it followed", () => {
  const delivery = { event: "response.completed", after: 2 };
  const story = opened([exchange(1), exchange(2)], { deliveries: [delivery] });
  const kinds = story.exchanges.map((one) => linesOf(story, one, [], false).map(({ kind }) => kind));
  assert.deepEqual(kinds, [["request"], ["request", "delivery"]]);
});

test("of many items the ones in between are folded", () => {
  const many = exchange(1, { added: Array.from({ length: 30 }, () => ({ role: "user", content: "hi" })) });
  assert.equal(linesOf(opened([many]), many, [], false).filter(({ kind }) => kind === "more").length, 1);
  assert.equal(linesOf(opened([many]), many, [], true).length, 30);
});

test("a retry names the request that it repeats", () => {
  const again = exchange(2);
  again.shown.retry_of = 1;
  assert.deepEqual(linesOf(opened([exchange(1), again]), again, [], false)[0], { kind: "edge", text: "retry of request 1" });
});
