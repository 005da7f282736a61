#!/usr/bin/env node
/** `npx responses-harness …` runs the command of that name that is installed for Python, with the same arguments; it installs nothing. */
import { spawn } from "node:child_process";
import { harnessCommand, HOW_TO_INSTALL } from "./command.js";

const NOT_FOUND = 127;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const [program = "", ...before] = harnessCommand();
const harness = spawn(program, [...before, ...process.argv.slice(2)], { stdio: "inherit" });
for (const signal of SIGNALS) {
  process.on(signal, () => {
    // What is typed at a terminal goes to both, and a second one would not let a server end in order.
    if (signal === "SIGTERM" || !process.stdin.isTTY) harness.kill(signal);
  });
}
harness.on("error", ({ message }) => {
  console.error(`responses-harness: \`${program}\` did not start: ${message}. ${HOW_TO_INSTALL}.`);
  process.exitCode = NOT_FOUND;
});
harness.on("exit", (code, signal) => {
  if (!signal) return void (process.exitCode = code ?? 1);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
