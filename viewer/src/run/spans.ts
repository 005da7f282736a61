/** When the tests of a run ran: each has a span of time, and a track that it shares with none that ran meanwhile. */
import type { CaseRow } from "../model";

export interface Span {
  readonly row: CaseRow;
  readonly track: number;
  /** From 0, when the first test began, to 1, when the last one ended. */
  readonly from: number;
  readonly to: number;
}

export interface Spans {
  readonly spans: readonly Span[];
  readonly tracks: number;
  readonly seconds: number;
}

const MOST_TRACKS = 8;
/** How many spans are drawn at most, the longest ones. */
const MOST_SPANS = 1500;

export function spansOf(rows: readonly CaseRow[]): Spans | undefined {
  const timed = rows.flatMap((row) => (row.began ? [{ row, began: row.began, ended: row.began + row.seconds }] : []));
  if (timed.length < 2) return undefined;
  const first = Math.min(...timed.map(({ began }) => began));
  const seconds = Math.max(...timed.map(({ ended }) => ended)) - first;
  if (!(seconds > 0)) return undefined;
  const drawn = [...timed].sort((one, other) => other.row.seconds - one.row.seconds).slice(0, MOST_SPANS);
  const ends: number[] = [];
  const spans = drawn
    .sort((one, other) => one.began - other.began)
    .map(({ row, began, ended }): Span => {
      const free = ends.findIndex((end) => end <= began);
      const track = free >= 0 ? free : Math.min(ends.length, MOST_TRACKS - 1);
      ends[track] = Math.max(ended, ends[track] ?? 0);
      return { row, track, from: (began - first) / seconds, to: (ended - first) / seconds };
    });
  return { spans, tracks: ends.length, seconds };
}
