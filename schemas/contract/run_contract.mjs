// Asks a server the examples of contract.json and prints a table: node run_contract.mjs URL [MODEL] [FILE.json]
// Needs Node 18 and nothing else; the key is in the variable SERVER_KEY. WebSockets are left out. MIT licence.
import { readFile, writeFile } from "node:fs/promises";
import http from "node:http";
import https from "node:https";

const GRADES = { words: 3, code: 2, status: 1 };
const TIMEOUT = 30_000;
const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

const lookUp = (body, path) => {
  for (const name of path.split(".")) {
    if (body == null || !(name in Object(body))) throw new ReferenceError(path);
    body = body[name];
  }
  return String(body);
};

class Server {
  constructor(url, model, key) {
    this.url = new URL(url.replace(/\/+$/, ""));
    this.names = { model, key, root: this.url.pathname };
  }

  // Replace {model}, {key}, {root} and {n.path} in all strings.
  fill(value, answers) {
    if (Array.isArray(value)) return value.map((part) => this.fill(part, answers));
    if (value && typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, this.fill(part, answers)]));
    if (typeof value !== "string") return value;
    for (const [name, text] of Object.entries(this.names)) value = value.replaceAll(`{${name}}`, text);
    return value.replace(/\{(\d+)\.([\w.]+)\}/g, (_, number, path) => lookUp(answers[number].body, path));
  }

  request(step, answers) {
    let data;
    if ("base64" in step) data = Buffer.from(step.base64, "base64");
    else if ("text" in step) data = Buffer.from(step.text.replaceAll("{model}", this.names.model));
    else if ("body" in step) data = Buffer.from(JSON.stringify(this.fill(step.body, answers)));
    const path = this.url.pathname + encodeURI(this.fill(step.path, answers));
    const headers = this.fill(step.headers, answers);
    if (data) headers["content-length"] = data.length;
    const { request } = this.url.protocol === "https:" ? https : http;
    const options = { hostname: this.url.hostname, port: this.url.port, method: step.method, path, headers, agent: false };
    return new Promise((resolve) => {
      const failed = (error) => resolve({ status: 0, body: error.message, unusable: true, refuses: false });
      const sent = request({ ...options, signal: AbortSignal.timeout(TIMEOUT) }, (answer) => {
        const parts = [];
        answer.on("data", (part) => parts.push(part)).on("error", failed);
        answer.on("end", () => resolve({ ...read(answer, Buffer.concat(parts), path), wait: answer.headers["retry-after"] }));
      });
      sent.on("error", failed).end(data);
    });
  }

  async send(step, answers) {
    let answer;
    for (let attempt = 0; attempt < 3; attempt++) {
      answer = await this.request(step, answers);
      if (answer.status !== 429 || !/^\d+$/.test(answer.wait ?? "") || Number(answer.wait) > 20) break;
      await sleep(Number(answer.wait));
    }
    return answer;
  }
}

const read = (answer, content, path) => {
  const status = answer.statusCode;
  if ((answer.headers["content-type"] ?? "").includes("text/event-stream")) {
    const lines = content.toString().split(/\r?\n/).filter((line) => line.startsWith("data:"));
    const events = lines.map((line) => line.slice(5).trim()).filter((text) => text.startsWith("{")).map((text) => JSON.parse(text));
    const error = events.find((event) => event.type === "error");
    const last = events.findLast((event) => event.response)?.response;
    return { status, body: error ? { error } : last, unusable: !events.length, refuses: Boolean(error) || status >= 400 };
  }
  try {
    return { status, body: JSON.parse(content.toString()), unusable: false, refuses: status >= 400 };
  } catch {
    return { status, body: null, unusable: !path.endsWith("/content"), refuses: status >= 400 };
  }
};

const plain = (error) =>
  String(error.message).replace(/ \[Request ID: [^\]]*\]/, "").replace(/(Supported values are: ).*/s, "$1");

// Grade the last answer: words, code or status for a refusal, else other, taken, refused or failed.
const grade = (example, expected, { status, body, unusable, refuses }) => {
  if (status === 429) return "limited";
  if (status >= 500 || (unusable && status < 400)) return "failed";
  if (example.kind === "accept") return status >= 200 && status < 300 && !refuses ? "taken" : "refused";
  if (status < 400) return refuses ? "other" : "taken";
  if (status !== expected.status) return "other";
  const error = body?.error;
  if (!error || typeof error !== "object" || !("code" in error)) return "status";
  if (["code", "param"].some((name) => name in expected && expected[name] !== (error[name] ?? null))) return "status";
  return plain(expected) === plain(error) && (expected.type ?? null) === (error.type ?? null) ? "words" : "code";
};

const ask = async (server, example) => {
  const answers = [];
  try {
    for (const step of example.steps) {
      const { status, unusable } = answers[answers.push(await server.send(step, answers)) - 1];
      if ("status" in step && (status >= 200 && status < 300 && !unusable) !== step.status < 300) return "blocked";
    }
    return grade(example, server.fill(example.expected, answers), answers.at(-1));
  } catch (error) {
    if (error instanceof ReferenceError || error instanceof TypeError) return "blocked";
    throw error;
  }
};

const [url, named, file] = process.argv.slice(2);
const contract = JSON.parse(await readFile(new URL("contract.json", import.meta.url)));
const model = named || contract.model;
const server = new Server(url, model, process.env.SERVER_KEY ?? "sk-contract");
const there = new Set(), models = new Set([model, contract.model]);
for (const [name, step] of Object.entries(contract.endpoints)) {
  const answer = step.method === "WS" ? { status: 0 } : await server.send(step, []);
  if (answer.status < 200 || answer.status >= 300) continue;
  there.add(name);
  if (name === "/models") for (const { id } of answer.body?.data ?? []) models.add(id) && there.add(`/models/${id}`);
}
const areas = {}, findings = [], totals = { refusal: {}, accept: {} };
for (const example of contract.examples) {
  const { kind, area, name, needs } = example;
  if (model !== contract.model && !example.any_model) continue;
  if (example.left_out || needs.some((need) => !there.has(need)) || example.models.some((each) => !models.has(each))) continue;
  const outcome = await ask(server, example);
  for (const counts of [(areas[`${kind.padEnd(8)} ${area.padEnd(32)}`] ??= {}), totals[kind]]) counts[outcome] = (counts[outcome] ?? 0) + 1;
  const good = ["words", "blocked", "limited"].includes(outcome) || (kind === "accept" && outcome === "taken");
  if (!good) findings.push({ kind, name, outcome });
}
const list = (counts) => Object.entries(counts).sort().map(([name, count]) => `${name} ${count}`).join("  ");
for (const [name, counts] of Object.entries(areas).sort()) console.log(name, list(counts));
const sum = (counts, weight) => Object.entries(counts).reduce((all, [name, count]) => all + weight(name) * count, 0);
const judged = (counts) => sum(counts, (name) => (["blocked", "limited"].includes(name) ? 0 : 1));
console.log(`refuses  ${sum(totals.refusal, (name) => GRADES[name] ?? 0)} of ${3 * judged(totals.refusal)}`);
console.log(`accepts  ${totals.accept.taken ?? 0} of ${judged(totals.accept)}`);
if (file) await writeFile(file, JSON.stringify({ totals, findings }, null, 1));
