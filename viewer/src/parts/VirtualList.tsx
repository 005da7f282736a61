/** A list of which only the rows in view exist; each is as high as what it says. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

interface Shape<T> {
  readonly items: readonly T[];
  readonly keyOf: (item: T, index: number) => string;
  readonly render: (item: T, index: number) => ComponentChildren;
  /** How high a row is until it was measured, in pixels. */
  readonly estimate: number;
  readonly label: string;
  /** The index of the row that is scrolled into view when it changes. */
  readonly selected?: number | undefined;
}

/** How many pixels above and below the view are drawn as well. */
const AROUND = 400;

export function VirtualList<T>({ items, keyOf, render, estimate, label, selected }: Shape<T>) {
  const list = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string, number>());
  const [view, setView] = useState<readonly [number, number]>([0, innerHeight]);
  const [measured, setMeasured] = useState(0);
  const tops = useMemo(() => {
    const made = new Float64Array(items.length + 1);
    items.forEach((item, index) => {
      made[index + 1] = (made[index] ?? 0) + (heights.current.get(keyOf(item, index)) ?? estimate);
    });
    return made;
  }, [items, measured, estimate]);

  useLayoutEffect(() => {
    const box = list.current;
    const scroller = box?.closest<HTMLElement>(".scrolls") ?? document.documentElement;
    const look = () => {
      if (!box) return;
      const above = scroller.getBoundingClientRect().top - box.getBoundingClientRect().top;
      const top = Math.max(0, scroller === document.documentElement ? -box.getBoundingClientRect().top : above);
      setView((known) => (Math.abs(known[0] - top) < AROUND / 4 && known[1] === scroller.clientHeight ? known : [top, scroller.clientHeight]));
    };
    look();
    const target = scroller === document.documentElement ? window : scroller;
    target.addEventListener("scroll", look, { passive: true });
    const sizes = new ResizeObserver(look);
    sizes.observe(scroller);
    return () => {
      target.removeEventListener("scroll", look);
      sizes.disconnect();
    };
  }, []);

  const first = Math.max(0, search(tops, view[0] - AROUND));
  const last = Math.min(items.length, search(tops, view[0] + view[1] + AROUND) + 1);

  useLayoutEffect(() => {
    let changed = false;
    const rows = list.current?.children ?? [];
    for (const row of rows) {
      const key = (row as HTMLElement).dataset["key"];
      const height = row.getBoundingClientRect().height;
      if (key === undefined || Math.abs((heights.current.get(key) ?? estimate) - height) < 0.5) continue;
      heights.current.set(key, height);
      changed = true;
    }
    if (changed) setMeasured((count) => count + 1);
  });

  useEffect(() => {
    if (selected === undefined || selected < 0 || selected >= items.length) return;
    return bringIntoView(list.current, selected, () => tops[selected] ?? 0);
  }, [selected]);

  return (
    <div
      class="rows"
      role="list"
      aria-label={label}
      ref={list}
      style={{ paddingTop: `${tops[first] ?? 0}px`, paddingBottom: `${(tops[items.length] ?? 0) - (tops[last] ?? 0)}px` }}
    >
      {items.slice(first, last).map((item, offset) => {
        const index = first + offset;
        const key = keyOf(item, index);
        return (
          <div role="listitem" key={key} data-key={key} data-index={index} class={index === selected ? "selected" : ""}>
            {render(item, index)}
          </div>
        );
      })}
    </div>
  );
}

/** Finds the last row that begins at or above a position. */
function search(tops: Float64Array, position: number): number {
  let low = 0;
  let high = tops.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((tops[middle] ?? 0) <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Scrolls to where the row should be, then, when it is drawn, to where it is. */
function bringIntoView(list: HTMLElement | null, index: number, top: () => number): () => void {
  const row = () => list?.querySelector(`:scope > [data-index="${index}"]`);
  let frames = 0;
  let timer = 0;
  const step = () => {
    const drawn = row();
    if (drawn) drawn.scrollIntoView({ block: "nearest" });
    else if (list) {
      const scroller = list.closest<HTMLElement>(".scrolls") ?? document.documentElement;
      const start = list.getBoundingClientRect().top - (scroller === document.documentElement ? 0 : scroller.getBoundingClientRect().top);
      scroller.scrollTop += start + top() - scroller.clientHeight / 3;
    }
    frames += 1;
    if (frames < 4) timer = requestAnimationFrame(step);
  };
  step();
  return () => cancelAnimationFrame(timer);
}
