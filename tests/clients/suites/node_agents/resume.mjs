// The process that goes on with a saved run: it decides about its gated calls and plays it to its end.
import { RunState, Runner } from '@openai/agents';
import { agents, given } from './team.mjs';

const agent = agents[given.agent]();
const state = await RunState.fromString(agent, given.state);
for (const item of state.getInterruptions()) {
  if (given.approve) state.approve(item);
  else state.reject(item);
}
const { finalOutput } = await new Runner({ tracingDisabled: true }).run(agent, state);
console.log(JSON.stringify(finalOutput));
