// What an application does with the openai package; argument: {"flow": …, …}; the last line printed is the result.
import OpenAI from 'openai';
import { ResponsesToolRunner, runnerFunction } from 'openai/helpers/responses-tool-runner';
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import { toResponseInputItems } from 'openai/lib/responses/ResponseInputItems';
import { z } from 'zod';

const MODEL = 'gpt-4.1';
const GPT5 = 'gpt-5';
const { flow, ...given } = JSON.parse(process.argv[2]);
const client = new OpenAI({ maxRetries: 0 });
const responses = client.responses;

const City = z.object({ city: z.string() });
const Forecast = z.object({ city: z.string(), degrees: z.number() });
const WEATHER = zodResponsesFunction({
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: City,
  function: ({ city }) => `${city}: mild`,
});
const MCP = {
  type: 'mcp',
  server_label: 'prod',
  server_url: 'https://mcp.example.org/sse',
  require_approval: 'always',
};

const library = () => [{ type: 'file_search', vector_store_ids: [given.store] }];

async function gathered(items) {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

// What an error tells the application.
async function told(work) {
  try {
    return { done: await work() };
  } catch (error) {
    const { status, message, code, param, type, requestID } = error;
    return { kind: error.constructor.name, status, message, code, param, type, request: Boolean(requestID) };
  }
}

const flows = {
  text: () => responses.create({ model: MODEL, input: 'hi' }),

  events: async () => gathered(await responses.create({ model: GPT5, input: 'hi', tools: library(), stream: true })),

  helper: async () => {
    const deltas = [];
    const stream = responses.stream({ model: MODEL, input: 'hi' });
    stream.on('response.output_text.delta', ({ delta, snapshot }) => deltas.push([delta, snapshot]));
    return { deltas, final: await stream.finalResponse() };
  },

  parsed: async () => {
    const asked = { model: MODEL, input: 'Paris?', text: { format: zodTextFormat(Forecast, 'forecast') } };
    const response = await (given.stream ? responses.stream(asked).finalResponse() : responses.parse(asked));
    return response.output_parsed;
  },

  parsedCalls: async () => {
    const { output } = await responses.parse({ model: MODEL, input: 'Paris?', tools: [WEATHER] });
    return output.map(({ name, parsed_arguments }) => [name, parsed_arguments]);
  },

  // Turns of a user, each streamed, the history kept by the application.
  streamedReplay: async () => {
    const history = [];
    for (const content of given.questions) {
      history.push({ role: 'user', content });
      const { output } = await responses.stream({ model: MODEL, input: history, tools: library() }).finalResponse();
      history.push(...toResponseInputItems(output));
    }
    return history;
  },

  background: async () => {
    const { id } = await responses.create({ model: MODEL, input: 'hi', background: true });
    let response = await responses.retrieve(id);
    while (['queued', 'in_progress'].includes(response.status)) response = await responses.retrieve(id);
    return response;
  },

  cancelled: async () => {
    const { id } = await responses.create({ model: MODEL, input: 'hi', background: true });
    return (await responses.cancel(id)).status;
  },

  // A stream of a background response that is left after some events and taken up again.
  resumed: async () => {
    const seen = [];
    let id;
    for await (const event of await responses.create({ model: MODEL, input: 'hi', background: true, stream: true })) {
      id ??= event.response.id;
      seen.push(event);
      if (seen.length === given.after) break;
    }
    const rest = await gathered(
      await responses.retrieve(id, { stream: true, starting_after: seen.at(-1).sequence_number }),
    );
    const { output_text } = await responses.stream({ response_id: id, starting_after: 0 }).finalResponse();
    const numbers = [...seen, ...rest].map(({ sequence_number }) => sequence_number);
    return { numbers, last: rest.at(-1), output_text };
  },

  deleted: async () => {
    const { id } = await responses.create({ model: MODEL, input: 'hi' });
    await responses.delete(id);
    return told(() => responses.retrieve(id));
  },

  inputItems: async () => {
    const input = ['one', 'two', 'three'].map((content) => ({ role: 'user', content }));
    const { id } = await responses.create({ model: MODEL, input });
    const items = await gathered(responses.inputItems.list(id, { limit: 2, order: 'asc' }));
    return items.map(({ content }) => content[0].text);
  },

  inputTokens: () => responses.inputTokens.count({ model: MODEL, input: 'How long is this?' }),

  compacted: async () => {
    const input = [{ role: 'user', content: 'hi' }];
    const { output } = await responses.create({ model: GPT5, input });
    const compacted = await responses.compact({ model: GPT5, input: [...input, ...output] });
    const again = [...compacted.output, { role: 'user', content: 'And?' }];
    const { output_text } = await responses.create({ model: GPT5, input: again });
    return { object: compacted.object, kinds: compacted.output.map(({ type }) => type), output_text };
  },

  conversation: async () => {
    const { conversations } = client;
    const { id } = await conversations.create({ metadata: { topic: 'greeting' } });
    const { data } = await conversations.items.create(id, { items: [{ role: 'user', content: 'I am Ann.' }] });
    const renamed = await conversations.update(id, { metadata: { topic: 'names' } });
    const { output_text } = await responses.create({ model: MODEL, conversation: id, input: 'Who am I?' });
    const listed = await gathered(conversations.items.list(id, { order: 'asc', limit: 1 }));
    const first = await conversations.items.retrieve(data[0].id, { conversation_id: id });
    await conversations.items.delete(first.id, { conversation_id: id });
    const left = await gathered(conversations.items.list(id));
    await conversations.delete(id);
    const gone = await told(() => conversations.retrieve(id));
    const texts = listed.map(({ content }) => content[0].text);
    const same = first.id === listed[0].id;
    return { topic: renamed.metadata.topic, output_text, texts, same, left: left.length, gone };
  },

  // Calls of a hosted MCP server, all of them approved or denied.
  approvals: async () => {
    const rest = { model: MODEL, tools: [MCP] };
    const { id, output } = await responses.create({ ...rest, input: 'Ship it.' });
    const asked = output.filter(({ type }) => type === 'mcp_approval_request');
    const input = asked.map((request) => ({
      type: 'mcp_approval_response',
      approval_request_id: request.id,
      approve: given.approve,
    }));
    return responses.create({ ...rest, previous_response_id: id, input });
  },

  runner: () => {
    const runner = new ResponsesToolRunner({ functions: [runnerFunction(WEATHER)] });
    const params = { model: GPT5, input: 'Paris and Oslo?', tools: given.mcp ? [MCP] : [] };
    return runner.run(client, params, { stream: given.stream, approveMcp: () => true });
  },
};

console.log(JSON.stringify((await flows[flow]()) ?? null));
