// A tool loop over one WebSocket, nothing of it stored; then a request that the API refuses, and one after it.
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';

const TOOL = {
  type: 'function',
  name: 'get_weather',
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};
const REST = { type: 'response.create', model: 'gpt-4.1', store: false, tools: [TOOL] };

const socket = new ResponsesWS(new OpenAI());
const messages = socket.stream();
const events = [];

// What one request is answered with: the event that ends it.
async function answered(request) {
  socket.send({ ...REST, ...request });
  for (;;) {
    const { type, message, error } = (await messages.next()).value;
    if (type === 'error') return error.error;
    if (type === 'message') events.push(message);
    if (type === 'message' && message.type === 'response.completed') return message;
  }
}

const first = await answered({ input: 'Paris?' });
const outputs = first.response.output.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'mild' }));
const second = await answered({ previous_response_id: first.response.id, input: outputs });
const { error } = await answered({ input: 'hi', temperature: 3 });
const third = await answered({ input: 'hi' });
socket.close();

const deltas = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta);
console.log(JSON.stringify({ deltas, final: second.response, error, again: third.response }));
