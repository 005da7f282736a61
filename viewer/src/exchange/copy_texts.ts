/** What can be copied of an exchange. A text has marks where the body of the request stands, so that no file has it twice. */
import type { OpenedExchange } from "../data/opened";

/** `⟦request⟧` is the JSON of the request, `⟦=NAME⟧` a member of it in Python, `⟦=⟧` all of it, on a line that is indented. */
const MARK = /⟦(=?)([^⟧]*)⟧/g;
const WIDTH = 100;

export type Copied = "pytest" | "curl" | "turn_python" | "turn_yaml" | "refusal";

export const COPIES: readonly (readonly [name: Copied, label: string])[] = [
  ["pytest", "pytest test"],
  ["curl", "curl"],
  ["turn_python", "script turn, Python"],
  ["turn_yaml", "script turn, YAML"],
  ["refusal", "expected refusal"],
];

/** The text to copy; empty when there is none. */
export function copyOf(exchange: OpenedExchange, name: Copied): string {
  const { request } = exchange;
  const text = exchange.shown.copies[name] ?? "";
  return text.replace(MARK, (mark, isPython: string, member: string, at: number) => {
    if (!isPython) return member === "request" ? JSON.stringify(request, null, 2) : mark;
    const line = text.slice(text.lastIndexOf("\n", at) + 1, at);
    return python(member ? (request as Record<string, unknown>)[member] : request, /^ */.exec(line)?.[0] ?? "");
  });
}

/** JSON as Python, whose lines after the first are indented. Texts are written alike in both. */
function python(value: unknown, indent: string): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const parts = Array.isArray(value)
    ? value.map((element) => python(element, inner))
    : Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${python(member, inner)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const line = `${open}${parts.join(", ")}${close}`;
  if (indent.length + line.length <= WIDTH && !line.includes("\n")) return line;
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join("")}${indent}${close}`;
}
