// What an application does with `ai` and `@ai-sdk/openai`; argument: {"flow": …, …}; its last line is the result.
import { appendFileSync } from 'node:fs';
import { openai } from '@ai-sdk/openai';
import {
  Output,
  ToolLoopAgent,
  convertToModelMessages,
  generateObject,
  generateText,
  isStepCount,
  isToolUIPart,
  readUIMessageStream,
  streamObject,
  streamText,
  toUIMessageStream,
  tool,
} from 'ai';
import { z } from 'zod';

globalThis.AI_SDK_LOG_WARNINGS = false;
const { flow, ...given } = JSON.parse(process.argv[2]);
const model = openai('gpt-4.1');
const stopWhen = isStepCount(5);
const READ = ['text', 'steps', 'content', 'sources', 'totalUsage', 'responseMessages', 'finishReason', 'output'];
const FORECAST = z.object({ city: z.string(), degrees: z.number() });

const tools = {
  get_weather: tool({
    description: 'The weather in a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `${city}: mild`,
  }),
  deploy: tool({
    description: 'Put a version into production.',
    inputSchema: z.object({ ref: z.string() }),
    execute: async ({ ref }) => {
      appendFileSync(given.log, `${ref}\n`);
      return { live: ref };
    },
  }),
};
const toolApproval = { deploy: 'user-approval' };

const remote = () => ({
  mcp: openai.tools.mcp({
    serverLabel: 'prod',
    serverUrl: 'https://mcp.example.org/sse',
    requireApproval: 'always',
  }),
});

const library = () => ({
  file_search: openai.tools.fileSearch({ vectorStoreIds: [given.store] }),
  web_search: openai.tools.webSearch({}),
});

// A result, read to its end when it is streamed, with all its steps.
async function played(options) {
  const rest = { model, maxRetries: 0, stopWhen, ...options };
  if (!given.stream) return generateText(rest);
  const errors = [];
  const result = streamText({ ...rest, onError: ({ error }) => errors.push(error) });
  const parts = [];
  for await (const part of result.fullStream) parts.push(part);
  if (errors.length) throw errors[0];
  const read = { parts };
  for (const name of READ) read[name] = await Promise.resolve(result[name]).catch(() => undefined);
  return read;
}

// What a result shows: its answer, and all that was said in its steps.
const shown = ({ text, steps, sources, totalUsage, finishReason }) => {
  const said = steps.flatMap(({ content }) => content);
  return {
    output: text,
    finish: finishReason,
    sources: sources.map(({ sourceType, url, filename }) => [sourceType, url ?? filename]),
    shown: {
      text: said.filter(({ type }) => type === 'text').map(({ text: words }) => words).join('\n'),
      annotations: said.flatMap(({ providerMetadata }) => providerMetadata?.openai?.annotations ?? []),
      calls: said
        .filter(({ type, providerExecuted }) => type === 'tool-call' && !providerExecuted)
        .map(({ toolName, input }) => ({ name: toolName, arguments: input })),
      reasoning: said.filter(({ type }) => type === 'reasoning').map(({ text: thought }) => thought).join(''),
      usage: {
        input_tokens: totalUsage.inputTokens,
        output_tokens: totalUsage.outputTokens,
        total_tokens: totalUsage.totalTokens,
      },
    },
  };
};

// The parts of a message that ask for leave.
const waiting = ({ content }) => content.filter(({ type }) => type === 'tool-approval-request');

const flows = {
  text: async () => shown(await played({ prompt: 'hi' })),

  parts: async () => {
    const { parts } = await played({ prompt: 'How is Paris?', tools });
    const deltas = parts.filter(({ type }) => type === 'text-delta').map(({ text }) => text);
    return { kinds: [...new Set(parts.map(({ type }) => type))], deltas };
  },

  tools: async () => shown(await played({ prompt: 'Paris and Oslo?', tools })),

  agent: async () => {
    const agent = new ToolLoopAgent({ model, instructions: 'Be short.', tools, maxRetries: 0 });
    return shown(await agent.generate({ prompt: 'Paris and Oslo?' }));
  },

  object: async () => {
    const asked = { model, prompt: 'Paris?', schema: FORECAST, maxRetries: 0 };
    if (!given.stream) return (await generateObject(asked)).object;
    const result = streamObject(asked);
    for await (const _ of result.partialObjectStream);
    return result.object;
  },

  output: async () => {
    const result = await played({ prompt: 'Paris?', tools, output: Output.object({ schema: FORECAST }) });
    return result.output;
  },

  cited: async () => shown(await played({ prompt: 'How is it stored?', tools: library() })),

  // Turns of a user; how the next one follows is what `state` says.
  turns: async () => {
    const { state, questions } = given;
    const own = given.store === undefined ? {} : library();
    const { conversation } = given;
    const messages = [];
    const answers = [];
    let previousResponseId;
    for (const content of questions) {
      const question = { role: 'user', content };
      const chosen = { conversation, previousResponseId, store: state !== 'stateless' };
      const result = await played({
        messages: state === 'chain' || state === 'conversation' ? [question] : [...messages, question],
        tools: { ...tools, ...own },
        providerOptions: { openai: chosen },
      });
      messages.push(question, ...result.responseMessages);
      if (state === 'chain') previousResponseId = result.steps.at(-1).providerMetadata.openai.responseId;
      answers.push(result.text);
    }
    return answers;
  },

  // Calls that wait for leave, decided one by one; the history is what an application keeps as JSON.
  decided: async () => {
    const chosen = given.remote ? { tools: remote() } : { tools, toolApproval };
    let messages = [{ role: 'user', content: 'Ship it.' }];
    for (;;) {
      const result = await played({ messages, ...chosen });
      const asked = waiting(result);
      if (!asked.length) return shown(result);
      const content = asked.map(({ approvalId, toolCall }, index) => ({
        type: 'tool-approval-response',
        approvalId,
        approved: given.decisions[index],
        providerExecuted: toolCall.providerExecuted,
      }));
      messages = JSON.parse(JSON.stringify([...messages, ...result.responseMessages, { role: 'tool', content }]));
    }
  },

  // A chat: messages as its page has them, sent back whole with each turn; `decisions` answer what waits for leave.
  chat: async () => {
    let messages = [];
    for (const text of given.questions) {
      messages.push({ id: `m${messages.length}`, role: 'user', parts: [{ type: 'text', text }] });
      messages = await turn(messages);
      for (let asked = unanswered(messages); asked.length; asked = unanswered(messages)) {
        asked.forEach((part, index) => {
          part.state = 'approval-responded';
          part.approval = { ...part.approval, approved: given.decisions[index] };
        });
        messages = await turn(messages);
      }
    }
    return messages;
  },
};

// One answer to the messages of a page, after the page sent them as JSON.
async function turn(messages) {
  const sent = JSON.parse(JSON.stringify(messages));
  const result = streamText({
    model,
    maxRetries: 0,
    stopWhen,
    tools: given.store ? { ...tools, ...library() } : tools,
    toolApproval,
    messages: await convertToModelMessages(sent, { tools }),
    onError: ({ error }) => {
      throw error;
    },
  });
  const last = sent.at(-1).role === 'assistant' ? sent.at(-1) : undefined;
  const stream = toUIMessageStream({ stream: result.fullStream, tools, originalMessages: sent, sendSources: true });
  let answer;
  for await (const message of readUIMessageStream({ message: last, stream, terminateOnError: true })) answer = message;
  return [...(last ? sent.slice(0, -1) : sent), answer];
}

const unanswered = (messages) =>
  messages.at(-1).parts.filter((part) => isToolUIPart(part) && part.state === 'approval-requested');

console.log(JSON.stringify((await flows[flow]()) ?? null));
