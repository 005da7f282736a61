/** What keys do: each screen adds its own, the last one that was mounted wins. `?` shows them. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export type Keys = { readonly [key: string]: readonly [what: string, act: () => void] };

const layers: { current: Keys }[] = [];
/** Elements in which a key is text, or has a meaning of its own. */
const WRITING = "input, textarea, select, [contenteditable]";

export function useKeys(keys: Keys): void {
  const layer = useRef(keys);
  layer.current = keys;
  useLayoutEffect(() => {
    layers.push(layer);
    return () => void layers.splice(layers.indexOf(layer), 1);
  }, []);
}

function act(event: KeyboardEvent): void {
  const target = event.target instanceof Element ? event.target : document.body;
  const writing = target.closest(WRITING) !== null;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (writing && event.key !== "Escape") return;
  if (event.key === "Enter" && target.closest("a, button, summary")) return;
  if (writing && target instanceof HTMLElement) target.blur();
  const entry = layers.findLast(({ current }) => event.key in current)?.current[event.key];
  if (!entry) return;
  event.preventDefault();
  entry[1]();
}

export function listenToKeys(): void {
  addEventListener("keydown", act);
}

const NAMES: { readonly [key: string]: string } = { Escape: "Esc", ArrowDown: "↓", ArrowUp: "↑" };

export function KeysHelp() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [shown, setShown] = useState<readonly (readonly [string, string])[]>([]);
  const open = () => {
    const all: { [key: string]: string } = {};
    for (const { current } of layers) for (const [key, [what]] of Object.entries(current)) all[key] = what;
    setShown(Object.entries(all));
    dialog.current?.showModal();
  };
  useKeys({ "?": ["show these keys", open] });
  return (
    <>
      <button class="quiet" onClick={open} aria-label="Keys">
        ?
      </button>
      <dialog ref={dialog} class="keys" aria-label="Keys" onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
        <h2>Keys</h2>
        <dl>
          {shown.map(([key, what]) => (
            <div key={key}>
              <dt>
                <kbd>{NAMES[key] ?? key}</kbd>
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <form method="dialog">
          <button>Close</button>
        </form>
      </dialog>
    </>
  );
}
