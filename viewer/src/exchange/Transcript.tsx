/** The items that the model saw, oldest first, each with where it came from; what is lost, doubled, edited or refused is marked. */
import { useMemo, useState } from "preact/hooks";
import { link, useAddress } from "../address";
import type { OpenedCase, OpenedItem } from "../data/opened";
import { count } from "../format";
import { JsonDiff, TextDiff } from "../parts/diff";
import { ItemView, speakerOf } from "../parts/item";
import { isObject } from "../parts/json_rows";
import { Linked } from "../parts/Text";
import { VirtualList } from "../parts/VirtualList";
import type { Shown } from "./shown";
import { type FoldRow, ranges, rowsOfTranscript, type TranscriptRow } from "./transcript_rows";

const WORDS: { readonly [mark: string]: string } = {
  lost: "lost: it is not in this request",
  doubled: "doubled: it repeats an earlier item",
  edited: "edited: it was reworded",
  refused: "refused",
};

export function Transcript({ run, opened, exchange }: Shown) {
  const { query } = useAddress();
  const items = useMemo(() => exchange.transcript, [exchange]);
  const [folds, setFolds] = useState<ReadonlySet<number>>(new Set());
  const asked = query.get("item");
  const wanted = asked === null ? items.findIndex((item) => item.mark) : Number(asked);
  const rows = useMemo(() => rowsOfTranscript(items, folds, wanted), [items, folds, wanted]);
  if (items.length === 0) return <Nothing exchange={exchange} />;

  const toggle = (row: FoldRow): void => {
    const changed = new Set(folds);
    if (!changed.delete(row.index)) changed.add(row.index);
    setFolds(changed);
  };
  const selected = asked === null ? -1 : rows.findIndex((row) => row.kind === "item" && row.index === wanted);
  const shown = { run, opened, exchange };
  return (
    <VirtualList<TranscriptRow>
      items={rows}
      keyOf={(row) => `${row.kind}${row.index}`}
      estimate={72}
      selected={selected < 0 ? undefined : selected}
      label="items"
      render={(row) =>
        row.kind === "fold" ? (
          <Fold row={row} toggle={() => toggle(row)} />
        ) : (
          <Item {...shown} item={row.item} index={row.index} wanted={asked !== null && row.index === wanted} />
        )
      }
    />
  );
}

function Nothing({ exchange }: { exchange: Shown["exchange"] }) {
  const { operation, gist } = exchange.shown;
  return (
    <p class="dim">
      No model request was made{operation ? ` by ${operation}` : ""}. {gist}
    </p>
  );
}

function Fold({ row, toggle }: { row: FoldRow; toggle: () => void }) {
  const from = row.said.length ? `, from request${row.said.length > 1 ? "s" : ""} ${ranges(row.said)}` : "";
  return (
    <button class="quiet fold" onClick={toggle} aria-expanded={row.open}>
      {row.open ? "▾" : "▸"} {count(row.count, "item")} as before{from}
    </button>
  );
}

interface ItemProps extends Shown {
  readonly item: OpenedItem;
  readonly index: number;
  readonly wanted: boolean;
}

function Item({ run, opened, exchange, item, index, wanted }: ItemProps) {
  const finding = item.finding === null ? undefined : opened.findings[item.finding];
  const rule = finding?.rule || (item.mark === "refused" ? exchange.shown.rule : "");
  const message = item.mark === "refused" ? exchange.shown.error : finding?.message;
  const shown = item.mark === "lost" && item.item === null ? item.was : item.item;
  return (
    <article class={`item ${item.mark ? "item-marked" : ""} ${wanted ? "item-wanted" : ""}`} data-mark={item.mark}>
      <p class="item-head">
        <a class="item-speaker" href={link.case(opened.id, exchange.number, "transcript", { item: index })}>
          {speakerOf(shown)}
        </a>
        <Origin opened={opened} item={item} />
      </p>
      {item.mark && (
        <p class="item-mark wrong">
          <span aria-hidden="true">✗ </span>
          {WORDS[item.mark] ?? item.mark}
          {message && (
            <span class="item-why">
              {" · "}
              <Linked text={message} />
            </span>
          )}
          {rule && run.documented[rule] && (
            <>
              {" "}
              <a href={link.rule(rule)}>{rule}</a>
            </>
          )}
        </p>
      )}
      {item.mark === "lost" ? (
        <del class="item-lost">
          <ItemView item={shown} />
        </del>
      ) : item.mark === "edited" && item.was !== null ? (
        <Edited was={item.was} is={item.item} />
      ) : (
        <ItemView item={item.item} />
      )}
    </article>
  );
}

const ORIGINS: { readonly [origin: string]: string } = {
  instructions: "instructions",
  input: "new",
  resent: "sent again",
  chain: "via previous_response_id",
  conversation: "from the conversation",
};

function Origin({ opened, item }: { opened: OpenedCase; item: OpenedItem }) {
  return (
    <span class="item-origin dim">
      {item.at && <span class="mono">{item.at}</span>} {ORIGINS[item.origin] ?? item.origin}
      {item.said > 0 && (
        <>
          , from <a href={link.case(opened.id, item.said)}>request {item.said}</a>
        </>
      )}
    </span>
  );
}

function Edited({ was, is }: { was: unknown; is: unknown }) {
  const before = textOf(was);
  const after = textOf(is);
  if (before === null || after === null || before === after) return <JsonDiff was={was} is={is} />;
  return (
    <p class="prose">
      <TextDiff was={before} is={after} />
    </p>
  );
}

/** The text of a message whose content is text alone; null for anything else. */
function textOf(item: unknown): string | null {
  if (!isObject(item)) return null;
  if (typeof item.output === "string") return item.output;
  if (typeof item.content === "string") return item.content;
  if (!Array.isArray(item.content)) return null;
  const parts = item.content.map((part: unknown) => (isObject(part) && typeof part.text === "string" ? part.text : null));
  return parts.includes(null) ? null : parts.join("\n");
}
