/** Base64 in JSON: a picture is shown as such, anything else by its size. */

export interface Encoded {
  /** The media type, as far as it is known. */
  readonly type: string;
  readonly bytes: number;
  /** The address of a picture that the page can show; empty for anything else. */
  readonly picture: string;
}

const SHORTEST = 200;
const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w=.-]+)*;base64,/;
const PICTURES: readonly (readonly [string, string])[] = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGOD", "image/gif"],
  ["UklGR", "image/webp"],
];
const SHOWN = new Set(PICTURES.map(([, type]) => type));

/** What a text encodes; null for a text that is to be read. */
export function readBase64(text: string): Encoded | null {
  const head = text.slice(0, 200).match(DATA_URL);
  const data = head ? text.slice(head[0].length) : text;
  if (!head && (text.length < SHORTEST || text.length % 4 > 0 || !looksEncoded(text))) return null;
  const type = head?.[1] ?? PICTURES.find(([start]) => data.startsWith(start))?.[1] ?? "";
  const bytes = Math.floor((data.length * 3) / 4) - (data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0);
  const picture = SHOWN.has(type) && looksEncoded(data) ? `data:${type};base64,${data}` : "";
  return { type, bytes, picture };
}

/** A word of prose has no 200 characters: the beginning and the end tell. */
function looksEncoded(text: string): boolean {
  return [text.slice(0, SHORTEST), text.slice(-SHORTEST)].every((part) => /^[A-Za-z0-9+/]*={0,2}$/.test(part));
}

/** A size as it is read: `12.4 KB`. */
export function sizeOf(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
