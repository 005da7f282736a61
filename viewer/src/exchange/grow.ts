/** What a client has of an answer after so many events of its stream. */
import { isObject } from "../parts/json_rows";

type Members = { [name: string]: unknown };

export interface Grown {
  /** The items so far, by their place in the output. */
  readonly items: readonly unknown[];
  /** The response as the last event that told it whole did, without its output. */
  readonly status: string;
  /** The item that the last event touched; -1 for none. */
  readonly touched: number;
}

/** Puts the first events of a stream together. Each is read as it is; what is not known to grow an item is passed over. */
export function grow(events: readonly unknown[]): Grown {
  const items: Members[] = [];
  let status = "";
  let touched = -1;
  for (const event of events) {
    if (!isObject(event)) continue;
    const type = typeof event.type === "string" ? event.type : "";
    if (isObject(event.response) && typeof event.response.status === "string") status = event.response.status;
    touched = Array.isArray(event.choices) ? growChoice(items, event.choices) : growItem(items, type, event);
  }
  return { items, status, touched };
}

const copy = (value: unknown): Members => (isObject(value) ? (structuredClone(value) as Members) : {});
const index = (value: unknown): number => (typeof value === "number" && value >= 0 && value < 10_000 ? value : 0);

function growItem(items: Members[], type: string, event: Readonly<Members>): number {
  if (typeof event.output_index !== "number") return -1;
  const place = index(event.output_index);
  if (isObject(event.item)) {
    items[place] = copy(event.item);
    return place;
  }
  const item = (items[place] ??= {});
  const [list, at] = "summary_index" in event ? ["summary", index(event.summary_index)] : ["content", index(event.content_index)];
  if (isObject(event.part)) {
    partsOf(item, list)[at] = copy(event.part);
  } else if (isObject(event.annotation)) {
    const part = (partsOf(item, list)[at] ??= {});
    part["annotations"] = [...(Array.isArray(part["annotations"]) ? part["annotations"] : []), event.annotation];
  } else if (typeof event.delta === "string") {
    const isPart = "content_index" in event || "summary_index" in event;
    const holder = isPart ? (partsOf(item, list)[at] ??= {}) : item;
    const member = memberOf(type);
    holder[member] = `${typeof holder[member] === "string" ? holder[member] : ""}${event.delta}`;
  }
  return place;
}

function partsOf(item: Members, list: string): Members[] {
  if (!Array.isArray(item[list])) item[list] = [];
  return item[list] as Members[];
}

/** The member that a delta continues. */
function memberOf(type: string): string {
  if (type.includes("arguments")) return "arguments";
  if (type.includes("refusal")) return "refusal";
  if (type.includes("custom_tool_call_input")) return "input";
  if (type.includes("code")) return "code";
  return "text";
}

function growChoice(items: Members[], choices: readonly unknown[]): number {
  let touched = -1;
  for (const choice of choices) {
    if (!isObject(choice) || !isObject(choice.delta)) continue;
    touched = index(choice.index);
    const message = (items[touched] ??= { role: "assistant", content: "" });
    const { content } = choice.delta;
    if (typeof content === "string") message["content"] = `${String(message["content"] ?? "")}${content}`;
  }
  return touched;
}
