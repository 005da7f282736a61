/** The environment that leads the OpenAI clients of this process to the mock. */
import { threadId } from "node:worker_threads";
import { serverOrigin } from "./control.js";

const LEADS_ELSEWHERE =
  /^(AZURE_OPENAI_.*|AZURE_AI_PROJECT_ENDPOINT|FOUNDRY_PROJECT_ENDPOINT|OPENAI_(ORG_ID|PROJECT|PROJECT_ID|CUSTOM_HEADERS|API_TYPE|API_VERSION))$/;

/** The key of this worker; its World begins anew with each test. */
export const API_KEY = `sk-harness-${process.pid}-${threadId}`;

/** Set the variables that clients read; an error without a server. */
export function setEnvironment(): void {
  const origin = serverOrigin();
  for (const name of Object.keys(process.env)) if (LEADS_ELSEWHERE.test(name)) delete process.env[name];
  process.env.OPENAI_BASE_URL = `${origin}/v1`;
  process.env.OPENAI_API_KEY = API_KEY;
  for (const name of ["NO_PROXY", "no_proxy"]) {
    const hosts = (process.env[name] ?? "").split(",").filter(Boolean);
    process.env[name] = [...new Set([new URL(origin).hostname, ...hosts])].join(",");
  }
}
