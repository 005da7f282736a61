/** What can be copied of an exchange. A text has a mark where the body of the request stands, so that no file has it twice. */
import type { OpenedExchange } from "../data/opened";

const REQUEST = "⟦request⟧";

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
  const [before = "", ...rest] = (exchange.shown.copies[name] ?? "").split(REQUEST);
  return rest.length ? [before, ...rest].join(JSON.stringify(exchange.request, null, 2)) : before;
}
