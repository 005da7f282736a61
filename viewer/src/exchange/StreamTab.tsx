/** A stream: a row an event with its time and its pieces, and the item as it grows. */
import { useMemo } from "preact/hooks";
import { setQuery, useAddress } from "../address";
import type { OpenedEvent, OpenedExchange } from "../data/opened";
import { useKeys } from "../keys";
import { ItemView, speakerOf } from "../parts/item";
import { JsonView } from "../parts/json";
import { isObject } from "../parts/json_rows";
import { VirtualList } from "../parts/VirtualList";
import { grow } from "./grow";
import { placesOf } from "./Problems";
import type { FoundAt } from "./places";
import type { Shown } from "./shown";
import { duration } from "./times";

const MEASURED = "Times since the first byte, measured when the last byte of each event was handed to the socket.";
const PLANNED = "Times since the first byte, as planned by the turn or as recorded.";
/** A wait as long as this fills the bar. */
const LONGEST_BAR = 100;

export function StreamTab(shown: Shown) {
  const { exchange } = shown;
  const events = useMemo(() => exchange.events, [exchange]);
  if (!events || events.length === 0) {
    return <p class="dim">Not streamed. {exchange.shown.events ? "No event was sent." : "See the whole answer in the tab Answer."}</p>;
  }
  return <Stream exchange={exchange} events={events} wrong={placesOf(shown, "stream")} />;
}

interface StreamProps {
  readonly exchange: OpenedExchange;
  readonly events: readonly OpenedEvent[];
  readonly wrong: readonly FoundAt[];
}

function Stream({ exchange, events, wrong }: StreamProps) {
  const { query } = useAddress();
  const last = events.length - 1;
  const asked = query.get("event");
  const first = wrong[0]?.event ?? last;
  const selected = Math.min(Math.max(asked === null ? first : Number(asked) || 0, 0), last);
  const see = (index: number) => setQuery({ event: Math.min(Math.max(index, 0), last) });
  useKeys({
    j: ["the next event", () => see(selected + 1)],
    k: ["the previous event", () => see(selected - 1)],
    ArrowDown: ["the next event", () => see(selected + 1)],
    ArrowUp: ["the previous event", () => see(selected - 1)],
  });
  const waits = useMemo(() => waitsOf(events), [events]);
  const longest = Math.max(...waits, 1);
  const undelivered = events.findIndex((event) => !event.delivered);
  const isTimed = events.some(({ at }) => at !== null);
  return (
    <div class={isTimed ? "stream" : "stream stream-untimed"}>
      <section class="stream-events scrolls" tabIndex={0} aria-label="Events">
        {isTimed && <p class="stream-times dim">{exchange.shown.edge.measured ? MEASURED : PLANNED}</p>}
        <VirtualList
          items={events}
          keyOf={(_, index) => String(index)}
          estimate={30}
          label="events"
          selected={asked === null ? undefined : selected}
          render={(event, index) => (
            <>
              {index === undelivered && <Cut exchange={exchange} />}
              <EventRow
                event={event}
                index={index}
                wrong={wrong.find((found) => found.event === index)?.finding.message ?? ""}
                wait={(waits[index] ?? 0) / longest}
                selected={index === selected}
                see={() => see(index)}
              />
            </>
          )}
        />
        {undelivered < 0 && <Cut exchange={exchange} />}
      </section>
      <section class="stream-grown" aria-label="The answer so far">
        <Stepper index={selected} count={events.length} see={see} />
        <Grown events={events} selected={selected} wrong={wrong.find((found) => found.event === selected)} />
      </section>
    </div>
  );
}

/** How long each event was waited for. */
function waitsOf(events: readonly OpenedEvent[]): number[] {
  let before = 0;
  return events.map(({ at }) => {
    const wait = at === null ? 0 : Math.max(0, at - before);
    before = at ?? before;
    return wait;
  });
}

function Cut({ exchange }: { exchange: OpenedExchange }) {
  const { cut, left } = exchange.shown.edge;
  if (!cut && left === null) return null;
  return <p class="stream-cut wrong">✂ {cut ? `cut here: ${cut}` : "the client disconnected here"}</p>;
}

interface EventRowProps {
  readonly event: OpenedEvent;
  readonly index: number;
  /** What is wrong with it; empty when nothing is. */
  readonly wrong: string;
  /** The wait before it, as a part of the longest. */
  readonly wait: number;
  readonly selected: boolean;
  readonly see: () => void;
}

function EventRow({ event, index, wrong, wait, selected, see }: EventRowProps) {
  const pieces = piecesOf(event);
  return (
    <button
      class={`event ${selected ? "event-selected" : ""} ${event.delivered ? "" : "event-undelivered"} ${wrong && "event-wrong"}`}
      aria-current={selected ? "true" : undefined}
      onClick={see}
    >
      <span class="event-number dim">{index + 1}</span>
      <span class="event-time">
        {event.at === null ? "" : duration(event.at)}
        <span class="event-wait" style={{ width: `${Math.round(wait * LONGEST_BAR)}%` }} />
      </span>
      <span class="event-type mono">{typeOf(event.event)}</span>
      <span class="event-gist mono dim">
        {event.delivered ? gistOf(event.event) : "not delivered"}
        {wrong && <b class="wrong"> ✗ {wrong}</b>}
        {pieces && <span class="doubtful"> ! {pieces}</span>}
      </span>
    </button>
  );
}

/** How an event went out: in several pieces, or only its beginning. */
function piecesOf({ chunks, delivered }: OpenedEvent): string {
  const sizes = `${chunks.join(" + ")} B`;
  if (!delivered) return chunks.length > 0 ? `only ${sizes} of it` : "";
  return chunks.length > 1 ? `in ${chunks.length} pieces: ${sizes}` : "";
}

function typeOf(event: unknown): string {
  if (typeof event === "string") return event;
  if (!isObject(event)) return "event";
  for (const name of ["type", "event", "object"]) if (typeof event[name] === "string") return event[name].replace(/^response\./, "");
  return "event";
}

function gistOf(event: unknown): string {
  if (!isObject(event)) return "";
  if (typeof event.delta === "string") return JSON.stringify(event.delta);
  if (typeof event.text === "string") return JSON.stringify(event.text);
  if (isObject(event.item)) return speakerOf(event.item);
  const choice: unknown = Array.isArray(event.choices) ? event.choices[0] : null;
  if (isObject(choice) && isObject(choice.delta) && typeof choice.delta.content === "string") return JSON.stringify(choice.delta.content);
  return "";
}

function Stepper({ index, count, see }: { index: number; count: number; see: (index: number) => void }) {
  return (
    <p class="stepper">
      <button onClick={() => see(index - 1)} disabled={index === 0} aria-label="the previous event">
        ‹
      </button>
      <input type="range" min={0} max={count - 1} value={index} onInput={(event) => see(Number(event.currentTarget.value))} aria-label="event" />
      <button onClick={() => see(index + 1)} disabled={index === count - 1} aria-label="the next event">
        ›
      </button>
      <span class="dim">
        event {index + 1} of {count}
      </span>
    </p>
  );
}

function Grown({ events, selected, wrong }: Omit<StreamProps, "exchange" | "wrong"> & { selected: number; wrong: FoundAt | undefined }) {
  const grown = useMemo(() => grow(events.slice(0, selected + 1).map(({ event }) => event)), [events, selected]);
  const event = events[selected]?.event ?? null;
  return (
    <>
      <h2>The answer so far {grown.status && <span class="dim">{grown.status}</span>}</h2>
      {grown.items.length === 0 && <p class="dim">No item yet.</p>}
      {grown.items.map((item, index) => (
        <div key={index} class={`item ${index === grown.touched ? "item-grows" : ""}`}>
          <p class="item-head">
            <b>{speakerOf(item)}</b>
          </p>
          <ItemView item={item} />
        </div>
      ))}
      <h2>This event</h2>
      {wrong && <p class="wrong prose">✗ {wrong.finding.message}</p>}
      {wrong?.at ? <JsonView value={event} at={wrong.at} note={wrong.finding.message} label="event" /> : <JsonView value={event} label="event" />}
    </>
  );
}
