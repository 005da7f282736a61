import "./diff.css";
import { useMemo, useState } from "preact/hooks";
import { JsonView } from "./json";
import { compareJson, type Difference } from "./json_difference";
import { gistOf, isObject } from "./json_rows";
import { LongText, readable } from "./Text";
import { compareTexts, type Piece } from "./text_difference";

const SHOWN_AROUND = 80;

/** Shows two texts in one: what was removed struck, what was added underlined, long parts that are the same folded. */
export function TextDiff({ was, is }: { was: string; is: string }) {
  const pieces = useMemo(() => compareTexts(was, is), [was, is]);
  return (
    <span class="text-diff">
      {pieces.map((piece, index) => (
        <DiffPiece key={index} piece={piece} first={index === 0} last={index === pieces.length - 1} />
      ))}
    </span>
  );
}

function DiffPiece({ piece, first, last }: { piece: Piece; first: boolean; last: boolean }) {
  const [open, setOpen] = useState(false);
  if (piece.sign === "removed") return <del>{readable(piece.text)}</del>;
  if (piece.sign === "added") return <ins>{readable(piece.text)}</ins>;
  const text = readable(piece.text);
  const begin = first ? 0 : SHOWN_AROUND;
  const end = last ? text.length : text.length - SHOWN_AROUND;
  if (open || end - begin < 2 * SHOWN_AROUND) return <span>{text}</span>;
  return (
    <span>
      {text.slice(0, begin)}
      <button class="json-fold dim" onClick={() => setOpen(true)}>
        … {end - begin} characters are the same …
      </button>
      {text.slice(end)}
    </span>
  );
}

/** Shows what differs between two JSON values; elements of a list are compared with those of the same identity. */
export function JsonDiff({ was, is }: { was: unknown; is: unknown }) {
  const difference = useMemo(() => compareJson(was, is), [was, is]);
  if (difference.sign === "same") return <p class="dim">No difference.</p>;
  return (
    <div class="json-diff mono">
      <DiffNode difference={difference} isTop />
    </div>
  );
}

function DiffNode({ difference, isTop = false }: { difference: Difference; isTop?: boolean }) {
  const name = difference.name || difference.path.match(/\[\d+\]$/)?.[0] || "";
  switch (difference.sign) {
    case "same":
      return null;
    case "added":
      return <Side sign="+" word="added" name={name} value={difference.is} />;
    case "removed":
      return <Side sign="−" word="removed" name={name} value={difference.was} />;
    case "changed":
      return <Changed name={name} was={difference.was} is={difference.is} />;
    case "inside":
      return (
        <div class={isTop ? "" : "diff-inside"}>
          {!isTop && (
            <div class="diff-name">
              {name} <span class="dim">{isObject(difference.is) ? gistOf(difference.is) : ""}</span>
            </div>
          )}
          <DiffParts parts={difference.parts} />
        </div>
      );
  }
}

/** Shows the parts that differ; neighbours that are the same are one line. */
function DiffParts({ parts }: { parts: readonly Difference[] }) {
  const shown = [];
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] as Difference;
    if (part.sign !== "same") {
      shown.push(<DiffNode key={index} difference={part} />);
      continue;
    }
    let end = index;
    while (parts[end]?.sign === "same") end++;
    shown.push(<Same key={index} parts={parts.slice(index, end)} />);
    index = end - 1;
  }
  return <>{shown}</>;
}

function Same({ parts }: { parts: readonly Difference[] }) {
  const names = parts.map((part) => part.name).filter(Boolean);
  const told = names.length ? `: ${names.slice(0, 5).join(", ")}${names.length > 5 ? " …" : ""}` : "";
  return (
    <div class="diff-same dim">
      {parts.length} the same{told}
    </div>
  );
}

function Changed({ name, was, is }: { name: string; was: unknown; is: unknown }) {
  if (typeof was === "string" && typeof is === "string") {
    return (
      <div class="diff-row">
        <span class="diff-sign" aria-hidden="true">
          ±
        </span>
        <span class="diff-name">{name} </span>
        <TextDiff was={was} is={is} />
      </div>
    );
  }
  if (!isBranch(was) && !isBranch(is)) {
    return (
      <div class="diff-row">
        <span class="diff-sign" aria-hidden="true">
          ±
        </span>
        <span class="diff-name">{name} </span>
        <del>{JSON.stringify(was)}</del> <ins>{JSON.stringify(is)}</ins>
      </div>
    );
  }
  return (
    <>
      <Side sign="−" word="was" name={name} value={was} />
      <Side sign="+" word="is" name={name} value={is} />
    </>
  );
}

const isBranch = (value: unknown): boolean => typeof value === "object" && value !== null;

function Side({ sign, word, name, value }: { sign: "+" | "−"; word: string; name: string; value: unknown }) {
  const tag = sign === "+" ? "diff-added" : "diff-removed";
  return (
    <div class={`diff-row ${tag}`}>
      <span class="diff-sign" aria-label={word} role="img">
        {sign}
      </span>
      <span class="diff-name">{name}</span>{" "}
      {isBranch(value) ? (
        <JsonView value={value} label={`${word} ${name}`} />
      ) : (
        <Short sign={sign} text={typeof value === "string" ? value : JSON.stringify(value)} />
      )}
    </div>
  );
}

function Short({ sign, text }: { sign: "+" | "−"; text: string }) {
  const inner = <LongText text={text} />;
  return sign === "+" ? <ins>{inner}</ins> : <del>{inner}</del>;
}
