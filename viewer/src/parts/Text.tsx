/** Texts: addresses in them are links, long ones are folded. */
import { useState } from "preact/hooks";

const MOST_CHARACTERS = 600;
const MOST_LINES = 12;
const ADDRESS = /(https?:\/\/[^\s<>"'`)\]}]*[^\s<>"'`)\]}.,;:!?])/;

export function Linked({ text }: { text: string }) {
  return (
    <>
      {text.split(ADDRESS).map((part, index) =>
        index % 2 ? (
          <a key={index} href={part} target="_blank" rel="noopener noreferrer">{shortAddress(part)} ↗</a>
        ) : (
          part
        ),
      )}
    </>
  );
}

function shortAddress(address: string): string {
  return address.replace(/^https?:\/\/(www\.)?/, "").replace(/^github\.com\/([^/]+\/[^/]+)\/(issues|pull|discussions)\//, "$1#");
}

/** Shows a text whole, or its beginning with a button that shows the rest. */
export function LongText({ text, most = MOST_CHARACTERS, links = false }: { text: string; most?: number; links?: boolean }) {
  const [open, setOpen] = useState(false);
  const shown = open ? text : beginning(text, most);
  const rest = text.length - shown.length;
  const content = links ? <Linked text={shown} /> : shown;
  if (text.length === shown.length && !open) return <span class="long-text">{content}</span>;
  return (
    <span class="long-text">
      {content}
      <button class="json-fold dim" onClick={() => setOpen(!open)} aria-expanded={open}>
        {open ? " fold" : ` … ${rest.toLocaleString("en")} more characters`}
      </button>
    </span>
  );
}

function beginning(text: string, most: number): string {
  let end = text.length > most * 1.3 ? most : text.length;
  let line = -1;
  for (let count = 0; count < MOST_LINES; count++) {
    line = text.indexOf("\n", line + 1);
    if (line < 0) return text.slice(0, end);
  }
  const left = text.length - line;
  return left > most / 4 ? text.slice(0, Math.min(end, line)) : text.slice(0, end);
}
