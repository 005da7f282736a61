// What an application does with @azure/ai-projects; argument: {"flow": …, …}; the last line printed is the result.
import { AIProjectClient } from '@azure/ai-projects';

const { flow, ...given } = JSON.parse(process.argv[2]);
const credential = {
  getToken: async () => ({ token: process.env.OPENAI_API_KEY, expiresOnTimestamp: Date.now() + 3_600_000 }),
};
const project = new AIProjectClient(process.env.FOUNDRY_PROJECT_ENDPOINT, credential);
const client = project.getOpenAIClient({ maxRetries: 0 });

const DEPLOY = {
  type: 'function',
  name: 'deploy',
  parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
  strict: true,
};

async function gathered(items) {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

const made = (tools) =>
  project.agents.createVersion('helper', { kind: 'prompt', model: 'mine', instructions: 'Help.', tools });
const bound = ({ name, version }) => ({ agent_reference: { type: 'agent_reference', name, version } });

const flows = {
  text: () => client.responses.create({ model: 'mine', input: 'hi' }),

  async agent() {
    const agent = await made();
    return client.responses.create({ input: 'hi', ...bound(agent) });
  },

  async stream() {
    const agent = await made();
    return gathered(await client.responses.create({ input: 'hi', stream: true, ...bound(agent) }));
  },

  async tools() {
    const agent = await made([DEPLOY]);
    const conversation = (await client.conversations.create()).id;
    const first = await client.responses.create({ input: 'Deploy.', conversation, ...bound(agent) });
    const [{ call_id }] = first.output;
    const input = [{ type: 'function_call_output', call_id, output: 'ok' }];
    return client.responses.create({ input, conversation, ...bound(agent) });
  },

  async versions() {
    const first = await made();
    const second = await project.agents.createVersion('helper', { kind: 'prompt', model: 'mine', instructions: 'More.' });
    const names = (await gathered(project.agents.list())).map(({ name }) => name);
    const got = await project.agents.get('helper');
    const { deleted } = await project.agents.delete('helper');
    return [first.version, second.version, names, got.versions.latest.version, deleted];
  },

  async connections() {
    const [listed] = await gathered(project.connections.list());
    const { credentials } = await project.connections.getWithCredentials(listed.name);
    return [listed.name, listed.type, credentials.apiKey ?? credentials.key];
  },

  async unknown() {
    try {
      return await project.agents.get('nobody');
    } catch ({ statusCode, code, message }) {
      return { statusCode, code, message };
    }
  },
};

console.log(JSON.stringify(await flows[flow]()));
