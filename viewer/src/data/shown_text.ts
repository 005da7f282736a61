/** What a reader sees of a case, as text to search: names and values, without the form in which the page stores them. */
import type { Json, ShownCase, ShownExchange } from "../model";
import { isObject } from "./pool";

export function textOfCase(sent: ShownCase): string {
  return shownText([
    sent.pool.map(bare),
    sent.exchanges.map(partsOf),
    sent.printed,
    sent.waiting.map(({ text, file }) => [text, file]),
    sent.deliveries.map(({ event, url, error }) => [event, url, error]),
  ]);
}

/** Writes names and values of JSON in lower case, one in a line; what refers to the pool is left out. */
export function shownText(value: unknown): string {
  const lines: string[] = [];
  walk(value, "", lines);
  return lines.join("\n").toLowerCase();
}

function partsOf(shown: ShownExchange): unknown[] {
  const { method, path, rule, error, gist, said, query, request, answer, added, output, instructions, tools, settings } = shown;
  const line = [`${method} ${path}`, rule, error, gist, said, shown.answered_by?.source ?? ""];
  const wire = [query, request, answer, shown.events?.map(({ event }) => event), added, output, instructions, tools, settings];
  return [line, wire, shown.request_headers, shown.answer_headers];
}

/** Of an item of a transcript only the item is seen. */
const bare = (entry: Json): Json => (isObject(entry) && "origin" in entry && "item" in entry ? (entry["item"] ?? null) : entry);

function walk(value: unknown, name: string, lines: string[]): void {
  if (value === null || value === undefined || value === "") return;
  if (Array.isArray(value)) {
    for (const element of value) walk(element, name, lines);
  } else if (isObject(value)) {
    if ("$" in value) return;
    const members = "$list" in value ? { "": value["then"] } : "$literal" in value ? value["$literal"] : value;
    for (const [member, inner] of Object.entries(members as object)) walk(bare(inner as Json), member, lines);
  } else lines.push(name ? `${name}: ${String(value)}` : String(value));
}
