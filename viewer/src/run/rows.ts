/** What stands in the list of a run, from top to bottom. */
import { isWrong } from "../format";
import type { CaseRow, CauseGroup, Outcome, Run } from "../model";
import type { Found } from "./search";

export type Order = "file" | "newest" | "slowest" | "requests";
export const ORDERS: { readonly [order in Order]: string } = {
  file: "by file",
  newest: "newest first",
  slowest: "slowest first",
  requests: "most requests first",
};

export type ListRow =
  | { readonly kind: "note"; readonly text: string }
  | { readonly kind: "cause"; readonly group: CauseGroup; readonly cases: readonly CaseRow[]; readonly first: boolean }
  | { readonly kind: "fold"; readonly outcome: Outcome; readonly count: number; readonly opened: boolean }
  | { readonly kind: "file"; readonly file: string; readonly count: number }
  | { readonly kind: "case"; readonly row: CaseRow; readonly line: string };

export interface Wanted {
  readonly outcome: string | null;
  readonly order: Order;
  readonly opened: ReadonlySet<string>;
  readonly found: Found | undefined;
}

const FOLDED: readonly Outcome[] = ["passed", "skipped", "xfailed", "xpassed"];

export function listRows(run: Run, wanted: Wanted): ListRow[] {
  const { found, outcome } = wanted;
  if (found)
    return sorted(
      run.cases.filter((row) => found.lines.has(row.id) && matches(row, outcome)),
      wanted,
      found.lines,
    );
  if (outcome && outcome !== "failed")
    return sorted(
      run.cases.filter((row) => matches(row, outcome)),
      wanted,
    );
  const wrong = [...causes(run, wanted.order), ...notes(run)];
  return outcome ? wrong : [...wrong, ...alive(run, wanted), ...folds(run, wanted)];
}

function matches(row: CaseRow, outcome: string | null): boolean {
  if (!outcome) return true;
  return outcome === "failed" ? isWrong(row) : row.outcome === outcome;
}

function notes(run: Run): ListRow[] {
  return run.notes.map((text) => ({ kind: "note", text }));
}

/** Lists the causes with the cases that have them, then the cases that failed without one. */
function causes(run: Run, order: Order): ListRow[] {
  const known = new Map(run.cases.map((row) => [row.id, row]));
  const groups = order === "newest" ? [...run.causes].reverse() : run.causes;
  const rows = groups.map((group, index): ListRow => {
    const cases = group.cases.flatMap(([id]) => known.get(id) ?? []);
    return { kind: "cause", group, cases: [...new Set(cases)], first: index === 0 };
  });
  const told = new Set(groups.flatMap((group) => group.cases.map(([id]) => id)));
  const others = run.cases.filter((row) => isWrong(row) && row.outcome !== "open" && !told.has(row.id));
  return [...rows, ...others.map((row): ListRow => ({ kind: "case", row, line: "" }))];
}

function alive(run: Run, wanted: Wanted): ListRow[] {
  return sorted(
    run.cases.filter((row) => row.outcome === "open"),
    { ...wanted, order: wanted.order === "file" ? "newest" : wanted.order },
  );
}

function folds(run: Run, wanted: Wanted): ListRow[] {
  return FOLDED.flatMap((outcome) => {
    const cases = run.cases.filter((row) => row.outcome === outcome && !isWrong(row));
    if (cases.length === 0) return [];
    const opened = wanted.opened.has(outcome);
    const fold: ListRow = { kind: "fold", outcome, count: cases.length, opened };
    return opened ? [fold, ...sorted(cases, wanted)] : [fold];
  });
}

function sorted(rows: readonly CaseRow[], { order }: Wanted, lines?: ReadonlyMap<string, string>): ListRow[] {
  const show = (row: CaseRow): ListRow => ({ kind: "case", row, line: lines?.get(row.id) ?? "" });
  if (order === "newest")
    return rows
      .map((row, index) => [row, index] as const)
      .sort(newest)
      .map(([row]) => show(row));
  if (order === "slowest") return [...rows].sort((one, other) => other.seconds - one.seconds).map(show);
  if (order === "requests") return [...rows].sort((one, other) => other.exchanges - one.exchanges).map(show);
  const files = new Map<string, CaseRow[]>();
  for (const row of rows) files.set(row.file, [...(files.get(row.file) ?? []), row]);
  return [...files].flatMap(([file, cases]) => [{ kind: "file", file, count: cases.length }, ...cases.map(show)]);
}

function newest([one, first]: readonly [CaseRow, number], [other, second]: readonly [CaseRow, number]): number {
  return (other.began ?? 0) - (one.began ?? 0) || second - first;
}

/** The cases of a list in their order: where j and k lead. */
export function casesOf(rows: readonly ListRow[]): string[] {
  const ids = rows.flatMap((row) => (row.kind === "case" ? [row.row.id] : row.kind === "cause" ? row.cases.map(({ id }) => id) : []));
  return [...new Set(ids)];
}
