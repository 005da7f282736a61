/** Runs `responses-harness serve` beside the tests and names it in HARNESS_URL; for `globalSetup` of vitest and jest. */
import { spawn, type ChildProcess } from "node:child_process";
import { resolve as absolute } from "node:path";
import { endOf, harnessCommand, HOW_TO_INSTALL } from "./command.js";

const STARTING_SECONDS = 60;
const ENDING_SECONDS = 60;
// The server ends with this program, which ends with its input: however the tests end, they leave nothing behind.
const UNTIL_INPUT_ENDS = "console.log(process.env.HARNESS_URL); process.stdin.resume()";

/**
 * Start the server unless HARNESS_URL names one; returns what ends it, and waits for the report in the files of HARNESS_REPORT,
 * named by commas, and for the traces in the folder of HARNESS_TRACE.
 */
export default async function setup(): Promise<() => Promise<void>> {
  if (process.env.HARNESS_URL) return async () => {};
  const [program = "", ...before] = harnessCommand();
  const files = (process.env.HARNESS_REPORT ?? "").split(",").filter(Boolean);
  const traces = traceFolder();
  const kept = [...files.flatMap((file) => ["--report", absolute(file)]), ...(traces ? ["--trace", absolute(traces)] : [])];
  const options = ["--scripted", ...kept];
  const server = spawn(program, [...before, "serve", ...options, "--", process.execPath, "-e", UNTIL_INPUT_ENDS], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  process.env.HARNESS_URL = await firstLine(server, [program, ...before].join(" "));
  for (const part of [server, server.stdin, server.stdout, server.stderr] as Array<{ unref?: () => void }>) part.unref?.();
  return async () => {
    delete process.env.HARNESS_URL;
    server.stdin?.end();
    if (!kept.length) return;
    server.ref();
    await endOf(server, `${[program, ...before].join(" ")} serve`, ENDING_SECONDS);
  };
}

/** The folder for traces: where CI is set there is one by default, as nobody can run the test there again. */
function traceFolder(): string {
  const { HARNESS_TRACE: named, CI: ci = "" } = process.env;
  if (named === undefined) return ["", "0", "false"].includes(ci.toLowerCase()) ? "" : "harness-traces";
  return named === "off" ? "" : named;
}

/** The first line that a server prints; an error says why there was none. */
function firstLine(server: ChildProcess, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = "";
    let problems = "";
    const fail = (why: string) => {
      clearTimeout(timer);
      server.kill();
      reject(
        new Error(
          `\`${command} serve\` did not start: ${why}. ${HOW_TO_INSTALL}, or the address of a running one in HARNESS_URL.`,
        ),
      );
    };
    const timer = setTimeout(() => fail(`nothing came for ${STARTING_SECONDS} seconds`), STARTING_SECONDS * 1000);
    server.on("error", (problem) => fail(problem.message));
    server.on("close", (code) => fail(problems.trim() || `it ended with ${code}`));
    server.stderr?.on("data", (part) => (problems += part));
    server.stdout?.on("data", (part) => {
      printed += part;
      if (!printed.includes("\n")) return;
      clearTimeout(timer);
      server.removeAllListeners("close");
      resolve(printed.split("\n")[0]!.trim());
    });
  });
}
