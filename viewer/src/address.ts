/**
 * The address says what is shown: `#/case/ID/2/stream?event=7` is event 7 of the second exchange of a case.
 *
 * Everything stands behind `#`, so that a link works in a file, too.
 */
import { useLayoutEffect, useState } from "preact/hooks";

export interface Address {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

type Query = { readonly [name: string]: string | number | null };

export function readAddress(hash: string = location.hash): Address {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { path: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function write(path: readonly (string | number)[], query: Query | URLSearchParams = {}): string {
  const params = query instanceof URLSearchParams ? query : new URLSearchParams();
  if (!(query instanceof URLSearchParams)) for (const [name, value] of Object.entries(query)) if (value !== null) params.set(name, String(value));
  const text = params.toString();
  return `#/${path.map((part) => encodeURIComponent(part)).join("/")}${text ? `?${text}` : ""}`;
}

export const link = {
  run: (query?: Query) => write([], query),
  tab: (tab: string, query?: Query) => write([tab], query),
  rule: (id: string) => write(["rule", id]),
  case: (id: string, number?: number, tab?: string, query?: Query) => write(["case", id, ...(number ? [number, ...(tab ? [tab] : [])] : [])], query),
};

export function go(href: string): void {
  location.hash = href;
}

/** Changes the part behind `?` in place: going back leaves the screen, not the filter. */
export function setQuery(change: Query): void {
  const { path, query } = readAddress();
  for (const [name, value] of Object.entries(change)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, String(value));
  }
  history.replaceState(null, "", write(path, query));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useAddress(): Address {
  const [address, setAddress] = useState(() => readAddress());
  const drawn = location.hash;
  useLayoutEffect(() => {
    const changed = () => setAddress(readAddress());
    addEventListener("hashchange", changed);
    if (location.hash !== drawn) changed();
    return () => removeEventListener("hashchange", changed);
  }, []);
  return address;
}
