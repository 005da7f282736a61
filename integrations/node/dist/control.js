"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.serverOrigin = serverOrigin;
exports.control = control;
/** Requests to the control plane of a running `responses-harness serve`. */
const node_http_1 = require("node:http");
const NO_SERVER = "HARNESS_URL is not set, so there is no mock to test with. Name the package's global setup in the configuration, " +
    'globalSetup: "responses-harness/global-setup", or run the tests below `responses-harness serve --scripted -- …`.';
const ANSWER_SECONDS = 120;
const MOST_CHARACTERS = 1 << 28;
const QUOTED_CHARACTERS = 500;
/** The origin of the server, say `http://127.0.0.1:8765`. */
function serverOrigin() {
    const origin = process.env.HARNESS_URL;
    if (!origin)
        throw new Error(NO_SERVER);
    return origin.replace(/\/+$/, "");
}
/**
 * Send a control request for the World of a key; an error says what the server objects to, or that its answer has not ended
 * within so many seconds.
 */
function control(key, method, path, body, seconds = ANSWER_SECONDS) {
    // node:http, since tests replace `fetch`, and a DOM environment of jest has none.
    const payload = body === undefined ? "" : JSON.stringify(body);
    const token = process.env.HARNESS_CONTROL_TOKEN;
    const headers = {
        authorization: `Bearer ${key}`,
        ...(token && { "x-harness-token": token }),
        connection: "close",
        ...(payload && { "content-type": "application/json", "content-length": Buffer.byteLength(payload) }),
    };
    const signal = AbortSignal.timeout(seconds * 1000); // which the fake timers of a test do not move
    return new Promise((resolve, reject) => {
        const failed = (problem) => {
            const why = signal.aborted ? `${method} ${path} has not ended within ${seconds} s` : problem.message;
            reject(new Error(`the mock at ${serverOrigin()} does not answer: ${why}`));
        };
        const sent = (0, node_http_1.request)(`${serverOrigin()}/_harness${path}`, { method, headers, agent: false, signal }, (answer) => {
            let text = "";
            answer.setEncoding("utf8");
            answer.on("data", (part) => {
                text += part;
                if (text.length > MOST_CHARACTERS)
                    sent.destroy(new Error(`${method} ${path} is longer than ${MOST_CHARACTERS} characters`));
            });
            answer.on("error", failed);
            answer.on("end", () => {
                const told = parsed(text);
                if (signal.aborted)
                    failed(new Error());
                else if (answer.statusCode === 200 && told !== undefined)
                    resolve(told);
                else
                    reject(new Error(told?.error?.message ?? `${method} ${path}: ${answer.statusCode} ${text.slice(0, QUOTED_CHARACTERS)}`));
            });
        });
        sent.on("error", failed);
        sent.end(payload);
    });
}
function parsed(text) {
    try {
        return JSON.parse(text);
    }
    catch {
        return undefined;
    }
}
