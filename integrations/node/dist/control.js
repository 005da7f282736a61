"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.serverOrigin = serverOrigin;
exports.control = control;
/** Requests to the control plane of a running `harness serve`. */
const node_http_1 = require("node:http");
const NO_SERVER = "HARNESS_URL is not set, so there is no mock to test with. Name the package's global setup in the configuration, " +
    'globalSetup: "responses-harness/global-setup", or run the tests below `harness serve --scripted -- …`.';
/** The origin of the server, say `http://127.0.0.1:8765`. */
function serverOrigin() {
    const origin = process.env.HARNESS_URL;
    if (!origin)
        throw new Error(NO_SERVER);
    return origin.replace(/\/+$/, "");
}
/** Send a control request for the World of a key; an error says what the server objects to. */
function control(key, method, path, body) {
    // node:http, since tests replace `fetch`, and a DOM environment of jest has none.
    const payload = body === undefined ? "" : JSON.stringify(body);
    const token = process.env.HARNESS_CONTROL_TOKEN;
    const headers = {
        authorization: `Bearer ${key}`,
        ...(token && { "x-harness-token": token }),
        connection: "close",
        ...(payload && { "content-type": "application/json", "content-length": Buffer.byteLength(payload) }),
    };
    return new Promise((resolve, reject) => {
        const failed = (why) => reject(new Error(`the mock at ${serverOrigin()} does not answer: ${why.message}`));
        const sent = (0, node_http_1.request)(`${serverOrigin()}/_harness${path}`, { method, headers, agent: false }, (answer) => {
            let text = "";
            answer.setEncoding("utf8");
            answer.on("data", (part) => (text += part));
            answer.on("error", failed);
            answer.on("end", () => {
                if (answer.statusCode === 200)
                    return resolve(JSON.parse(text));
                reject(new Error(problemIn(text) ?? `${method} ${path}: ${answer.statusCode} ${text}`));
            });
        });
        sent.on("error", failed);
        sent.end(payload);
    });
}
function problemIn(text) {
    try {
        return JSON.parse(text).error.message;
    }
    catch {
        return undefined;
    }
}
