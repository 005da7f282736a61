/** Values of a case, each stored once: what refers to the pool is put together when it is read, and shared from then on. */
import type { Json } from "../model";

export type { Json };
export type JsonObject = { readonly [name: string]: Json };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export class Pool {
  private readonly read = new Map<number, Json>();

  constructor(private readonly stored: readonly Json[]) {}

  /** Puts a value together. What refers to nothing is returned as it is. */
  value(stored: Json | undefined): Json {
    if (stored === undefined || stored === null || typeof stored !== "object") return stored ?? null;
    if (!isObject(stored)) return this.list(stored as readonly Json[]);
    const { $: index, $list: list, $literal: literal } = stored;
    if (typeof index === "number") return this.entry(index);
    if (typeof list === "number") return this.continued(stored);
    return this.members(isObject(literal) ? literal : stored);
  }

  private entry(index: number): Json {
    const known = this.read.get(index);
    if (known !== undefined) return known;
    const value = this.value(this.at(index));
    this.read.set(index, value);
    return value;
  }

  private at(index: number): Json {
    const stored = this.stored[index];
    if (stored === undefined) throw new Error(`the file refers to part ${index}, which it does not have`);
    return stored;
  }

  private list(stored: readonly Json[]): Json {
    const read = stored.map((element) => this.value(element));
    return read.some((value, index) => value !== stored[index]) ? read : stored;
  }

  private members(stored: JsonObject): Json {
    const read = Object.entries(stored).map(([name, member]): [string, Json] => [name, this.value(member)]);
    return read.some(([name, value]) => value !== stored[name]) ? Object.fromEntries(read) : stored;
  }

  /** Follows a list to those that it continues, without recursion: there may be thousands. */
  private continued(stored: JsonObject): Json {
    const parts: Json[][] = [];
    let keep = Infinity;
    let next: Json = stored;
    while (isObject(next)) {
      if (typeof next["$"] === "number") next = this.at(next["$"]);
      else if (typeof next["$list"] === "number") {
        const kept = Number(next["keep"]);
        parts.push([...(next["then"] as readonly Json[])].slice(0, Math.max(0, keep - kept)));
        keep = Math.min(keep, kept);
        next = this.at(next["$list"]);
      } else throw new Error("the file continues a list that it does not have");
    }
    parts.push([...(next as readonly Json[])].slice(0, keep));
    return parts.reverse().flatMap((part) => part.map((element) => this.value(element)));
  }
}
