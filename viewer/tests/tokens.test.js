// The tokens of an answer as one line.
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeTokens } from "../src/exchange/tokens";

test("the share that was read from the prompt cache is shown", () => {
  const usage = { input_tokens: 2000, input_tokens_details: { cached_tokens: 1920 }, output_tokens: 7 };
  assert.equal(describeTokens(usage), "2000 tokens in, 96 % cached, 7 out");
});

test("nothing is said of a cache that was not read, nor of an answer without counts", () => {
  const none = { prompt_tokens: 9, prompt_token_details: { cached_tokens: 0 }, completion_tokens: 7 };
  assert.equal(describeTokens(none), "9 tokens in, 7 out");
  assert.deepEqual([describeTokens(null), describeTokens({ input_tokens: 9 })], ["", ""]);
});

test("the cost follows if the prices of the model are known", () => {
  const usage = { input_tokens: 9, output_tokens: 7 };
  assert.equal(describeTokens(usage, 0.00012345), "9 tokens in, 7 out · $0.00012");
  assert.equal(describeTokens(usage, 1.5), "9 tokens in, 7 out · $1.50");
});
