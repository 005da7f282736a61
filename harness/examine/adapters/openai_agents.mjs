// `@openai/agents`: its runner, with hand-offs, agents as tools and approvals.
import { BASIC, CAMEL, load, release, runTool, serve } from './node_session.mjs';

const agents = await load('@openai/agents');
const { OpenAI } = await load('openai');
const runner = new agents.Runner({ tracingDisabled: true });
const HOSTED = {
  code_interpreter: ({ container }) => agents.codeInterpreterTool({ container }),
  file_search: ({ vector_store_ids }) => agents.fileSearchTool(vector_store_ids),
  image_generation: () => agents.imageGenerationTool(),
  mcp: ({ server_label: serverLabel, server_url: serverUrl, require_approval: requireApproval }) =>
    agents.hostedMcpTool({ serverLabel, serverUrl, requireApproval }),
  web_search: () => agents.webSearchTool(),
};

// A function of the task; strict schemas need all their members.
function makeTool(tool) {
  const { name, description, needs_approval: needsApproval, parameters } = tool;
  const strict = Object.keys(parameters.properties).every((each) => parameters.required?.includes(each));
  const schema = strict ? { required: [], ...parameters } : { required: [], ...parameters, additionalProperties: true };
  return agents.tool({ name, description, needsApproval, strict, parameters: schema, execute: (given) => runTool(tool, given) });
}

function start(session) {
  const { task } = session;
  const client = new OpenAI(session.connection);
  const store = task.state === 'stateless' ? false : undefined;
  const modelSettings = { store, providerData: { ...session.sealed, ...task.options } };
  const execute = async ({ agentOutput }) => ({ tripwireTriggered: agentOutput.includes(task.guardrail), outputInfo: null });
  const outputGuardrails = task.guardrail ? [{ name: 'words', execute }] : [];
  const made = new Map();
  for (const { name, instructions, tools } of session.agents) {
    const model = new agents.OpenAIResponsesModel(client, task.model);
    const own = task.tools.filter((each) => tools.includes(each.name)).map(makeTool);
    own.push(...task.hosted_tools.map((tool) => HOSTED[tool.type](tool)));
    made.set(name, new agents.Agent({ name, instructions, model, modelSettings, tools: own, outputGuardrails }));
  }
  for (const { name, handoffs, ask } of session.agents) {
    const to = (each) => agents.handoff(made.get(each), { toolNameOverride: `transfer_to_${each}` });
    made.get(name).handoffs = handoffs.map(to);
    const asked = (each) => made.get(each).asTool({ toolName: `ask_${each}`, toolDescription: `Ask ${each}.` });
    made.get(name).tools.push(...ask.map(asked));
  }
  let agent = made.get(session.agents[0].name);
  let [history, state] = [[], {}];
  const shorten = ({ modelData }) => ({ ...modelData, input: modelData.input.slice(-task.keep_last) });
  const options = { stream: task.stream, callModelInputFilter: task.keep_last ? shorten : undefined };

  async function run(input) {
    const result = await runner.run(agent, input, { ...state, ...options });
    if (!task.stream) return result;
    for await (const { type, data } of result) {
      if (type === 'raw_model_stream_event' && data.type === 'output_text_delta') session.addDelta(data.delta);
    }
    await result.completed;
    return result;
  }

  return async (prompt) => {
    if (task.state === 'conversation') state.conversationId ??= (await client.conversations.create()).id;
    let result = await run([...history, agents.user(prompt)]);
    while (result.interruptions?.length) {
      for (const item of result.interruptions) {
        if (session.approves(item.name ?? item.rawItem.name)) result.state.approve(item);
        else result.state.reject(item);
      }
      result = await run(result.state);
    }
    if (session.replays) history = result.history;
    if (task.state === 'chain') state = { previousResponseId: result.lastResponseId };
    agent = result.lastAgent;
    result.rawResponses.forEach(({ usage }) => session.addUsage(usage, CAMEL));
    const said = result.newItems.filter(({ type }) => type === 'message_output_item').at(-1)?.rawItem;
    session.annotations = (said?.content ?? []).flatMap(({ providerData }) => providerData?.annotations ?? []);
    session.cut = said?.status === 'incomplete' ? said.status : null;
    return String(result.finalOutput);
  };
}

const features = [...BASIC, 'handoffs', 'agent_tools', 'tool_approvals', 'mcp_approvals', 'guardrails', 'incomplete', 'shortening'];
const [states, dialects] = [['replay', 'stateless', 'chain', 'conversation'], ['openai', 'azure', 'foundry']];
await serve({ client: release('@openai/agents'), features, states, dialects, hosted: Object.keys(HOSTED) }, start);
