/** A turn: what a request added, what was answered; beside each line the rails of the calls. */
import { useState } from "preact/hooks";
import { link } from "../address";
import { LiveSource } from "../data/live";
import type { OpenedCase, OpenedExchange } from "../data/opened";
import { isObject, type Json } from "../data/pool";
import { useSource } from "../data/use";
import { count, milliseconds } from "../format";
import type { AnsweredBy, ShownCall, ShownDelivery, ShownExchange } from "../model";
import { Copy } from "../parts/Copy";
import { Sign } from "../parts/Sign";
import { LongText } from "../parts/Text";
import { type Line, linesOf, sumUp } from "./lines";
import { missingIn, type Rail, type Rails, type Segment, segmentsAt } from "./rails";

const SHOWN = 420;

interface Shape {
  readonly opened: OpenedCase;
  readonly exchange: OpenedExchange;
  readonly rails: Rails;
  readonly unfolded: boolean;
  readonly unfold: (number: number) => void;
}

export function Card({ opened, exchange, rails, unfolded, unfold }: Shape) {
  const { shown } = exchange;
  const lines = linesOf(opened, exchange, missingIn(rails, shown.number), unfolded);
  const ended = endOf(lines);
  return (
    <article class="card" aria-label={`Request ${shown.number}`}>
      <div class="card-lines">
        <div class="card-head">
          <CardHead opened={opened} exchange={exchange} />
          <Tracks rails={rails} lane={shown.lane} segments={segmentsAt(rails, shown.lane, shown.number, lines, -1)} number={shown.number} />
        </div>
        {lines.map((line, index) => (
          <div key={index} class={`turn-line ${line.kind === "item" ? `of-${line.by}` : `of-${line.kind}`} ${index === ended ? "divided" : ""}`}>
            <div class="what">
              <LineText line={line} opened={opened} exchange={exchange} rails={rails} unfold={() => unfold(shown.number)} />
              {index === lines.length - 1 && <ScriptedLine by={shown.answered_by} />}
            </div>
            <Tracks rails={rails} lane={shown.lane} segments={segmentsAt(rails, shown.lane, shown.number, lines, index)} number={shown.number} />
          </div>
        ))}
      </div>
      <Scripted by={shown.answered_by} />
    </article>
  );
}

/** Finds the first line of the answer. */
function endOf(lines: readonly Line[]): number {
  return lines.findIndex((line) => (line.kind === "item" && line.by === "answer") || line.kind === "error" || line.kind === "status");
}

function CardHead({ opened, exchange: { shown } }: { opened: OpenedCase; exchange: OpenedExchange }) {
  const { arrived, last_byte: ended } = shown.edge;
  return (
    <p class="row dim small">
      <a href={link.case(opened.id, shown.number)}>{shown.number}</a>
      {opened.lanes.length > 1 && (
        <span class="lane-name" style={{ color: laneColour(shown.lane) }}>
          ■ {opened.lanes[shown.lane]}
        </span>
      )}
      {arrived !== null && <span>+{milliseconds(arrived)}</span>}
      {arrived !== null && ended !== null && <span>took {milliseconds(ended - arrived)}</span>}
      {!isPlain(shown) && (
        <span class="mono">
          {shown.method} {shown.path}
        </span>
      )}
    </p>
  );
}

/** Whether a request is the usual one, so that its path says nothing. */
const isPlain = ({ method, path }: ShownExchange) => method === "POST" && /\/responses$/.test(path.split("?")[0] ?? "");

export const laneColour = (lane: number) => `var(--lane-${lane % 8})`;

interface LineShape {
  readonly line: Line;
  readonly opened: OpenedCase;
  readonly exchange: OpenedExchange;
  readonly rails: Rails;
  readonly unfold: () => void;
}

function LineText({ line, opened, exchange, rails, unfold }: LineShape) {
  switch (line.kind) {
    case "before":
      return (
        <button class="act dim" aria-expanded={line.opened} onClick={unfold}>
          {line.opened ? "▾" : "▸"} {count(line.count, "item")} as before
        </button>
      );
    case "more":
      return (
        <button class="act dim" aria-expanded={false} onClick={unfold}>
          ▸ {count(line.count, "item")} more added by this request
        </button>
      );
    case "item":
      return <ItemLine line={line} opened={opened} rails={rails} />;
    case "mark": {
      const { sign, label, text } = sumUp(line.item.mark === "lost" ? (line.item.was ?? line.item.item) : line.item.item);
      return (
        <a class="marked" href={link.case(opened.id, exchange.number, "transcript")}>
          <Sign of="wrong" label={line.item.mark} /> <strong class="wrong">{line.item.mark}</strong>{" "}
          <b>
            {sign} {label}
          </b>{" "}
          <span class="wrap">{text.slice(0, 200)}</span>
        </a>
      );
    }
    case "missing":
      return (
        <span class="wrong">
          <Sign of="wrong" /> no output for <b>{line.call.name}</b> <span class="mono">{line.call.call_id}</span>
        </span>
      );
    case "request":
      return <span class="wrap">{line.text}</span>;
    case "error":
      return (
        <a class={line.asked ? "dim" : "wrong"} href={link.case(opened.id, exchange.number)}>
          <Sign of={line.asked ? "neutral" : "wrong"} label="refused" /> <span class="wrap">{line.text}</span>
          {line.asked && " (expected)"}
        </a>
      );
    case "status":
      return (
        <span>
          <Sign of="open" label="" /> response <b>{line.text}</b>
        </span>
      );
    case "delivery":
      return <Delivered delivery={line.delivery} />;
    case "edge":
      return (
        <span class="doubtful">
          <Sign of="doubtful" /> {line.text}
        </span>
      );
  }
}

/** An event that was sent to a webhook, and what its receiver answered. */
function Delivered({ delivery }: { delivery: ShownDelivery }) {
  const { event, url, attempt, status, error, signature } = delivery;
  const accepted = status !== null && status >= 200 && status < 300;
  return (
    <>
      <Sign of={accepted ? "right" : "doubtful"} label={accepted ? "accepted" : "not accepted"} /> webhook <b>{event}</b> <span class="mono wrap">{url}</span>{" "}
      <span class="dim small">
        {status ?? error}
        {attempt > 1 && ` · attempt ${attempt}`}
        {signature && signature !== "valid" && ` · signature ${signature}`}
      </span>
    </>
  );
}

const placeOf = ({ turn, file, line }: AnsweredBy) => `${turn ? `turn ${turn} · ` : ""}${file}${line ? `:${line}` : ""}`;

/** The statement of the test that scripted a turn, beside it. */
function Scripted({ by }: { by: AnsweredBy | null }) {
  if (!by?.file) return null;
  return (
    <p class="scripted small">
      <span class="dim">{placeOf(by)}</span>
      {by.source && <code class="wrap">{by.source}</code>}
    </p>
  );
}

/** The same in one line below it, where agents stand side by side or there is no room beside it. */
function ScriptedLine({ by }: { by: AnsweredBy | null }) {
  if (!by?.file) return null;
  return (
    <p class="scripted-line small dim" title={by.source}>
      {placeOf(by)} <code>{by.source}</code>
    </p>
  );
}

function ItemLine({ line, opened, rails }: { line: Extract<Line, { kind: "item" }>; opened: OpenedCase; rails: Rails }) {
  const { sign, label, text, wire } = sumUp(line.item, line.call);
  return (
    <>
      <b class="who">
        {sign && <span class="dim">{sign} </span>}
        {label}
      </b>{" "}
      <span class={wire ? "mono wrap" : "wrap"}>
        <LongText text={text} most={SHOWN} />
      </span>
      {line.call && line.by !== "before" && !isRemote(line.item) && (
        <CallTags call={line.call} made={line.by === "answer"} opened={opened} output={outputOf(line.call, opened, rails)} />
      )}
    </>
  );
}

/** Whether the API made the call itself; what was decided about it stands where it was asked. */
const isRemote = (item: Json) => isObject(item) && item["type"] === "mcp_call";

/** Says of a call that nobody answered whether its output may still come: of a World that lives. */
function outputOf(call: ShownCall, opened: OpenedCase, rails: Rails): "came" | "missing" | "waits" {
  if (call.approval || !rails.unanswered.has(call.call_id)) return "came";
  return opened.row.outcome === "open" && !rails.missing.has(call.call_id) ? "waits" : "missing";
}

interface TagsShape {
  readonly call: ShownCall;
  readonly made: boolean;
  readonly opened: OpenedCase;
  readonly output: "came" | "missing" | "waits";
}

function CallTags({ call, made, opened, output }: TagsShape) {
  const twice = call.executed > 1 && !made;
  const again = made && call.answered.length > 1;
  return (
    <span class="tags small">
      {made && call.approval && <span class={call.approval === "approved" ? "right" : "doubtful"}>{APPROVALS[call.approval] ?? call.approval}</span>}
      {made && call.approval === "waiting" && <Decisions id={call.call_id} world={opened.id} />}
      {made && output === "missing" && <span class="wrong">no output ✗</span>}
      {made && output === "waits" && <span class="dim">no output yet</span>}
      {twice && <span class="wrong">executed ×{call.executed}</span>}
      {again && (
        <span class="doubtful">
          answered in{" "}
          {call.answered.map((number) => (
            <a key={number} href={link.case(opened.id, number)}>
              {" "}
              {number}
            </a>
          ))}
        </span>
      )}
    </span>
  );
}

/** The client decides about an approval, in its next request: what that has to say can be copied, or sent in its place. */
function Decisions({ id, world }: { id: string; world: string }) {
  const source = useSource();
  const [problem, setProblem] = useState("");
  const decision = (approve: boolean) => JSON.stringify({ type: "mcp_approval_response", approval_request_id: id, approve });
  const send = (approve: boolean) => async () => {
    if (!(source instanceof LiveSource)) return;
    setProblem(await source.act("POST", "/decide", world, { approval: id, approve }).then(() => "", String));
  };
  return (
    <>
      {source instanceof LiveSource && (
        <button class="act" onClick={send(true)}>
          approve
        </button>
      )}
      {source instanceof LiveSource && (
        <button class="act" onClick={send(false)}>
          deny
        </button>
      )}
      <Copy label="copy approval" text={() => decision(true)} />
      <Copy label="copy denial" text={() => decision(false)} />
      {problem && (
        <span class="wrong wrap" role="alert">
          {problem}
        </span>
      )}
    </>
  );
}

const APPROVALS: { readonly [decision: string]: string } = {
  approved: "✓ approved by the client",
  denied: "✗ denied by the client",
  waiting: "● waiting for approval",
};

export function Tracks({ rails, lane, segments, number }: { rails: Rails; lane: number; segments: readonly Segment[]; number: number }) {
  const crossed = segments.findLastIndex((segment) => segment === "start" || segment === "end");
  const rail = (track: number): Rail | undefined => rails.at.get(number)?.find((known) => known.lane === lane && known.track === track);
  return (
    <div class="tracks" aria-hidden="true">
      {segments.map((segment, track) => (
        <i
          key={track}
          class={`${segment} ${track < crossed ? "crossed" : ""} ${rail(track)?.missing ? "wrong" : ""}`}
          style={{ "--across": rail(crossed)?.missing ? "var(--wrong)" : "currentColor" }}
        />
      ))}
    </div>
  );
}
