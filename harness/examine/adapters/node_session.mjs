// What adapters for Node share: tasks come as lines of JSON on stdin, outcomes go as lines to stdout.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const from = createRequire(`${process.env.EXAMINE_NODE_PROJECT ?? process.cwd()}/`);
const USAGE = ['input_tokens', 'output_tokens', 'total_tokens'];
export const CAMEL = ['inputTokens', 'outputTokens', 'totalTokens'];
export const BASIC = ['tools', 'hosted_tools', 'options', 'timeout'];

// A package of the project in which the program was started, or of the one that EXAMINE_NODE_PROJECT names.
export const load = async (name) => import(pathToFileURL(from.resolve(name)).href);

// A package and its release, which is the one of the nearest `package.json` above what is loaded.
export function release(name) {
  const folder = from.resolve(name).split(`node_modules/${name}/`)[0];
  return `${name} ${from(`${folder}node_modules/${name}/package.json`).version}`;
}

// What the client shows of a task; members that stay null are those that it cannot show.
class Session {
  constructor(task) {
    Object.assign(this, { task, usage: null, refusal: null, error: null, annotations: [], reasoning: null, texts: [] });
    Object.assign(this, { cut: null, incomplete: [] });
    this.streamed = task.stream ? [] : null;
    this.interruptions = task.approvals.length ? [] : null;
    this.answers = [...task.approvals];
    this.replays = ['replay', 'stateless'].includes(task.state);
    this.sealed = task.state === 'stateless' && /^gpt-[56]/.test(task.model) ? { include: ['reasoning.encrypted_content'] } : {};
    this.connection = { baseURL: task.base_url, apiKey: task.api_key };
    if (task.timeout !== null) this.connection.timeout = 1000 * task.timeout;
    const names = task.tools.map(({ name }) => name);
    const whole = { name: 'assistant', instructions: task.instructions, tools: names, handoffs: [], ask: [] };
    this.agents = task.agents.length ? task.agents : [whole];
  }

  addDelta(text) {
    if (this.streamed) this.streamed[this.streamed.length - 1] += text;
  }

  addUsage(usage, names = USAGE) {
    if (usage) this.usage = Object.fromEntries(USAGE.map((own, at) => [own, (this.usage?.[own] ?? 0) + (usage[names[at]] ?? 0)]));
  }

  // What the user says when the client asks for a tool: the next answer for it; without one, no.
  approves(name) {
    this.interruptions = [...(this.interruptions ?? []), name];
    const at = this.answers.findIndex(({ tool }) => tool === name);
    return at >= 0 && this.answers.splice(at, 1)[0].approve;
  }

  outcome() {
    const { texts, streamed, annotations, refusal, incomplete, reasoning, usage, interruptions, error } = this;
    return { texts, streamed, annotations, refusal, incomplete, reasoning, usage, interruptions, error };
  }
}

// Run a tool of the task; what it raises is thrown.
export async function runTool({ url }, given) {
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(given), headers: { connection: 'close' } });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

// Declare the client, then do each task: `start(session)` gives the function that says a prompt and returns the answer.
export async function serve(declared, start) {
  console.log = console.error;
  const write = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
  write(declared);
  for await (const line of createInterface({ input: process.stdin })) {
    const session = new Session(JSON.parse(line).task);
    try {
      const say = await start(session);
      for (const prompt of session.task.prompts) {
        session.streamed?.push('');
        session.cut = null; // why the answer is no whole one, of clients with the feature `incomplete`
        session.texts.push(await say(prompt));
        session.incomplete.push(session.cut ?? '');
        if (session.error) break;
      }
    } catch (error) {
      const origin = String(error.stack).split('\n').find((text) => /^\s+at /.test(text));
      if (origin?.includes(import.meta.dirname)) throw error; // the adapter's own mistake
      const status = error.status ?? error.statusCode ?? error.lastError?.statusCode ?? null;
      session.error = { type: error.constructor?.name ?? 'Error', message: String(error.message ?? error), status };
    }
    write({ outcome: session.outcome() });
  }
}
