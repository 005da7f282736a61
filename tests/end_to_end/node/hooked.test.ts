// A hook that verifies, and is told when a background response has ended.
import { createServer } from "node:http";
import OpenAI from "openai";
import { useMock } from "responses-harness/vitest";
import { afterEach, beforeEach, expect, test } from "vitest";

const mock = useMock();
const told: string[] = [];
let webhookSecret = "";

const server = createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", async () => {
    try {
      const event = await new OpenAI({ ...mock.options, webhookSecret }).webhooks.unwrap(body, request.headers as never);
      told.push(event.type);
      response.writeHead(204).end();
    } catch {
      response.writeHead(400).end();
    }
  });
});

beforeEach(() => new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening)));
afterEach(() => new Promise((closed) => server.close(closed)));

test("a hook refuses what is forged and takes the rest", async () => {
  const { port } = server.address() as { port: number };
  webhookSecret = await mock.webhooks(`http://127.0.0.1:${port}/hook`, { faults: ["forged", "stale"] });
  await mock.script("Paris.");
  await new OpenAI(mock.options).responses.create({ model: "gpt-4.1", input: "Capital?", background: true });
  await mock.advance();
  await mock.advance();
  expect((await mock.deliveries()).map((made) => [made.signature, made.status])).toEqual([
    ["wrong", 400],
    ["stale", 400],
    ["valid", 204],
  ]);
  expect(told).toEqual(["response.completed"]);
});
