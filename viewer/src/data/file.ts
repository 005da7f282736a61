/** Reads a page that carries its data: gzipped JSON in base64, or plain JSON, in elements of the page. */
import type { Run, ShownCase } from "../model";
import { OpenedCase } from "./opened";
import { textOfCase } from "./shown_text";
import { Problem, type Source } from "./source";

const GZIP = "H4sI";
/** How many cases stay opened, and how many characters of their texts stay for the next search. */
const OPENED = 2;
const TEXTS = 8_000_000;

function decode(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  return bytes;
}

async function read(element: Element): Promise<string> {
  const text = (element.textContent ?? "").trim();
  if (!text.startsWith(GZIP)) return text;
  return new Response(new Blob([decode(text)]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

async function parse<T>(id: string): Promise<T> {
  const element = document.getElementById(id);
  if (!element) throw new Problem(`This file has no part “${id}”: it was truncated or changed. Create it again.`);
  try {
    return JSON.parse(await read(element)) as T;
  } catch (problem) {
    throw new Problem(`Part “${id}” of this file cannot be read (${String(problem)}). Create the file again.`);
  }
}

export class FileSource implements Source {
  readonly live = false;
  private whole: Promise<Run> | undefined;
  private readonly opened = new Map<string, Promise<OpenedCase>>();
  private readonly texts = new Map<string, string>();
  private kept = 0;

  run(): Promise<Run> {
    this.whole ??= parse<Run>("run");
    return this.whole;
  }

  async open(id: string): Promise<OpenedCase | undefined> {
    const part = await this.part(id);
    if (part === undefined) return undefined;
    const known = this.opened.get(id) ?? parse<ShownCase>(part).then((sent) => OpenedCase.of(sent));
    this.opened.delete(id);
    this.opened.set(id, known);
    for (const oldest of [...this.opened.keys()].slice(0, -OPENED)) this.opened.delete(oldest);
    return known;
  }

  async text(id: string): Promise<string> {
    const known = this.texts.get(id);
    if (known !== undefined) return known;
    const part = await this.part(id);
    const element = part === undefined ? null : document.getElementById(part);
    const text = element ? textOfCase(JSON.parse(await read(element)) as ShownCase) : "";
    this.kept += text.length;
    if (this.kept < TEXTS) this.texts.set(id, text);
    return text;
  }

  watch(): () => void {
    return () => undefined;
  }

  private async part(id: string): Promise<string | undefined> {
    const index = (await this.run()).cases.findIndex((row) => row.id === id);
    return index < 0 ? undefined : `case-${index}`;
  }
}
