// Drives a client through `responses-harness examine`. It asks with `fetch`: put yours where YOUR CLIENT stands.
import { createInterface } from 'node:readline';

const write = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

// YOUR CLIENT: import it, and ask it instead.
async function post(url, key, body) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(said.error?.message ?? answer.statusText), { status: answer.status });
  return said;
}

async function perform(task) {
  const texts = [];
  const input = [];
  let refusal = null;
  try {
    for (const prompt of task.prompts) {
      input.push({ role: 'user', content: prompt });
      const { model, instructions } = task;
      const { output } = await post(`${task.base_url}/responses`, task.api_key, { model, instructions, input });
      input.push(...output);
      const parts = output.flatMap(({ content }) => content ?? []);
      texts.push(parts.map(({ text }) => text ?? '').join(''));
      refusal ??= parts.find(({ type }) => type === 'refusal')?.refusal ?? null;
    }
  } catch ({ name, message, status }) {
    return { texts, error: { type: name, message, status: status ?? null } };
  }
  return { texts, refusal };
}

// YOUR CLIENT: its name and release, and what it can do.
write({ client: 'my-client 1.0', states: ['replay'], streams: [false] });
for await (const line of createInterface({ input: process.stdin })) {
  write({ outcome: await perform(JSON.parse(line).task) });
}
