// What an application does with @openai/agents; argument: {"flow": …, …}; the last line printed is the result.
import {
  Agent,
  MemorySession,
  OpenAIConversationsSession,
  OpenAIResponsesCompactionSession,
  RunState,
  Runner,
  extractAllTextOutput,
  user,
  withResponsesWebSocketSession,
} from '@openai/agents';
import { removeAllTools } from '@openai/agents-core/extensions';
import { agents, client, given, model } from './team.mjs';

const runner = new Runner({ tracingDisabled: true });

// A run, read to its end when it is streamed.
async function played(agent, input, options = {}) {
  const result = await runner.run(agent, input, { stream: Boolean(given.stream), ...options });
  if (given.stream) {
    for await (const _ of result);
    await result.completed;
    if (result.error) throw result.error;
  }
  return result;
}

// What a run shows: its answer, who gave it, which calls wait for leave, and all that was said in it.
const shown = ({ finalOutput, lastAgent, rawResponses, newItems, interruptions }) => ({
  output: finalOutput,
  agent: lastAgent?.name,
  waiting: interruptions.map(({ name, arguments: said }) => [name, said]),
  shown: {
    text: extractAllTextOutput(newItems),
    annotations: parts(newItems).flatMap(({ providerData }) => providerData?.annotations ?? []),
    calls: newItems.filter(({ rawItem }) => rawItem.type === 'function_call').map(({ rawItem }) => rawItem),
    usage: total(rawResponses.map(({ usage }) => usage)),
  },
});

const parts = (items) =>
  items.filter(({ type }) => type === 'message_output_item').flatMap(({ rawItem }) => rawItem.content);

const total = (usages) => {
  const sum = (name) => usages.reduce((so_far, usage) => so_far + usage[name], 0);
  return { input_tokens: sum('inputTokens'), output_tokens: sum('outputTokens'), total_tokens: sum('totalTokens') };
};

async function told(work) {
  try {
    return { done: await work() };
  } catch (error) {
    return { kind: error.constructor.name, status: error.status, message: error.message, code: error.code };
  }
}

const flows = {
  run: async () => shown(await played(agents[given.agent](), given.input ?? 'Go on.')),

  events: async () => {
    const result = await runner.run(agents.clerk(), 'How is Paris?', { stream: true });
    const deltas = [];
    const names = [];
    for await (const { type, data, name } of result) {
      if (type === 'raw_model_stream_event' && data.type === 'output_text_delta') deltas.push(data.delta);
      if (type === 'run_item_stream_event') names.push(name);
    }
    return { deltas, names, ...shown(result) };
  },

  // Turns of a user; how the next one follows is what `state` says.
  turns: async () => {
    let agent = agents[given.agent]();
    let history = [];
    let previousResponseId;
    const answers = [];
    const { id: conversationId } = given.state === 'conversation' ? await client.conversations.create() : {};
    for (const question of given.questions) {
      const input = given.state === 'replay' ? [...history, user(question)] : question;
      const result = await played(agent, input, { conversationId, previousResponseId });
      history = result.history;
      agent = result.lastAgent;
      if (given.state === 'chain') previousResponseId = result.lastResponseId;
      answers.push(result.finalOutput);
    }
    return answers;
  },

  session: async () => {
    const made = {
      memory: () => new MemorySession(),
      conversation: () => new OpenAIConversationsSession({ client }),
      compaction: () =>
        new OpenAIResponsesCompactionSession({
          client,
          model: 'gpt-4.1',
          shouldTriggerCompaction: ({ compactionCandidateItems }) => compactionCandidateItems.length > 2,
        }),
    };
    const session = made[given.session]();
    const answers = [];
    for (const question of given.questions) {
      answers.push((await played(agents[given.agent](), question, { session })).finalOutput);
    }
    return { answers, kinds: (await session.getItems()).map(({ type, role }) => role ?? type) };
  },

  filtered: async () => shown(await played(agents.planner(removeAllTools), 'Ship v2.')),

  inputGuardrail: () => {
    const judge = new Agent({ name: 'Judge', instructions: 'You are the judge.', model });
    const execute = async ({ input }) => {
      const { finalOutput } = await runner.run(judge, input);
      return { outputInfo: finalOutput, tripwireTriggered: finalOutput === 'no' };
    };
    const tutor = new Agent({
      name: 'Tutor',
      instructions: 'You are a tutor.',
      model,
      inputGuardrails: [{ name: 'allowed', runInParallel: false, execute }],
    });
    return told(async () => shown(await played(tutor, 'Do my homework.')));
  },

  // A run up to its gated calls, as text; it may follow an answer that was given before.
  paused: async () => {
    const agent = agents[given.agent]();
    const { lastResponseId } = given.chain ? await played(agent, 'hi') : {};
    const { state, interruptions } = await played(agent, 'Ship it.', { previousResponseId: lastResponseId });
    return { state: state.toString(), waiting: interruptions.length };
  },

  // The process that goes on with a paused run: it decides about its gated calls and plays it to its end.
  resumed: async () => {
    const agent = agents[given.agent]();
    const state = await RunState.fromString(agent, given.state);
    for (const item of state.getInterruptions()) {
      if (given.approve) state.approve(item);
      else state.reject(item);
    }
    return (await played(agent, state)).finalOutput;
  },

  socket: () =>
    withResponsesWebSocketSession(
      async (session) => {
        const clerk = agents.clerk('gpt-4.1');
        const { lastResponseId } = await session.run(clerk, 'How is Paris?');
        return shown(await session.run(clerk, 'And Oslo?', { previousResponseId: lastResponseId }));
      },
      { providerOptions: { openAIClient: client }, runnerConfig: { tracingDisabled: true } },
    ),

  refused: () => told(async () => shown(await played(agents.clerk(), given.input))),
};

console.log(JSON.stringify((await flows[given.flow]()) ?? null));
