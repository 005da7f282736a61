/** What a client did in a case, beside a client that did well. */
import type { ComponentChildren } from "preact";
import { go, link, setQuery, useAddress } from "../address";
import { Diagram } from "../case/Diagram";
import type { OpenedCase } from "../data/opened";
import { useCase } from "../data/use";
import { count } from "../format";
import { useKeys } from "../keys";
import type { Run, ShownCell, ShownExamination } from "../model";
import { Copy } from "../parts/Copy";
import { Sign } from "../parts/Sign";
import { Linked } from "../parts/Text";
import { meaningOf, rightOneFor } from "./matrix";

interface CellScreenProps {
  readonly run: Run;
  readonly examination: ShownExamination;
  readonly cell: ShownCell;
}

/** The detail that says in a text what the case of a cell shows. */
const FLOW = "flow";

const nameOf = (cell: ShownCell): string => [cell.client, cell.mode].filter(Boolean).join(" · ");

export function CellScreen({ examination, cell }: CellScreenProps) {
  const { query } = useAddress();
  useKeys({ Escape: ["back to the clients", () => go(link.tab("examine"))] });
  const others = examination.cells.filter((other) => other.case === cell.case && other !== cell && other.verdict !== "not applicable");
  const beside = others.find((other) => nameOf(other) === query.get("beside")) ?? rightOneFor(examination.cells, cell);
  const about = examination.cases[cell.case] ?? {};
  const told = ["title", "does", "shows", "source"].map((name) => [name, about[name]] as const);
  return (
    <main class="scrolls screen" tabIndex={-1}>
      <h1 class="mono">{cell.case}</h1>
      <dl class="pairs">
        {told.map(([name, value]) =>
          typeof value === "string" && value ? (
            <>
              <dt>{name}</dt>
              <dd>
                <Linked text={value} />
              </dd>
            </>
          ) : null,
        )}
      </dl>
      <div class="columns">
        <Side cell={cell} />
        {beside && beside !== cell && (
          <Side cell={beside}>
            {others.length > 1 && (
              <label class="small dim">
                compared with{" "}
                <select value={nameOf(beside)} onChange={(event) => setQuery({ beside: event.currentTarget.value })}>
                  {others.map((other) => (
                    <option key={nameOf(other)} value={nameOf(other)}>
                      {nameOf(other)}: {other.verdict}
                    </option>
                  ))}
                </select>
              </label>
            )}
          </Side>
        )}
      </div>
    </main>
  );
}

function Side({ cell, children }: { cell: ShownCell; children?: ComponentChildren }) {
  return (
    <section class="cell-side">
      <h2>
        <Sign of={meaningOf(cell.verdict)} label="" /> {cell.client}{" "}
        <span class="dim">
          {cell.mode} {cell.verdict}
        </span>
      </h2>
      {children}
      {cell.reason && <p class={`prose ${meaningOf(cell.verdict)}`}>{cell.reason}</p>}
      <dl class="cell-details">
        {cell.details
          .filter(([name, value]) => value !== cell.reason && (name !== FLOW || !cell.flow))
          .map(([name, value], index) => (
            <div key={index}>
              <dt>{name}</dt>
              <dd class={value.includes("\n") ? "mono" : ""}>{value}</dd>
            </div>
          ))}
      </dl>
      {cell.flow && <Flow id={cell.flow} />}
      {cell.reproduce && (
        <p class="acts">
          <code>{cell.reproduce}</code> <Copy text={() => cell.reproduce} label="copy the command" />
        </p>
      )}
    </section>
  );
}

/** The requests and answers of the case that shows it, a line each. */
function Flow({ id }: { id: string }) {
  const { value: opened, problem, loading } = useCase(id);
  if (problem) return <p class="wrong">{problem.message}</p>;
  if (!opened) return loading ? <p class="dim">Opening …</p> : null;
  return <FlowList opened={opened} />;
}

function FlowList({ opened }: { opened: OpenedCase }) {
  if (opened.exchanges.length === 0) return <Diagram opened={opened} />;
  return (
    <ol class="flow">
      {opened.exchanges.map(({ number, shown }) => (
        <li key={number}>
          <a href={link.case(opened.id, number)}>
            <span class="flow-number dim">{number}</span>
            <span>
              {shown.before > 0 && <span class="dim">({count(shown.before, "item")} as before) </span>}
              {shown.gist || shown.path}
            </span>
            <span class={shown.error && !shown.asked ? "wrong" : "dim"}>
              {shown.error ? `✗ ${shown.status} ${shown.error}` : `→ ${shown.said || shown.status}`}
            </span>
          </a>
        </li>
      ))}
      <li>
        <a href={link.case(opened.id)}>the whole flow</a>
      </li>
    </ol>
  );
}
