// The AI SDK: `ai` with `@ai-sdk/openai`, its loop of tools and its approvals.
import { CAMEL, load, release, runTool, serve } from './node_session.mjs';

const ai = await load('ai');
const { createOpenAI } = await load('@ai-sdk/openai');
const newer = 'isStepCount' in ai; // since 7 a request says which tools need approval, before a tool did
const stopWhen = (newer ? ai.isStepCount : ai.stepCountIs)(50);
const HOSTED = {
  code_interpreter: (tools) => tools.codeInterpreter({}),
  file_search: (tools, { vector_store_ids: vectorStoreIds }) => tools.fileSearch({ vectorStoreIds }),
  image_generation: (tools) => tools.imageGeneration({}),
  mcp: (tools, { server_label: serverLabel, server_url: serverUrl, require_approval: requireApproval }) =>
    tools.mcp({ serverLabel, serverUrl, requireApproval }),
  web_search: (tools) => tools.webSearch({}),
};

function start(session) {
  const { task } = session;
  const openai = createOpenAI({ baseURL: task.base_url, apiKey: task.api_key });
  const gated = task.tools.filter((tool) => tool.needs_approval).map(({ name }) => [name, 'user-approval']);

  function makeTool(tool) {
    const inputSchema = ai.jsonSchema(tool.parameters);
    const own = { description: tool.description, inputSchema, execute: (given) => runTool(tool, given) };
    return ai.tool(newer ? own : { ...own, needsApproval: tool.needs_approval });
  }

  function toolsOf(agent) {
    const own = task.tools.filter(({ name }) => agent.tools.includes(name)).map((tool) => [tool.name, makeTool(tool)]);
    const hosted = task.hosted_tools.map((tool) => [tool.type, HOSTED[tool.type](openai.tools, tool)]);
    const asked = agent.ask.map((name) => [`ask_${name}`, makeQuestion(session.agents.find((each) => each.name === name))]);
    return Object.fromEntries([...own, ...hosted, ...asked]);
  }

  function makeQuestion(agent) {
    const inputSchema = ai.jsonSchema({ type: 'object', properties: { input: { type: 'string' } }, required: ['input'] });
    const execute = async ({ input }) => (await run(agent, [{ role: 'user', content: input }], {})).text;
    return ai.tool({ description: `Ask ${agent.name}.`, inputSchema, execute });
  }

  async function run(agent, messages, options) {
    const told = newer ? { instructions: agent.instructions, toolApproval: Object.fromEntries(gated) } : { system: agent.instructions };
    const own = { model: openai(task.model), tools: toolsOf(agent), providerOptions: { openai: options } };
    const prepareStep = ({ messages: every }) => ({ messages: every.slice(-(task.keep_last ?? 0)) });
    const asked = { messages, stopWhen, prepareStep, ...own, ...told };
    if (!task.stream) return ai.generateText(asked);
    const result = ai.streamText({ ...asked, onError: () => {} });
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta' && agent === session.agents[0]) session.addDelta(part.text);
      if (part.type === 'error') throw part.error;
    }
    const names = ['text', 'content', 'sources', 'steps', 'totalUsage', 'response', 'finishReason'];
    return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await result[name]])));
  }

  const messages = [];
  session.annotations = null; // sources have a form of their own
  const options = task.state === 'stateless' ? { store: false } : {};
  return async (prompt) => {
    let [more, result] = [[{ role: 'user', content: prompt }]];
    while (more.length) {
      messages.push(...more);
      result = await run(session.agents[0], session.replays ? messages : more, options);
      messages.push(...(result.responseMessages ?? result.response.messages));
      session.addUsage(result.totalUsage, CAMEL);
      if (task.state === 'chain') options.previousResponseId = result.steps.at(-1).providerMetadata.openai.responseId;
      const content = result.content.filter(({ type }) => type === 'tool-approval-request').map(decide);
      more = content.length ? [{ role: 'tool', content }] : [];
    }
    session.cut = ['length', 'content-filter'].includes(result.finishReason) ? result.finishReason : null;
    return result.text;
  };

  function decide({ approvalId, toolCall: { toolName, providerExecuted } }) {
    const name = toolName.replace(/^mcp\./, '');
    return { type: 'tool-approval-response', approvalId, approved: session.approves(name), providerExecuted };
  }
}

const features = ['tools', 'hosted_tools', 'agent_tools', 'tool_approvals', 'mcp_approvals', 'incomplete', 'shortening'];
await serve({ client: release('ai'), features, states: ['replay', 'stateless', 'chain'], hosted: Object.keys(HOSTED) }, start);
