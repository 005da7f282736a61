/** The lines of a card: what a request added, what was answered, what went wrong. */
import type { OpenedCase, OpenedExchange, OpenedItem } from "../data/opened";
import { isObject, type Json, type JsonObject } from "../data/pool";
import { count, milliseconds } from "../format";
import type { ShownCall, ShownDelivery } from "../model";

export type Line =
  | { readonly kind: "before"; readonly count: number; readonly opened: boolean }
  | { readonly kind: "more"; readonly count: number }
  | { readonly kind: "item"; readonly item: Json; readonly by: "before" | "request" | "answer"; readonly call: ShownCall | undefined }
  | { readonly kind: "mark"; readonly item: OpenedItem }
  | { readonly kind: "missing"; readonly call: ShownCall }
  | { readonly kind: "request"; readonly text: string }
  | { readonly kind: "error"; readonly text: string; readonly rule: string; readonly asked: boolean }
  | { readonly kind: "status"; readonly text: string }
  | { readonly kind: "delivery"; readonly delivery: ShownDelivery }
  | { readonly kind: "edge"; readonly text: string };

/** Items that were there before this request. */
const EARLIER = new Set(["resent", "chain", "conversation"]);

export function linesOf(opened: OpenedCase, exchange: OpenedExchange, missing: readonly ShownCall[], unfolded: boolean): Line[] {
  const { shown } = exchange;
  const calls = new Map(opened.calls.map((call) => [call.call_id, call]));
  const item =
    (by: "before" | "request" | "answer") =>
    (value: Json): Line => ({ kind: "item", item: value, by, call: calls.get(callId(value)) });
  const before = unfolded ? exchange.transcript.filter(({ origin }) => EARLIER.has(origin)).map((known) => known.item) : [];
  const lines: Line[] = [
    ...(shown.retry_of > 0 ? [{ kind: "edge", text: `retry of request ${shown.retry_of}` } as const] : []),
    ...(shown.before > 0 ? [{ kind: "before", count: shown.before, opened: unfolded } as const] : []),
    ...before.map(item("before")),
    ...exchange.transcript.filter(({ mark }) => mark !== "" && mark !== "refused").map((marked): Line => ({ kind: "mark", item: marked })),
    ...foldMiddle(exchange.added.map(item("request")), unfolded),
  ];
  if (lines.length === 0 && shown.output.length === 0) lines.push({ kind: "request", text: shown.gist || `${shown.method} ${shown.path}` });
  lines.push(...missing.map((call): Line => ({ kind: "missing", call })));
  lines.push(...exchange.output.map(item("answer")));
  if (shown.error) lines.push({ kind: "error", text: `${shown.status} ${shown.error}`, rule: shown.rule, asked: shown.asked });
  else if (shown.output.length === 0 && shown.said) lines.push({ kind: "status", text: shown.said });
  const delivered = opened.deliveries.filter(({ after }) => after === shown.number);
  return [...lines, ...edgeLines(exchange), ...delivered.map((delivery): Line => ({ kind: "delivery", delivery }))];
}

/** How many items that a request added are shown of many: of the first and of the last ones. */
const FIRST = 4;
const LAST = 8;

/** Of many lines, those between the first and the last ones become one that says how many they are. */
function foldMiddle(lines: readonly Line[], unfolded: boolean): readonly Line[] {
  const between = lines.length - FIRST - LAST;
  return unfolded || between < LAST ? lines : [...lines.slice(0, FIRST), { kind: "more", count: between }, ...lines.slice(-LAST)];
}

function edgeLines({ shown: { edge } }: OpenedExchange): Line[] {
  const lines: Line[] = [];
  if (edge.cut) lines.push({ kind: "edge", text: `cut: ${edge.cut}` });
  if (edge.left !== null) lines.push({ kind: "edge", text: `the client disconnected after ${milliseconds(edge.left - (edge.arrived ?? 0))}` });
  return lines;
}

export function callId(item: Json): string {
  if (!isObject(item)) return "";
  for (const name of ["call_id", "approval_request_id", "id"]) if (typeof item[name] === "string") return item[name];
  return "";
}

/** Whether an item answers a call, rather than makes it. */
export function isAnswer(item: Json): boolean {
  const type = isObject(item) ? item["type"] : "";
  return typeof type === "string" && (type.endsWith("_output") || type === "mcp_approval_response");
}

export interface Summary {
  readonly sign: string;
  readonly label: string;
  readonly text: string;
  readonly wire: boolean;
}

/** Sums an item up: who says it, and what. */
export function sumUp(item: Json, call?: ShownCall): Summary {
  if (!isObject(item)) return { sign: "", label: "", text: JSON.stringify(item), wire: true };
  const text = (name: string) => (typeof item[name] === "string" ? item[name] : "");
  const type = text("type");
  if (item["role"] || type === "message") return { sign: "", label: text("role") || "message", text: contentText(item["content"]), wire: false };
  if (type === "reasoning")
    return { sign: "", label: "reasoning", text: contentText(item["summary"]) || contentText(item["content"]) || "(hidden)", wire: false };
  if (isAnswer(item)) return { sign: "←", label: call?.name || outputName(type), text: answerText(item), wire: true };
  const name = text("name");
  if (name && (type.endsWith("_call") || type === "mcp_approval_request"))
    return {
      sign: "→",
      label: type === "function_call" ? name : `${type.replaceAll("_", " ")} ${name}`,
      text: text("arguments") || text("input"),
      wire: true,
    };
  return { sign: type.endsWith("_call") ? "→" : "", label: type.replaceAll("_", " ") || "item", text: rest(item), wire: true };
}

const outputName = (type: string) => (type === "mcp_approval_response" ? "approval" : type.replace(/_call_output$/, "").replaceAll("_", " "));

function answerText(item: JsonObject): string {
  if (typeof item["approve"] === "boolean") return item["approve"] ? "approved" : `denied${item["reason"] ? `: ${String(item["reason"])}` : ""}`;
  return contentText(item["output"]) || rest(item);
}

function rest(item: JsonObject): string {
  const { type: _type, id: _id, status: _status, ...others } = item;
  if (Array.isArray(others["tools"])) return others["tools"].map((tool) => (isObject(tool) ? String(tool["name"] ?? tool["type"]) : "")).join(", ");
  return JSON.stringify(others);
}

function contentText(content: Json | undefined): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content === null || content === undefined ? "" : JSON.stringify(content);
  return content.map(partText).filter(Boolean).join("\n");
}

function partText(part: Json): string {
  if (!isObject(part)) return typeof part === "string" ? part : JSON.stringify(part);
  const text = part["text"] ?? part["refusal"] ?? part["transcript"];
  const cited = Array.isArray(part["annotations"]) && part["annotations"].length > 0 ? `  [${count(part["annotations"].length, "citation")}]` : "";
  if (typeof text === "string") return text + cited;
  return `[${String(part["type"] ?? "content").replace(/^(input|output)_/, "")}]`;
}
