/** Texts: addresses in them are links, long ones are folded. */
import { useState } from "preact/hooks";

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

/** A text of which the beginning is shown, and the rest when it is wanted. */
export function LongText({ text, limit = 600 }: { text: string; limit?: number }) {
  const [whole, setWhole] = useState(false);
  if (whole || text.length <= limit * 1.2) return <Linked text={text} />;
  return (
    <>
      {text.slice(0, limit)}…{" "}
      <button class="act" onClick={() => setWhole(true)}>
        {(text.length - limit).toLocaleString("en")} characters more
      </button>
    </>
  );
}
