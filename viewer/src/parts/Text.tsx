/** Texts: addresses in them are links, what stands in backticks is code, requests are linked, long ones are folded. */
import { useState } from "preact/hooks";

const MOST_CHARACTERS = 600;
const MOST_LINES = 12;
const MARKED = /(https?:\/\/[^\s<>"'`)\]}]*[^\s<>"'`)\]}.,;:!?]|`[^`\n]+`|\b(?:exchange|request) \d+\b)/;

/** The address of a request of the same test by its number; empty when there is none. */
export type LinkTo = (number: number) => string;

/** Characters that are not seen, or that turn what follows around. Those that join letters and signs are left. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Writes what is not seen as JSON does: `\\u202e`. */
export function readable(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const nowhere: LinkTo = () => "";

/** Shows a text with its links and its code; requests that it names are links where `linkTo` knows them. */
export function Linked({ text, linkTo = nowhere }: { text: string; linkTo?: LinkTo }) {
  return (
    <>
      {readable(text)
        .split(MARKED)
        .map((part, index) => (index % 2 === 0 ? part : <Marked key={index} part={part} linkTo={linkTo} />))}
    </>
  );
}

function Marked({ part, linkTo }: { part: string; linkTo: LinkTo }) {
  if (part.startsWith("`")) return <code>{part.slice(1, -1)}</code>;
  if (part.startsWith("http"))
    return (
      <a href={part} target="_blank" rel="noopener noreferrer">
        {shortAddress(part)} ↗
      </a>
    );
  const number = part.split(" ")[1] ?? "";
  const address = linkTo(Number(number));
  return address ? <a href={address}>request {number}</a> : part;
}

function shortAddress(address: string): string {
  return address.replace(/^https?:\/\/(www\.)?/, "").replace(/^github\.com\/([^/]+\/[^/]+)\/(issues|pull|discussions)\//, "$1#");
}

/** Shows a text whole, or its beginning with a button that shows the rest; with `linkTo` it is a text of ours, whose links are shown. */
export function LongText({ text, most = MOST_CHARACTERS, linkTo }: { text: string; most?: number; linkTo?: LinkTo }) {
  const [open, setOpen] = useState(false);
  const shown = open ? text : beginning(text, most);
  const rest = text.length - shown.length;
  const content = linkTo ? <Linked text={shown} linkTo={linkTo} /> : readable(shown);
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
  const end = text.length > most * 1.3 ? most : text.length;
  let line = -1;
  for (let count = 0; count < MOST_LINES; count++) {
    line = text.indexOf("\n", line + 1);
    if (line < 0) return text.slice(0, end);
  }
  const left = text.length - line;
  return left > most / 4 ? text.slice(0, Math.min(end, line)) : text.slice(0, end);
}
