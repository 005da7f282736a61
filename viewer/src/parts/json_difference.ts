/** What differs between two JSON values, by member and by the identity of elements, not by line. */
import { isObject, join } from "./json_rows";

export interface Difference {
  /** The place in the value that is; for what was removed, in the value that was. */
  readonly path: string;
  readonly name: string;
  readonly sign: "same" | "removed" | "added" | "changed" | "inside";
  readonly was?: unknown;
  readonly is?: unknown;
  /** The parts of a value that differs `inside`. */
  readonly parts: readonly Difference[];
}

/** Lists with more pairs of elements than this are compared by position. */
const MOST_PAIRS = 1_000_000;

export function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((value, index) => isEqual(value, other[index]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => name in other && isEqual(one[name], other[name]));
}

export function compareJson(was: unknown, is: unknown, path = "", name = ""): Difference {
  if (isEqual(was, is)) return { path, name, sign: "same", was, is, parts: [] };
  if (Array.isArray(was) && Array.isArray(is)) return { path, name, sign: "inside", was, is, parts: compareLists(was, is, path) };
  if (isObject(was) && isObject(is)) return { path, name, sign: "inside", was, is, parts: compareMembers(was, is, path) };
  return { path, name, sign: "changed", was, is, parts: [] };
}

type Members = Readonly<Record<string, unknown>>;

function compareMembers(was: Members, is: Members, path: string): Difference[] {
  const names = [...Object.keys(is), ...Object.keys(was).filter((name) => !(name in is))];
  return names.map((name) => {
    const place = join(path, name);
    if (!(name in was)) return { path: place, name, sign: "added", is: is[name], parts: [] };
    if (!(name in is)) return { path: place, name, sign: "removed", was: was[name], parts: [] };
    return compareJson(was[name], is[name], place, name);
  });
}

/** What makes an element the same one although its content differs. */
export function identify(value: unknown): string {
  if (!isObject(value)) return JSON.stringify(value) ?? "";
  const type = String(value.type ?? value.role ?? "");
  for (const name of ["id", "call_id", "name", "server_label"]) {
    if (typeof value[name] === "string") return `${type}/${name}/${value[name]}`;
  }
  return JSON.stringify(value);
}

/** What an element is like: two that are alike at one place are one that changed. */
const kindOf = (value: unknown): string => (isObject(value) ? `${String(value.type ?? "")}/${String(value.role ?? "")}` : typeof value);

function compareLists(was: readonly unknown[], is: readonly unknown[], path: string): Difference[] {
  const result: Difference[] = [];
  let removed: number[] = [];
  let added: number[] = [];
  const flush = (): void => {
    while (removed.length && added.length && kindOf(was[removed[0] as number]) === kindOf(is[added[0] as number])) {
      const [from, to] = [removed.shift() as number, added.shift() as number];
      result.push(compareJson(was[from], is[to], join(path, to)));
    }
    for (const index of removed) result.push({ path: join(path, index), name: "", sign: "removed", was: was[index], parts: [] });
    for (const index of added) result.push({ path: join(path, index), name: "", sign: "added", is: is[index], parts: [] });
    removed = [];
    added = [];
  };
  for (const [from, to] of align(was, is)) {
    if (to === null) removed.push(from as number);
    else if (from === null) added.push(to);
    else {
      flush();
      result.push(compareJson(was[from], is[to], join(path, to)));
    }
  }
  flush();
  return result;
}

type Pair = readonly [number | null, number | null];

/** Pairs the elements of two lists: those that are the same, and those that only one list has. */
function align(was: readonly unknown[], is: readonly unknown[]): Pair[] {
  const before = was.map(identify);
  const after = is.map(identify);
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const pairs: Pair[] = [];
  for (let index = 0; index < start; index++) pairs.push([index, index]);
  pairs.push(...alignMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end), start));
  for (let left = end; left > 0; left--) pairs.push([before.length - left, after.length - left]);
  return pairs;
}

/** The longest list of keys that both have in this order pairs them. */
function alignMiddle(before: readonly string[], after: readonly string[], start: number): Pair[] {
  const [rows, columns] = [before.length, after.length];
  if (rows * columns > MOST_PAIRS) {
    const longest = Math.max(rows, columns);
    return Array.from({ length: longest }, (_, index): Pair => [index < rows ? start + index : null, index < columns ? start + index : null]);
  }
  const width = columns + 1;
  const common = new Uint32Array((rows + 1) * width);
  const at = (row: number, column: number): number => common[row * width + column] ?? 0;
  for (let row = rows - 1; row >= 0; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      common[row * width + column] = before[row] === after[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const pairs: Pair[] = [];
  let [row, column] = [0, 0];
  while (row < rows || column < columns) {
    if (row < rows && column < columns && before[row] === after[column]) pairs.push([start + row++, start + column++]);
    else if (column >= columns || (row < rows && at(row + 1, column) >= at(row, column + 1))) pairs.push([start + row++, null]);
    else pairs.push([null, start + column++]);
  }
  return pairs;
}
