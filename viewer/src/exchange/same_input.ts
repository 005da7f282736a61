/** An `input` that is a text is a message of the user: requests that send it as either are compared alike. */
import { isObject } from "../parts/json_rows";

type Body = Readonly<Record<string, unknown>>;

/** Returns two requests; where only one sends its input as a list, the text of the other is a message of one, too. */
export function alignInputs(was: unknown, is: unknown): readonly [unknown, unknown] {
  if (!isObject(was) || !isObject(is)) return [was, is];
  if (typeof was.input === "string" && Array.isArray(is.input)) return [asList(was, was.input, is.input), is];
  if (Array.isArray(was.input) && typeof is.input === "string") return [was, asList(is, is.input, was.input)];
  return [was, is];
}

/** Writes a text as the list does that has the same message, or else as short as possible. */
function asList(body: Body, text: string, list: readonly unknown[]): Body {
  return { ...body, input: [list.find((item) => saysAlone(item, text)) ?? { role: "user", content: text }] };
}

/** Whether an item is a message of the user with this text and nothing else. */
function saysAlone(item: unknown, text: string): boolean {
  if (!isObject(item) || item.role !== "user") return false;
  if (!Array.isArray(item.content)) return item.content === text;
  const [part, ...others]: readonly unknown[] = item.content;
  return others.length === 0 && isObject(part) && part.type === "input_text" && part.text === text;
}
