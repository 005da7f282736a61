/** Nothing moves but what the reader moved: what is new stands behind a button. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Run } from "../model";

/** The run as the reader knows it: cases that came since are not in it until they are shown. */
export function useKnown(run: Run, live: boolean): { readonly known: Run; readonly news: number; readonly show: () => void } {
  const seen = useRef<ReadonlySet<string>>(new Set());
  const [shown, setShown] = useState(0);
  return useMemo(() => {
    const show = () => {
      seen.current = new Set(run.cases.map((row) => row.id));
      setShown((times) => times + 1);
    };
    const cases = run.cases.filter((row) => seen.current.has(row.id));
    if (live && cases.length > 0 && cases.length < run.cases.length) {
      const causes = run.causes.filter((group) => group.cases.some(([id]) => seen.current.has(id)));
      return { known: { ...run, cases, causes }, news: run.cases.length - cases.length, show };
    }
    seen.current = new Set(run.cases.map((row) => row.id));
    return { known: run, news: 0, show };
  }, [run, live, shown]);
}

export function News({ count, what, above = false, show }: { count: number; what: string; above?: boolean; show: () => void }) {
  if (count === 0) return null;
  return (
    <p class={`news ${above ? "above" : ""}`}>
      <button class="primary" onClick={show} aria-live="polite">
        {above ? "↑" : "↓"} {count.toLocaleString("en")} new{what && ` ${what}`}
      </button>
    </p>
  );
}

/** Counts what was added at the end of a list while its end was not in view; `end` is an element there. */
export function useUnseen(total: number): {
  readonly unseen: number;
  readonly end: { current: HTMLDivElement | null };
  readonly show: () => void;
} {
  const end = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState(total);
  const latest = useRef(total);
  latest.current = total;
  useEffect(() => {
    if (!end.current) return;
    const watcher = new IntersectionObserver(([entry]) => entry?.isIntersecting && setSeen(latest.current));
    watcher.observe(end.current);
    return () => watcher.disconnect();
  }, [total]);
  return { unseen: Math.max(0, total - seen), end, show: () => end.current?.scrollIntoView({ block: "end" }) };
}
