// The `openai` package for Node, with the loop that its documentation shows for tools.
import { BASIC, load, release, runTool, serve } from './node_session.mjs';

const { OpenAI } = await load('openai');
const ENDINGS = ['response.completed', 'response.incomplete', 'response.failed'];

function start(session) {
  const { task } = session;
  const client = new OpenAI(session.connection);
  const functions = task.tools.map(({ name, description, parameters }) => ({
    type: 'function',
    strict: false,
    ...{ name, description, parameters },
  }));
  const history = [];
  let state = task.state === 'stateless' ? { store: false, ...session.sealed } : {};

  async function respond(input) {
    const { model, instructions, options, stream } = task;
    const tools = [...functions, ...task.hosted_tools];
    const answered = await client.responses.create({ model, instructions, input, ...state, tools, ...options, stream });
    if (!stream) return answered;
    let response;
    for await (const event of answered) {
      if (event.type === 'response.output_text.delta') session.addDelta(event.delta);
      if (ENDINGS.includes(event.type)) response = event.response;
    }
    return response;
  }

  // What goes back for an item: the output of a call, the user's answer to a question, or nothing.
  async function answer({ type, id, name, call_id, arguments: given }) {
    if (type === 'mcp_approval_request') {
      return { type: 'mcp_approval_response', approval_request_id: id, approve: session.approves(name) };
    }
    if (type !== 'function_call') return null;
    let output;
    try {
      const tool = task.tools.find((each) => each.name === name);
      if (!tool) throw new Error(`there is no tool ${name}`);
      output = await runTool(tool, JSON.parse(given || '{}'));
    } catch (error) {
      output = `error: ${error.message}`;
    }
    return { type: 'function_call_output', call_id, output: typeof output === 'string' ? output : JSON.stringify(output) };
  }

  return async (prompt) => {
    if (task.state === 'conversation' && !state.conversation) {
      state = { conversation: (await client.conversations.create()).id };
    }
    let response;
    for (let more = [{ role: 'user', content: prompt }]; more.length; ) {
      history.push(...more);
      response = await respond(session.replays ? history : more);
      if (!response) return session.streamed.at(-1); // the stream has ended without one
      history.push(...response.output);
      session.addUsage(response.usage);
      if (task.state === 'chain') state = { previous_response_id: response.id };
      more = (await Promise.all(response.output.map(answer))).filter(Boolean);
    }
    const parts = response.output.flatMap(({ type, content }) => (type === 'message' ? content : []));
    session.annotations = parts.flatMap(({ annotations }) => annotations ?? []);
    session.refusal = parts.find(({ type }) => type === 'refusal')?.refusal ?? null;
    if (response.status === 'incomplete') session.cut = response.incomplete_details?.reason ?? 'incomplete';
    if (response.status === 'failed') session.error = { type: response.error.code, message: response.error.message };
    return response.output_text ?? parts.map(({ text }) => text ?? '').join('');
  };
}

const features = [...BASIC, 'mcp_approvals', 'incomplete'];
const states = ['replay', 'stateless', 'chain', 'conversation'];
await serve({ client: release('openai').replace('openai', 'openai-node'), features, states, dialects: ['openai', 'azure', 'foundry'] }, start);
