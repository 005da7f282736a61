/** JSON as rows: what the JSON view shows, one line of text each, without any part that is folded. */

export type Shape = "leaf" | "open" | "closed" | "end" | "nulls";

export interface Row {
  /** The place of the value as the API names it: `input[2].content`. */
  readonly path: string;
  readonly depth: number;
  /** The name of a member; empty for an element. */
  readonly name: string;
  readonly shape: Shape;
  readonly value: unknown;
  /** Whether a comma follows. */
  readonly more: boolean;
  /** The names of the members that a row of nulls folds. */
  readonly names: readonly string[];
}

/** What the reader has opened or closed, by place. */
export type Toggled = ReadonlyMap<string, boolean>;

const OPEN_DEPTH = 2;
const OPEN_VALUES = 24;
const FOLDED_NULLS = 2;

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value);

const isBranch = (value: unknown): boolean => typeof value === "object" && value !== null;

/** The place of a member or an element below `path`. */
export function join(path: string, key: string | number): string {
  if (typeof key === "number") return `${path}[${key}]`;
  return path ? `${path}.${key}` : key;
}

/** Whether `path` is `place` or stands above it. */
export function leadsTo(path: string, place: string): boolean {
  if (path === "" || path === place) return place !== "";
  return place.startsWith(path) && /[.[]/.test(place[path.length] ?? "");
}

/** The deepest place on the way to `place` that the value has: a member that is missing is shown where it is missed. */
export function nearest(value: unknown, place: string): string {
  let path = "";
  let here = value;
  for (const step of place.match(/\[\d+\]|[^.[\]]+/g) ?? []) {
    const key = step.startsWith("[") ? Number(step.slice(1, -1)) : step;
    if (Array.isArray(here) && typeof key === "number" && key < here.length) here = here[key];
    else if (isObject(here) && typeof key === "string" && key in here) here = here[key];
    else return path;
    path = join(path, key);
  }
  return path;
}

/** Whether a value has more than `most` values in it; it looks at no more than these. */
function isLarge(value: unknown, most: number): boolean {
  let left = most;
  const count = (part: unknown): void => {
    left -= 1;
    if (left < 0 || typeof part !== "object" || part === null) return;
    for (const inner of Array.isArray(part) ? part : Object.values(part)) {
      count(inner);
      if (left < 0) return;
    }
  };
  count(value);
  return left < 0;
}

/** The rows of a value. What leads to `marked` is open unless the reader closed it. */
export function rowsOf(value: unknown, toggled: Toggled, marked: string, base = ""): Row[] {
  const rows: Row[] = [];
  const add = (row: Partial<Row> & Pick<Row, "path" | "depth" | "shape">): void => {
    rows.push({ name: "", value: undefined, more: false, names: [], ...row });
  };

  const opens = (part: unknown, path: string, depth: number): boolean =>
    toggled.get(path) ?? (depth < OPEN_DEPTH || (marked !== "" && leadsTo(path, marked)) || !isLarge(part, OPEN_VALUES));

  const walk = (part: unknown, path: string, depth: number, name: string, more: boolean): void => {
    if (!isBranch(part)) return add({ path, depth, shape: "leaf", name, value: part, more });
    const size = Array.isArray(part) ? part.length : Object.keys(part as object).length;
    if (size === 0) return add({ path, depth, shape: "leaf", name, value: part, more });
    if (!opens(part, path, depth)) return add({ path, depth, shape: "closed", name, value: part, more });
    add({ path, depth, shape: "open", name, value: part });
    if (Array.isArray(part)) {
      part.forEach((inner, index) => walk(inner, join(path, index), depth + 1, "", index < size - 1));
    } else {
      members(part as Readonly<Record<string, unknown>>, path, depth + 1);
    }
    add({ path, depth, shape: "end", value: part, more });
  };

  const members = (part: Readonly<Record<string, unknown>>, path: string, depth: number): void => {
    const names = Object.keys(part);
    const isFoldable = (name: string | undefined): boolean => name !== undefined && part[name] === null && join(path, name) !== marked;
    for (let index = 0; index < names.length; index++) {
      let end = index;
      while (isFoldable(names[end])) end++;
      const nulls = `${path}?${index}`;
      if (end - index > FOLDED_NULLS && !toggled.get(nulls)) {
        add({ path: nulls, depth, shape: "nulls", names: names.slice(index, end), more: end < names.length });
        index = end - 1;
        continue;
      }
      const name = names[index] as string;
      walk(part[name], join(path, name), depth, name, index < names.length - 1);
    }
  };

  walk(value, base, 0, "", false);
  return rows;
}

/** What a folded value is about, in a few words. */
export function gistOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 1 ? "1 element" : `${value.length} elements`;
  if (!isObject(value)) return "";
  const told = ["type", "role", "name", "id", "call_id", "status"].flatMap((name) => (typeof value[name] === "string" ? [value[name]] : []));
  return told.length ? told.join(" · ") : Object.keys(value).slice(0, 6).join(", ");
}
