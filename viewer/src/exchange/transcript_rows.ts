/** The transcript as rows: what an earlier request had is folded, what is new or wrong stands for itself. */
import type { OpenedItem } from "../data/opened";

export interface ItemRow {
  readonly kind: "item";
  readonly index: number;
  readonly item: OpenedItem;
}

export interface FoldRow {
  readonly kind: "fold";
  readonly index: number;
  readonly count: number;
  /** The requests that said the items first, ascending. */
  readonly said: readonly number[];
  readonly open: boolean;
}

export type TranscriptRow = ItemRow | FoldRow;

const FOLDED = 3;
const EARLIER = new Set(["resent", "chain", "conversation"]);

/** Whether an item was there before and nothing is wrong with it. */
const isOld = (item: OpenedItem | undefined): boolean => item !== undefined && EARLIER.has(item.origin) && !item.mark;

/** The rows of a transcript. `opened` are the indexes of the folds that the reader opened; `wanted` is never folded. */
export function rowsOfTranscript(items: readonly OpenedItem[], opened: ReadonlySet<number>, wanted: number): TranscriptRow[] {
  const rows: TranscriptRow[] = [];
  for (let index = 0; index < items.length; ) {
    let end = index;
    while (isOld(items[end])) end++;
    const isFolded = end - index >= FOLDED;
    if (isFolded) {
      const holdsWanted = index <= wanted && wanted < end;
      const said = [...new Set(items.slice(index, end).map((item) => item.said))].filter(Boolean).sort((a, b) => a - b);
      const open = opened.has(index) !== holdsWanted;
      rows.push({ kind: "fold", index, count: end - index, said, open });
      if (!open) {
        index = end;
        continue;
      }
    }
    const last = Math.max(end, index + 1);
    for (; index < last; index++) rows.push({ kind: "item", index, item: items[index] as OpenedItem });
  }
  return rows;
}

/** Numbers as they are read: `1–3, 5`. */
export function ranges(numbers: readonly number[]): string {
  const parts: string[] = [];
  for (let index = 0; index < numbers.length; index++) {
    const first = numbers[index] as number;
    while (numbers[index + 1] === (numbers[index] as number) + 1) index++;
    const last = numbers[index] as number;
    parts.push(first === last ? `${first}` : `${first}–${last}`);
  }
  return parts.join(", ");
}
