// What stands in lists: of a run, of a transcript, of a JSON value, on the time line.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ranges, rowsOfTranscript } from "../src/exchange/transcript_rows";
import { leadsTo, nearest } from "../src/parts/json_rows";
import { casesOf, listRows } from "../src/run/rows";
import { spansOf } from "../src/run/spans";

const row = (id, outcome = "passed", more = {}) => ({ id, name: id, file: "test_a.py", outcome, causes: [], seconds: 1, exchanges: 1, began: null, ...more });
const run = (cases, causes = []) => ({ cases, causes, notes: [] });
const wanted = (more = {}) => ({ outcome: null, order: "file", opened: new Set(), found: undefined, ...more });
const kinds = (rows) => rows.map(({ kind }) => kind);

test("causes come first, each with its cases, what passed is folded", () => {
  const failed = row("a", "failed", { causes: [{ expected: false, group: "g" }] });
  const rows = listRows(run([row("b"), failed], [{ id: "g", cases: [["a", 1]] }]), wanted());
  assert.deepEqual(kinds(rows), ["cause", "fold"]);
  assert.deepEqual(casesOf(rows), ["a"]);
});

test("a fold that is opened lists its cases below their file", () => {
  assert.deepEqual(kinds(listRows(run([row("a"), row("b")]), wanted({ opened: new Set(["passed"]) }))), ["fold", "file", "case", "case"]);
});

test("the slowest come first where that is wanted", () => {
  const rows = listRows(run([row("a", "passed", { seconds: 1 }), row("b", "passed", { seconds: 2 })]), wanted({ order: "slowest", outcome: "passed" }));
  assert.deepEqual(casesOf(rows), ["b", "a"]);
});

test("of a transcript, what was there before is folded unless something is wrong with it", () => {
  const item = (origin, mark = "") => ({ origin, mark, said: 1 });
  const items = [...Array(4).fill(item("resent")), item("resent", "edited"), item("input")];
  assert.deepEqual(kinds(rowsOfTranscript(items, new Set(), -1)), ["fold", "item", "item"]);
  assert.equal(rowsOfTranscript(items, new Set([0]), -1).length, 7);
  assert.equal(ranges([1, 2, 3, 5]), "1–3, 5");
});

test("a place that is missing is shown where it is missed", () => {
  assert.equal(nearest({ input: [{ a: 1 }] }, "input[0].b"), "input[0]");
  assert.ok(leadsTo("input", "input[0]") && !leadsTo("in", "input[0]"));
});

test("tests that ran at the same time have tracks of their own", () => {
  const laid = spansOf([row("a", "passed", { began: 10, seconds: 2 }), row("b", "passed", { began: 11, seconds: 3 }), row("c", "passed", { began: 12 })]);
  assert.deepEqual(
    laid.spans.map((span) => [span.row.id, span.track, span.from, span.to]),
    [
      ["a", 0, 0, 0.5],
      ["b", 1, 0.25, 1],
      ["c", 0, 0.5, 0.75],
    ],
  );
  assert.equal(spansOf([row("a")]), undefined);
});
