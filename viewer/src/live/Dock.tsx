/** What can be done in a World that lives: its script, requests that wait, steps, gates, background, time, its end. */
import { useEffect, useRef, useState } from "preact/hooks";
import { go, link } from "../address";
import { LiveSource } from "../data/live";
import { useSource } from "../data/use";
import { count } from "../format";
import { Sign } from "../parts/Sign";
import type { Act } from "./act";
import { Held, type HeldRequest } from "./Held";
import { type QueuedTurn, Script } from "./Script";
import "./dock.css";

/** What waits in a World, as `GET /_harness/waiting` lists it. */
interface Waiting {
  readonly turns: readonly QueuedTurn[];
  readonly holds: boolean;
  readonly requests: readonly HeldRequest[];
  readonly stepped: number | null;
  readonly gates: readonly string[];
  readonly background: readonly string[];
}

/** How often is asked whether an answer has come to its next step, in milliseconds: that is no event. */
const STEPPING = 400;

export function Dock({ world }: { world: string }) {
  const source = useSource();
  return source instanceof LiveSource ? <LiveDock world={world} source={source} /> : null;
}

function LiveDock({ world, source }: { world: string; source: LiveSource }) {
  const [waiting, setWaiting] = useState<Waiting>();
  const [problem, setProblem] = useState("");
  const asked = useRef(0);
  const shown = useRef(0);
  const look = () => {
    const number = ++asked.current;
    const show = (next: (known: Waiting | undefined) => Waiting | undefined) => {
      if (number < shown.current) return; // answers may overtake each other: an older one does not undo a newer one
      shown.current = number;
      setWaiting(next);
    };
    return source.act<Waiting>("GET", "/waiting", world).then(
      (found) => show((known) => (JSON.stringify(known) === JSON.stringify(found) ? known : found)),
      () => show(() => undefined),
    );
  };
  useEffect(() => {
    shown.current = ++asked.current; // what was asked about another World is not shown in this one
    setWaiting(undefined);
    void look();
    return source.watch(() => void look());
  }, [world, source]);
  useEffect(() => {
    if (waiting?.stepped === undefined || waiting.stepped === null) return;
    const timer = setInterval(() => void look(), STEPPING);
    return () => clearInterval(timer);
  }, [waiting?.stepped !== null, world]);
  const act: Act = async (path, body, method = "POST") => {
    try {
      await source.act(method, path, world, body);
      setProblem("");
      await look();
      return true;
    } catch (problem) {
      setProblem(problem instanceof Error ? problem.message : String(problem));
      return false;
    }
  };
  if (!waiting) return null;
  return (
    <section class="dock" aria-label="Controls of this World">
      {problem && (
        <p class="wrong wrap" role="alert">
          <Sign of="wrong" label="" /> {problem}{" "}
          <button class="act" onClick={() => setProblem("")}>
            dismiss
          </button>
        </p>
      )}
      {waiting.requests.map((request) => (
        <Held key={request.request} request={request} act={act} />
      ))}
      <div class="dock-row">
        <Script turns={waiting.turns} act={act} />
        <Switch on={waiting.holds} label="answer requests by hand" path="/hold" act={act} />
        <Steps stepped={waiting.stepped} act={act} />
        {waiting.gates.map((gate) => (
          <button key={gate} onClick={() => act("/open", { gate })}>
            open gate “{gate}”
          </button>
        ))}
        {waiting.background.length > 0 && (
          <button onClick={() => act("/advance", {})} title={waiting.background.join(", ")}>
            advance {count(waiting.background.length, "background response")}
          </button>
        )}
        <Time act={act} />
        <Reset world={world} act={act} />
      </div>
    </section>
  );
}

function Switch({ on, label, path, act }: { on: boolean; label: string; path: string; act: Act }) {
  // What was clicked stays shown until the server has answered: what it said before is drawn again meanwhile.
  const [clicked, setClicked] = useState<boolean>();
  const change = async (to: boolean) => {
    setClicked(to);
    await act(path, { on: to });
    setClicked(undefined);
  };
  return (
    <label class="switch">
      <input type="checkbox" checked={clicked ?? on} onChange={(event) => void change(event.currentTarget.checked)} /> {label}
    </label>
  );
}

function Steps({ stepped, act }: { stepped: number | null; act: Act }) {
  return (
    <>
      <Switch on={stepped !== null} label="event by event" path="/step" act={act} />
      {stepped !== null && (
        <button disabled={stepped === 0} onClick={() => act("/step", {})}>
          {stepped === 0 ? "no stream is waiting" : "next event ▸"}
        </button>
      )}
    </>
  );
}

function Time({ act }: { act: Act }) {
  const [seconds, setSeconds] = useState("3600");
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        void act("/skip", { seconds: Number(seconds) });
      }}
    >
      <label>
        <span class="unseen">Seconds to skip</span>
        <input
          class="seconds"
          type="number"
          min="0"
          max="9007199254740991"
          step="1"
          value={seconds}
          onInput={(event) => setSeconds(event.currentTarget.value)}
        />{" "}
        s
      </label>
      <button>skip</button>
    </form>
  );
}

function Reset({ world, act }: { world: string; act: Act }) {
  const [asked, setAsked] = useState(false);
  if (!asked) return <button onClick={() => setAsked(true)}>reset</button>;
  return (
    <span class="row">
      Delete everything in “{world}”?{" "}
      <button class="primary" onClick={async () => (await act("/world", {}, "DELETE")) && go(link.run())}>
        delete
      </button>
      <button onClick={() => setAsked(false)}>cancel</button>
    </span>
  );
}
