// What differs between two values, and between two texts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compareJson, isEqual } from "../src/parts/json_difference";
import { compareTexts } from "../src/parts/text_difference";

const signs = (difference) => difference.parts.map(({ name, sign }) => [name, sign]);

test("the order of members does not matter, that of elements does", () => {
  assert.ok(isEqual({ a: 1, b: [1, 2] }, { b: [1, 2], a: 1 }));
  assert.ok(!isEqual([1, 2], [2, 1]));
});

test("members are the same, changed, added or removed", () => {
  assert.deepEqual(signs(compareJson({ a: 1, b: 1, c: 1 }, { a: 1, b: 2, d: 1 })), [
    ["a", "same"],
    ["b", "changed"],
    ["d", "added"],
    ["c", "removed"],
  ]);
});

test("an element that moved is recognized by its id", () => {
  const [one, two] = [
    { type: "message", id: "a", text: "1" },
    { type: "message", id: "b", text: "2" },
  ];
  const found = compareJson([one, two], [two]).parts.map(({ sign }) => sign);
  assert.deepEqual(found.toSorted(), ["removed", "same"]);
});

test("texts are compared by words", () => {
  assert.deepEqual(compareTexts("Ship v2 now.", "Ship v3 now."), [
    { sign: "same", text: "Ship " },
    { sign: "removed", text: "v2" },
    { sign: "added", text: "v3" },
    { sign: "same", text: " now." },
  ]);
  assert.deepEqual(compareTexts("", ""), []);
});
