import "./json.css";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { readBase64, sizeOf } from "./base64";
import { gistOf, leadsTo, nearest, type Row, rowsOf } from "./json_rows";
import { LongText } from "./Text";
import { VirtualList } from "./VirtualList";

const MOST_ROWS = 300;
const INDENT = 16;

interface JsonViewProps {
  readonly value: unknown;
  /** The place that is marked and scrolled to; a place that is missing marks where it is missed. */
  readonly at?: string;
  /** The words beside the marked place. */
  readonly note?: ComponentChildren;
  /** What the value is, for those who do not see it. */
  readonly label?: string;
}

/** Shows a JSON value: highlighted, nulls folded, long texts wrapped, pictures as pictures; long ones only where they are seen. */
export function JsonView({ value, at = "", note, label = "JSON" }: JsonViewProps) {
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const marked = useMemo(() => (at ? nearest(value, at) : null), [value, at]);
  const rows = useMemo(() => rowsOf(value, toggled, marked ?? ""), [value, toggled, marked]);
  const markedIndex = marked === null ? -1 : rows.findIndex((row) => row.path === marked);
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => place.current?.scrollIntoView({ block: "center" }), [value, at]);

  const toggle = (row: Row): void => {
    setToggled(new Map(toggled).set(row.path, row.shape === "closed" || row.shape === "nulls"));
  };
  const render = (row: Row, index: number) => (
    <JsonRow
      key={`${row.path}${row.shape}`}
      row={row}
      toggle={toggle}
      mark={index === markedIndex ? "at" : marked && leadsTo(marked, row.path) ? "within" : ""}
      note={index === markedIndex ? note : null}
      place={index === markedIndex ? place : null}
    />
  );
  if (rows.length <= MOST_ROWS) {
    return (
      <div class="json mono" role="group" aria-label={label}>
        {rows.map(render)}
      </div>
    );
  }
  return (
    <div class="json mono" role="group" aria-label={label}>
      <VirtualList
        items={rows}
        keyOf={(row) => `${row.path}${row.shape}`}
        estimate={21}
        render={render}
        {...(markedIndex >= 0 ? { selected: markedIndex } : {})}
        label={label}
      />
    </div>
  );
}

interface JsonRowProps {
  readonly row: Row;
  readonly toggle: (row: Row) => void;
  readonly mark: "" | "at" | "within";
  readonly note: ComponentChildren;
  readonly place: { current: HTMLDivElement | null } | null;
}

function JsonRow({ row, toggle, mark, note, place }: JsonRowProps) {
  const shift = { paddingLeft: `${row.depth * INDENT + INDENT}px` };
  return (
    <div class={`json-row ${mark && `json-${mark}`}`} ref={place} data-path={row.path}>
      <div class="json-line" style={shift}>
        {row.name && <span class="json-key">{JSON.stringify(row.name)}: </span>}
        <RowValue row={row} toggle={() => toggle(row)} />
        {row.more && row.shape !== "open" && row.shape !== "nulls" ? "," : ""}
      </div>
      {note && (
        <div class="json-note" style={shift}>
          <span aria-hidden="true">✗ </span>
          {note}
        </div>
      )}
    </div>
  );
}

function RowValue({ row, toggle }: { row: Row; toggle: () => void }) {
  const [begin, end] = Array.isArray(row.value) ? "[]" : "{}";
  switch (row.shape) {
    case "leaf":
      return <Leaf value={row.value} />;
    case "end":
      return <>{end}</>;
    case "nulls":
      return (
        <button class="json-fold dim" onClick={toggle} title={row.names.join(", ")}>
          {row.names.length} nulls: {row.names.slice(0, 4).join(", ")}
          {row.names.length > 4 ? " …" : ""}
          {row.more ? "," : ""}
        </button>
      );
    case "open":
      return (
        <button class="json-fold" onClick={toggle} aria-expanded="true" aria-label={`fold ${row.path || "all"}`}>
          {begin}
        </button>
      );
    case "closed":
      return (
        <button class="json-fold" onClick={toggle} aria-expanded="false">
          {begin} <span class="dim">{gistOf(row.value)}</span> {end}
        </button>
      );
  }
}

function Leaf({ value }: { value: unknown }) {
  if (typeof value === "string") return <StringLeaf text={value} />;
  if (typeof value === "number") return <span class="json-number">{String(value)}</span>;
  return <span class="json-word">{JSON.stringify(value)}</span>;
}

/** Shows a text of JSON: a picture, the size of other base64, or the text with its line breaks, folded when long. */
function StringLeaf({ text }: { text: string }) {
  const encoded = useMemo(() => readBase64(text), [text]);
  const [raw, setRaw] = useState(false);
  if (!encoded || raw) {
    return (
      <span class="json-string">
        "<LongText text={text} />"
      </span>
    );
  }
  return <Base64 encoded={encoded} raw={() => setRaw(true)} />;
}

function Base64({ encoded, raw }: { encoded: { type: string; bytes: number; picture: string }; raw: () => void }) {
  return (
    <span class="json-encoded">
      {encoded.picture && <img src={encoded.picture} alt={`the picture that is encoded, ${sizeOf(encoded.bytes)}`} />}
      <button class="json-fold dim" onClick={raw}>
        {encoded.type || "base64"}, {sizeOf(encoded.bytes)}
      </button>
    </span>
  );
}

/** Shows a picture or the size when a text is base64, else null. */
export function Picture({ text }: { text: string }) {
  const encoded = useMemo(() => readBase64(text), [text]);
  if (!encoded) return null;
  if (!encoded.picture) return <span class="dim">{`${encoded.type || "base64"}, ${sizeOf(encoded.bytes)}`}</span>;
  return <img class="picture" src={encoded.picture} alt={`a picture, ${sizeOf(encoded.bytes)}`} />;
}
