/** Lets components read a source; they are drawn again when it changes. */
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { OpenedCase } from "./opened";
import type { Source } from "./source";

export const SourceContext = createContext<Source | undefined>(undefined);

export function useSource(): Source {
  const source = useContext(SourceContext);
  if (!source) throw new Error("a component is drawn outside the page");
  return source;
}

export interface Loaded<T> {
  readonly value?: T;
  readonly problem?: Error;
  readonly loading: boolean;
}

/** Loads a value, and again whenever the source has changed; the former one is shown until then. */
function useLoaded<T>(key: string, load: () => Promise<T>): Loaded<T> {
  const source = useSource();
  const [state, setState] = useState<Loaded<T> & { key: string }>({ key, loading: true });
  useEffect(() => {
    let ended = false;
    const begin = () =>
      load().then(
        (value) => ended || setState((known) => (known.key === key && known.value === value && !known.problem ? known : { key, value, loading: false })),
        (problem: Error) => ended || setState({ key, problem, loading: false }),
      );
    void begin();
    const stop = source.watch(() => void begin());
    return () => {
      ended = true;
      stop();
    };
  }, [key, source]);
  return state.key === key ? state : { loading: true };
}

export function useRun() {
  const source = useSource();
  return useLoaded("run", () => source.run());
}

export function useCase(id: string): Loaded<OpenedCase | undefined> {
  const source = useSource();
  return useLoaded(`case ${id}`, () => source.open(id));
}
