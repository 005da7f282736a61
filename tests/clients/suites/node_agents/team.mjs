// The agents of the flows, and what each of their tools did: one line of JSON a call in the file `log`.
import { appendFileSync } from 'node:fs';
import { Agent, OpenAIResponsesModel, fileSearchTool, handoff, hostedMcpTool, tool } from '@openai/agents';
import OpenAI from 'openai';
import { WebSocket } from 'ws';
import { z } from 'zod';

globalThis.WebSocket ??= WebSocket; // Node before 22 has none

export const given = JSON.parse(process.argv[2]);
export const client = new OpenAI({ maxRetries: 0 });
export const model = new OpenAIResponsesModel(client, 'gpt-4.1');

export const getWeather = tool({
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `${city}: mild`,
});

const lookUp = tool({
  name: 'look_up',
  description: 'What a version contains.',
  parameters: z.object({ ref: z.string() }),
  execute: ({ ref }) => `${ref}: two fixes`,
});

const deploy = (needsApproval) =>
  tool({
    name: 'deploy',
    description: 'Put a version into production.',
    parameters: z.object({ ref: z.string() }),
    needsApproval,
    execute: ({ ref }) => {
      if (given.log) appendFileSync(given.log, `${ref}\n`);
      return `${ref} is live`;
    },
  });

const mcp = () =>
  hostedMcpTool({
    serverLabel: 'prod',
    serverUrl: 'https://mcp.example.org/sse',
    requireApproval: 'always',
    ...(given.approve === undefined ? {} : { onApproval: async () => ({ approve: given.approve }) }),
  });

const ops = () => new Agent({ name: 'Ops', instructions: 'You are ops.', model, tools: [deploy(false)] });

export const agents = {
  clerk: (own = model) => new Agent({ name: 'Clerk', instructions: 'Be short.', model: own, tools: [getWeather] }),

  forecaster: () =>
    new Agent({ name: 'Forecaster', model, outputType: z.object({ city: z.string(), degrees: z.number() }) }),

  librarian: () =>
    new Agent({ name: 'Librarian', model, tools: [fileSearchTool(given.store, { includeSearchResults: true })] }),

  planner: (inputFilter) =>
    new Agent({
      name: 'Planner',
      instructions: 'You are the planner.',
      model,
      tools: [lookUp],
      handoffs: [handoff(ops(), { toolNameOverride: 'transfer_to_ops', inputFilter })],
    }),

  shipper: () => new Agent({ name: 'Ops', instructions: 'You are ops.', model, tools: [deploy(true), lookUp] }),

  remote: () => new Agent({ name: 'Ops', instructions: 'You are ops.', model, tools: [mcp()] }),
};
