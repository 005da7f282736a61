/** The cells of an examination as a table: a row a cause, a column a client; and what differs between two clients. */
import type { ShownCell, ShownExamination } from "../model";
import type { Meaning } from "../parts/Sign";

const RED = new Set(["fail", "crash", "hang"]);

export interface CauseRow {
  readonly group: string;
  readonly reason: string;
  readonly isFailure: boolean;
  readonly cells: readonly ShownCell[];
  readonly cases: readonly string[];
}

export const isRed = (cell: ShownCell): boolean => RED.has(cell.verdict);

export function meaningOf(verdict: string): Meaning {
  if (RED.has(verdict)) return "wrong";
  if (verdict === "warn") return "doubtful";
  return verdict === "pass" ? "right" : "neutral";
}

/** The causes, those that fail an examination first, then by how many cells they have. */
export function causesOf(cells: readonly ShownCell[]): CauseRow[] {
  const groups = new Map<string, ShownCell[]>();
  for (const cell of cells) {
    if (!cell.group) continue;
    const group = groups.get(cell.group);
    if (group) group.push(cell);
    else groups.set(cell.group, [cell]);
  }
  return [...groups]
    .map(([group, own]) => ({
      group,
      reason: own[0]?.reason || own[0]?.case || group,
      isFailure: own.some((cell) => cell.severity === "must" && isRed(cell)),
      cells: own,
      cases: [...new Set(own.map((cell) => cell.case))],
    }))
    .sort((a, b) => Number(b.isFailure) - Number(a.isFailure) || b.cells.length - a.cells.length);
}

/** The cases that every client passed that could be asked. */
export function passedOf(examination: ShownExamination): string[] {
  const failed = new Set(examination.cells.filter((cell) => cell.group).map((cell) => cell.case));
  const passed = new Set(examination.cells.filter((cell) => cell.verdict === "pass").map((cell) => cell.case));
  return [...passed].filter((id) => !failed.has(id));
}

export type Change = "new" | "gone" | "both";

const key = (cell: ShownCell): string => `${cell.case} ${cell.mode}`;

/** What is wrong with one client and was not with another: `new`; the other way round `gone`; with either: `both`. */
export function changesBetween(cells: readonly ShownCell[], old: string, now: string): ReadonlyMap<ShownCell, Change> {
  const of = (client: string) => new Map(cells.filter((cell) => cell.client === client).map((cell) => [key(cell), cell]));
  const [before, after] = [of(old), of(now)];
  const changes = new Map<ShownCell, Change>();
  for (const cell of after.values()) {
    if (!cell.group) continue;
    const earlier = before.get(key(cell));
    changes.set(cell, earlier?.group ? "both" : "new");
  }
  for (const cell of before.values()) {
    if (!cell.group) continue;
    const later = after.get(key(cell));
    if (later?.group) changes.set(cell, "both");
    else if (later && later.verdict !== "not applicable") changes.set(cell, "gone");
  }
  return changes;
}

/** A cell that did well where this one did not: of the same case, of the same mode if there is one. */
export function rightOneFor(cells: readonly ShownCell[], wrong: ShownCell): ShownCell | undefined {
  const right = cells.filter((cell) => cell.case === wrong.case && cell.verdict === "pass");
  return right.find((cell) => cell.mode === wrong.mode && cell.client !== wrong.client) ?? right.find((cell) => cell.client !== wrong.client) ?? right[0];
}
