#!/usr/bin/env node
"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
/** `npx responses-harness …` runs the command of that name that is installed for Python, with the same arguments; it installs nothing. */
const node_child_process_1 = require("node:child_process");
const command_js_1 = require("./command.js");
const NOT_FOUND = 127;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];
const [program = "", ...before] = (0, command_js_1.harnessCommand)();
const harness = (0, node_child_process_1.spawn)(program, [...before, ...process.argv.slice(2)], { stdio: "inherit" });
for (const signal of SIGNALS) {
    process.on(signal, () => {
        // What is typed at a terminal goes to both, and a second one would not let a server end in order.
        if (signal === "SIGTERM" || !process.stdin.isTTY)
            harness.kill(signal);
    });
}
harness.on("error", ({ message }) => {
    console.error(`responses-harness: \`${program}\` did not start: ${message}. ${command_js_1.HOW_TO_INSTALL}.`);
    process.exitCode = NOT_FOUND;
});
harness.on("exit", (code, signal) => {
    if (!signal)
        return void (process.exitCode = code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
});
