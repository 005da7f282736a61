/**
 * Lines from calls to their outputs: each call has a track in its lane, from the line that makes it to the line that answers it.
 *
 *     → get_weather  ──┐          start
 *     → ask_ops  ────┐ │          start, through
 *     ← ask_ops  ────┘ │          end
 *     ✗ get_weather ───┘          missing: the next request of the lane does not answer it
 */
import type { OpenedCase } from "../data/opened";
import type { ShownCall } from "../model";
import { callId, isAnswer, type Line } from "./lines";

export interface Rail {
  readonly call: ShownCall;
  readonly lane: number;
  readonly track: number;
  readonly from: number;
  readonly to: number;
  readonly missing: boolean;
}

export interface Rails {
  /** The rails that pass or touch each exchange, by its number. */
  readonly at: ReadonlyMap<number, readonly Rail[]>;
  /** How many tracks each lane has. */
  readonly tracks: readonly number[];
  /** The ids of the calls that no request answered, taken or refused. */
  readonly unanswered: ReadonlySet<string>;
  /** The ids of those that a later request of their lane should have answered. */
  readonly missing: ReadonlySet<string>;
}

export type Segment = "" | "through" | "start" | "end";

const MOST = 8;

export function layRails(opened: OpenedCase): Rails {
  const ends: number[][] = opened.lanes.map(() => []);
  const at = new Map<number, Rail[]>(opened.exchanges.map(({ number }) => [number, []]));
  const numbers = [...at.keys()];
  const places = new Map(numbers.map((number, place) => [number, place]));
  const last = lastRequests(opened);
  const unanswered = new Set<string>();
  const missing = new Set<string>();
  for (const call of [...opened.calls].sort((one, other) => one.said - other.said)) {
    const lane = opened.exchange(call.said)?.shown.lane;
    const end = lane === undefined ? undefined : last(call, lane);
    if (call.answered.length === 0 && call.approval !== "denied" && end?.missing !== false) unanswered.add(call.call_id);
    if (lane === undefined || end === undefined) continue;
    if (end.missing) missing.add(call.call_id);
    const busy = (ends[lane] ??= []);
    const free = busy.findIndex((number) => number <= call.said);
    const track = free < 0 ? busy.length : free;
    if (track >= MOST) continue;
    busy[track] = end.to;
    const rail = { call, lane, track, from: call.said, ...end };
    for (const number of numbers.slice(places.get(rail.from), (places.get(rail.to) ?? 0) + 1)) at.get(number)?.push(rail);
  }
  return { at, tracks: ends.map((busy) => busy.length), unanswered, missing };
}

type End = Pick<Rail, "to" | "missing">;

/** Makes what finds the request of a lane that answers a call, or should have: none when no request came since. */
function lastRequests(opened: OpenedCase): (call: ShownCall, lane: number) => End | undefined {
  const next = new Map<number, number>();
  const latest = new Map<number, number>();
  const sent = new Map<string, number>();
  for (const { number, shown, added } of opened.exchanges) {
    const former = latest.get(shown.lane);
    if (former !== undefined) next.set(former, number);
    latest.set(shown.lane, number);
    for (const item of added) if (isAnswer(item)) sent.set(`${shown.lane} ${callId(item)}`, sent.get(`${shown.lane} ${callId(item)}`) ?? number);
  }
  return (call, lane) => {
    const answered = sent.get(`${lane} ${call.call_id}`) ?? call.answered.find((number) => opened.exchange(number)?.shown.lane === lane);
    if (answered !== undefined) return answered > call.said ? { to: answered, missing: false } : undefined;
    const to = next.get(call.said);
    return to !== undefined && call.answered.length === 0 && call.approval !== "denied" ? { to, missing: true } : undefined;
  };
}

export function missingIn(rails: Rails, number: number): ShownCall[] {
  return (rails.at.get(number) ?? []).filter((rail) => rail.missing && rail.to === number).map((rail) => rail.call);
}

/** Says for a line of a card what stands on each track: the line has an index among the lines of its exchange. */
export function segmentsAt(rails: Rails, lane: number, number: number, lines: readonly Line[], index: number): Segment[] {
  const segments: Segment[] = Array.from({ length: rails.tracks[lane] ?? 0 }, () => "");
  for (const rail of rails.at.get(number) ?? []) {
    if (rail.lane !== lane) continue;
    const at = number === rail.from ? startLine(lines, rail) : number === rail.to ? endLine(lines, rail) : -1;
    if (number > rail.from && number < rail.to) segments[rail.track] = "through";
    else if (index === at) segments[rail.track] = number === rail.from ? "start" : "end";
    else if (number === rail.from ? index > at : index < at) segments[rail.track] = "through";
  }
  return segments;
}

function startLine(lines: readonly Line[], { call }: Rail): number {
  const at = lines.findIndex((line) => line.kind === "item" && line.by === "answer" && callId(line.item) === call.call_id);
  return at < 0 ? lines.length - 1 : at;
}

function endLine(lines: readonly Line[], { call, missing }: Rail): number {
  const at = lines.findIndex((line) =>
    missing
      ? line.kind === "missing" && line.call === call
      : line.kind === "item" && line.by === "request" && isAnswer(line.item) && callId(line.item) === call.call_id,
  );
  return Math.max(0, at);
}
