/** Where a finding is: in the body that was sent, in the answer, or in an event of the stream. */
import type { OpenedExchange } from "../data/opened";
import type { ShownFinding } from "../model";
import { nearest } from "../parts/json_rows";

export interface FoundAt {
  readonly finding: ShownFinding;
  readonly tab: "sent" | "answer" | "stream";
  /** The place in the body, or in the event. */
  readonly at: string;
  /** The index of the event; -1 for what is in no stream. */
  readonly event: number;
}

const EVENT = /^events\[(\d+)\]\.?/;

/** Finds the side of a place: what both bodies have is in the one that was sent, unless recorded and mock disagree about it. */
export function locate(finding: ShownFinding, exchange: OpenedExchange): FoundAt | null {
  const { at } = finding;
  if (!at) return null;
  const event = at.match(EVENT);
  if (event) return { finding, tab: "stream", at: at.slice(event[0].length), event: Number(event[1]) };
  const [sent, came] = [exchange.request, exchange.answer].map((body) => nearest(body, at) === at);
  const isOfAnswer = came && (!sent || finding.kind === "disagreement");
  return { finding, tab: isOfAnswer ? "answer" : "sent", at, event: -1 };
}
