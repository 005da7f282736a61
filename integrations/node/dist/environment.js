"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.API_KEY = void 0;
exports.setEnvironment = setEnvironment;
/** The environment that leads the OpenAI clients of this process to the mock. */
const node_worker_threads_1 = require("node:worker_threads");
const control_js_1 = require("./control.js");
const LEADS_ELSEWHERE = /^(AZURE_OPENAI_.*|AZURE_AI_PROJECT_ENDPOINT|FOUNDRY_PROJECT_ENDPOINT|OPENAI_(ORG_ID|PROJECT|PROJECT_ID|CUSTOM_HEADERS|API_TYPE|API_VERSION))$/;
/** The key of this worker; its World begins anew with each test. */
exports.API_KEY = `sk-harness-${process.pid}-${node_worker_threads_1.threadId}`;
/** Set the variables that clients read; an error without a server. */
function setEnvironment() {
    const origin = (0, control_js_1.serverOrigin)();
    for (const name of Object.keys(process.env))
        if (LEADS_ELSEWHERE.test(name))
            delete process.env[name];
    process.env.OPENAI_BASE_URL = `${origin}/v1`;
    process.env.OPENAI_API_KEY = exports.API_KEY;
    for (const name of ["NO_PROXY", "no_proxy"]) {
        const hosts = (process.env[name] ?? "").split(",").filter(Boolean);
        process.env[name] = [...new Set([new URL(origin).hostname, ...hosts])].join(",");
    }
}
