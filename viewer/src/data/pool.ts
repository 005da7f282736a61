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

  /** Puts a value together. */
  value(stored: Json | undefined): Json {
    if (Array.isArray(stored)) return stored.map((element) => this.value(element));
    if (!isObject(stored)) return stored ?? null;
    const { $: index, $list: list, $literal: literal } = stored;
    if (typeof index === "number") {
      if (!this.read.has(index)) this.read.set(index, this.value(this.at(index)));
      return this.read.get(index) ?? null;
    }
    if (typeof list === "number") {
      const kept = (this.at(list) as readonly Json[]).slice(0, Number(stored["keep"]));
      return this.value([...kept, ...(stored["then"] as readonly Json[])]);
    }
    const members = Object.entries(isObject(literal) ? literal : stored);
    return Object.fromEntries(members.map(([name, member]) => [name, this.value(member)]));
  }

  private at(index: number): Json {
    const stored = this.stored[index];
    if (stored === undefined) throw new Error(`the file refers to part ${index}, which it does not have`);
    return stored;
  }
}
