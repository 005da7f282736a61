/** Finds the cases that say a text: in their names and lines at once, in their bodies one case after the other. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { useSource } from "../data/use";
import type { CaseRow, Run } from "../model";

export interface Found {
  /** The cases, and the line in which each says it; empty when it is its name. */
  readonly lines: ReadonlyMap<string, string>;
  /** How many cases were looked through, of how many; they are the same at the end. */
  readonly looked: number;
  readonly all: number;
}

/** How many milliseconds pass before bodies are read, and for how long they are read at a time. */
const QUIET = 200;
const STEP = 30;
const AROUND = 60;
const BODY = "in a body: ";

export function useSearch(run: Run, sought: string): Found | undefined {
  const source = useSource();
  const words = sought.trim().toLowerCase();
  const names = useMemo(() => (words ? inLines(run.cases, words) : new Map<string, string>()), [run, words]);
  const [bodies, setBodies] = useState<{ words: string; lines: ReadonlyMap<string, string>; looked: number }>();
  useEffect(() => {
    if (!words) return;
    let ended = false;
    const look = async () => {
      const lines = new Map<string, string>();
      let paused = performance.now();
      for (const [index, row] of run.cases.entries()) {
        const text = names.has(row.id) ? "" : await source.text(row.id).catch(() => "");
        if (ended) return;
        const at = text.indexOf(words);
        if (at >= 0) lines.set(row.id, BODY + text.slice(Math.max(0, at - AROUND), at + words.length + AROUND).replaceAll("\n", " · "));
        const last = index === run.cases.length - 1;
        if (!last && performance.now() - paused < STEP) continue;
        setBodies({ words, lines: new Map(lines), looked: index + 1 });
        await new Promise((done) => setTimeout(done));
        paused = performance.now();
      }
    };
    const timer = setTimeout(() => void look(), QUIET);
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [words, names, source]);
  if (!words) return undefined;
  const known = bodies?.words === words ? bodies : undefined;
  return { lines: new Map([...names, ...(known?.lines ?? [])]), looked: known?.looked ?? 0, all: run.cases.length };
}

function inLines(rows: readonly CaseRow[], words: string): Map<string, string> {
  const lines = new Map<string, string>();
  for (const row of rows) {
    const has = (text: string) => text.toLowerCase().includes(words);
    if (has(row.id) || has(row.name) || has(row.file)) lines.set(row.id, "");
    else {
      const causes = row.causes.flatMap((cause) => [cause.what, cause.rule, ...cause.rows.map(([, text]) => text)]);
      const line = [...row.texts, ...causes, ...row.consequences].find(has);
      if (line !== undefined) lines.set(row.id, line);
    }
  }
  return lines;
}
