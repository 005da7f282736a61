/** The bodies as they were sent: the request with its refusal at its place, and the answer. */
import type { OpenedExchange } from "../data/opened";
import { sizeOf } from "../parts/base64";
import { Copy, Download } from "../parts/Copy";
import { JsonView } from "../parts/json";
import { isObject } from "../parts/json_rows";
import { placesOf } from "./Problems";
import type { FoundAt } from "./places";
import type { Shown } from "./shown";

const write = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

export function SentTab(shown: Shown) {
  const { opened, exchange } = shown;
  const { error, at } = exchange.shown;
  const found = error ? { at, message: error } : firstOf(placesOf(shown, "sent"));
  const request = exchange.request;
  return (
    <>
      <BodyActs name={`${opened.row.name}-${exchange.number}-request.json`} value={request} />
      {isObject(exchange.query) && Object.keys(exchange.query).length > 0 && (
        <>
          <h2>Query</h2>
          <JsonView value={exchange.query} label="query" />
          <h2>Body</h2>
        </>
      )}
      <Body value={request} at={found?.at ?? ""} note={found?.message ?? ""} empty="The request has no body." />
    </>
  );
}

/** The place that is marked: a body has one, the others are told above it. */
function firstOf(places: readonly FoundAt[]): { at: string; message: string } | undefined {
  const [first] = places;
  return first && { at: first.at, message: first.finding.message };
}

export function AnswerTab(shown: Shown) {
  const { opened, exchange } = shown;
  const found = firstOf(placesOf(shown, "answer"));
  return (
    <>
      <BodyActs name={`${opened.row.name}-${exchange.number}-answer.json`} value={exchange.answer} />
      {exchange.shown.events && <p class="dim">The answer at the end of its stream; the events are in the tab Stream.</p>}
      <Body value={exchange.answer} at={found?.at ?? ""} note={found?.message ?? ""} empty="The answer has no body." />
      <Unfinished exchange={exchange} />
    </>
  );
}

function Body({ value, at = "", note = "", empty }: { value: unknown; at?: string; note?: string; empty: string }) {
  if (value === null || value === undefined) return <p class="dim">{empty}</p>;
  return at ? <JsonView value={value} at={at} note={note} /> : <JsonView value={value} />;
}

function BodyActs({ name, value }: { name: string; value: unknown }) {
  if (value === null) return null;
  return (
    <p class="acts">
      <Copy text={() => write(value)} label="copy the body" />
      <Download name={name} text={() => write(value)} label="download" type="application/json" />
    </p>
  );
}

function Unfinished({ exchange }: { exchange: OpenedExchange }) {
  const { cut, bytes } = exchange.shown.edge;
  if (!cut) return null;
  return (
    <p class="wrong">
      ✗ Cut: {cut}
      {bytes === null ? "" : `, after ${sizeOf(bytes)}`}
    </p>
  );
}
