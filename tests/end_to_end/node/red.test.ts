// Tests that must fail, each with a report; the last ones must pass.
import OpenAI from "openai";
import { Agent, run, tool } from "@openai/agents";
import { Mock } from "responses-harness";
import { useMock } from "responses-harness/vitest";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const mock = useMock();
const client = new OpenAI({ maxRetries: 0 });
const tools = [{ type: "function" as const, name: "get_weather", parameters: {}, strict: false }];
const call = { function_call: { name: "get_weather", arguments: { city: "Paris" } } };

const ask = (input: OpenAI.Responses.ResponseInput | string, more: object = {}) =>
  client.responses.create({ model: "gpt-4.1", input, ...more });

const said = (role: "user" | "assistant", content: string) => ({ role, content });

describe("red:", () => {
  test("swallows a refusal", async () => {
    await mock.script(call);
    const first = await ask("Weather?", { tools });
    await ask("Well?", { previous_response_id: first.id }).catch(() => undefined);
  });

  test("leaves a turn", async () => {
    await mock.script("One.", "Two.");
    expect((await ask("hi")).output_text).toBe("One.");
  });

  test("loses a text", async () => {
    await mock.script("Paris it is.", "Sure.");
    await ask("Where?");
    await ask([said("user", "Where?"), said("assistant", "Paris it is.Paris it is."), said("user", "Sure?")]);
  });

  test("has no script", async () => {
    await ask("hi").catch(() => undefined);
  });

  test("waits for a refusal that does not come", async () => {
    await mock.script("Hi.");
    await mock.refuses("call_needs_output", () => ask("hi"));
  });

  test("throws what is no refusal", async () => {
    await mock.refuses("previous_response_not_found", async () => {
      await ask("hi", { previous_response_id: "resp_1" }).catch(() => undefined);
      throw new Error("of its own");
    });
  });

  test("misspells an item", async () => {
    await mock.script({ mesage: "Hi." });
  });

  test("fails by itself", async () => {
    await mock.script("Hi.");
    expect((await ask("hi")).output_text).toBe("Ho.");
  });

  describe.concurrent("together", () => {
    test("one", async () => {
      await mock.script("Hi.");
      await ask("hi");
    });
    test("another", async () => {});
  });
});

describe("green:", () => {
  test.each([
    [{ lossess: "allow" }, 'there is no option "lossess". The options are unused, losses,'],
    ["allow", "give options by name"],
    [null, "give options by name"],
    [["losses"], "give options by name"],
  ])("has no option that is misspelt: %j", (options, problem) => {
    expect(() => new Mock(options as never)).toThrow(problem);
  });

  test("a World has nothing of the one before", async () => {
    expect(await mock.exchanges()).toEqual([]);
  });

  test.each([1, 2])("ids are the same in every World of a name, and clients live on %i", async () => {
    await mock.script("Hi.");
    expect((await ask("hi")).output_text).toBe("Hi.");
    expect(await mock.flow()).toContain('assistant "Hi."');
  });

  test.each([1, 2])("an agent of @openai/agents runs its tool, in test %i of its default client", async () => {
    const weather = tool({
      name: "get_weather",
      description: "The weather in a city.",
      parameters: z.object({ city: z.string() }),
      execute: async ({ city }) => `mild in ${city}`,
    });
    const agent = new Agent({ name: "Weather", instructions: "Ask the tool.", tools: [weather], model: "gpt-4.1" });
    await mock.when({ instructions: "Ask the tool" }).script(call, "It is mild.");
    expect((await run(agent, "Weather?")).finalOutput).toBe("It is mild.");
  });

  test("an account is set", async () => {
    await mock.set({ organization: { out_of_quota: true } });
    await expect(ask("hi")).rejects.toThrow("no credits remaining");
  });
});
