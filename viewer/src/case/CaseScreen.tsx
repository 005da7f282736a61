/** A test or a World on a screen of its own: its turns, its diagram, its transcript. */
import { useState } from "preact/hooks";
import { type Address, go, link, setQuery } from "../address";
import type { OpenedCase } from "../data/opened";
import { useKeys } from "../keys";
import type { Run } from "../model";
import { CaseHead, CaseView } from "./CaseView";
import { Diagram } from "./Diagram";
import { Transcripts } from "./Transcripts";

const VIEWS = { turns: "Turns", diagram: "Diagram", transcript: "Transcript" } as const;
type View = keyof typeof VIEWS;

export function CaseScreen({ run, opened, address }: { run: Run; opened: OpenedCase; address: Address }) {
  const given = address.query.get("view") ?? "turns";
  const view: View = given in VIEWS ? (given as View) : "turns";
  const numbers = opened.exchanges.map((exchange) => exchange.number);
  const failed = opened.row.causes.find((cause) => cause.exchange > 0)?.exchange;
  const selected = Number(address.query.get("select")) || failed || numbers[0];
  const [moved, setMoved] = useState<number>();
  const move = (step: number) => {
    const next = Math.min(numbers.length - 1, Math.max(0, numbers.indexOf(selected ?? 0) + step));
    setMoved(next);
    setQuery({ select: numbers[next] ?? null });
  };
  const see = (name: View) => setQuery({ view: name === "turns" ? null : name });
  useKeys({
    j: ["next turn", () => move(1)],
    k: ["previous turn", () => move(-1)],
    ArrowDown: ["next turn", () => move(1)],
    ArrowUp: ["previous turn", () => move(-1)],
    Enter: ["open the request", () => selected !== undefined && go(link.case(opened.id, selected))],
    Escape: ["back to all tests", () => go(link.run({ select: opened.id }))],
    1: ["turns", () => see("turns")],
    2: ["diagram", () => see("diagram")],
    3: ["transcript", () => see("transcript")],
  });
  return (
    <main class="screen scrolls" tabIndex={-1}>
      <nav class="tabs views" aria-label="Views of this test">
        {(Object.keys(VIEWS) as View[]).map((name) => (
          <a
            key={name}
            href={link.case(opened.id, undefined, undefined, name === "turns" ? {} : { view: name })}
            aria-current={name === view ? "page" : undefined}
          >
            {VIEWS[name]}
          </a>
        ))}
      </nav>
      {view === "turns" ? (
        <CaseView run={run} opened={opened} selected={selected} moved={moved} />
      ) : (
        <>
          <CaseHead opened={opened} />
          {view === "diagram" && <Diagram opened={opened} />}
          {view === "transcript" && <Transcripts opened={opened} />}
        </>
      )}
    </main>
  );
}
