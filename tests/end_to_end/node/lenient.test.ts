// What `useMock` permits fails no test.
import OpenAI from "openai";
import { useMock } from "responses-harness/vitest";
import { test } from "vitest";

const mock = useMock({ unused: "allow", losses: "allow", refusals: "allow", client: ["no-backoff"], patience: 9 });

test("nothing that is permitted fails", async () => {
  const client = new OpenAI(mock.options);
  const ask = (input: never) => client.responses.create({ model: "gpt-4.1", input });
  await mock.script("Paris it is.", "Sure.", "Unused.");
  await ask("Where?" as never);
  const said = [["user", "Where?"], ["assistant", "Paris it is.Paris it is."], ["user", "Sure?"]];
  await ask(said.map(([role, content]) => ({ role, content })) as never);
  await ask(3 as never).catch(() => undefined);
});
