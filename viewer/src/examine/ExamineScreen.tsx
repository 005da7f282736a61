/** Clients side by side: a row a cause, a column a client; a cell opens what the client did, beside one that did well. */
import "./examine.css";
import { go, link, setQuery, useAddress } from "../address";
import { count } from "../format";
import { useKeys } from "../keys";
import type { Run, ShownCell, ShownExamination } from "../model";
import { Sign } from "../parts/Sign";
import { CellScreen } from "./CellScreen";
import { type CauseRow, type Change, causesOf, changesBetween, meaningOf, passedOf } from "./matrix";

export const linkToCell = (cell: ShownCell): string => link.tab("examine", { case: cell.case, client: cell.client, mode: cell.mode });

export function ExamineScreen({ run }: { run: Run }) {
  const { query } = useAddress();
  const { examination } = run;
  if (!examination) return <NoExamination />;
  const cell = examination.cells.find(
    ({ case: id, client, mode }) => id === query.get("case") && client === query.get("client") && mode === (query.get("mode") ?? ""),
  );
  if (cell) return <CellScreen run={run} examination={examination} cell={cell} />;
  return <Matrix run={run} examination={examination} />;
}

function NoExamination() {
  useKeys({ Escape: ["back to the run", () => go(link.run())] });
  return (
    <main class="scrolls screen" tabIndex={-1}>
      <p class="empty">
        This run examined no client. To examine one, run <code>responses-harness examine ADAPTER --report FILE.html</code>.
      </p>
    </main>
  );
}

/** In the address: no client is compared with another. */
const ALL = "all";

const CHANGES: readonly (readonly [Change, string])[] = [
  ["new", "new"],
  ["gone", "gone"],
  ["both", "in both"],
];

function Matrix({ run: { line, comparison }, examination }: { run: Run; examination: ShownExamination }) {
  const { query } = useAddress();
  useKeys({ Escape: ["back to the run", () => go(link.run())] });
  const [first] = comparison?.clients ?? [];
  const [old, now] = query.has("old") || query.has("new") || !first ? [query.get("old") ?? "", query.get("new") ?? ""] : first;
  const compared = examination.clients.includes(old) && examination.clients.includes(now) && old !== now;
  const clients = compared ? [old, now] : examination.clients;
  const changes = compared ? changesBetween(examination.cells, old, now) : null;
  const wanted = query.get("change");
  const cells = examination.cells.filter((cell) => clients.includes(cell.client) && (!changes || isWanted(changes.get(cell), wanted)));
  const causes = causesOf(cells);
  const passed = passedOf({ ...examination, cells: examination.cells.filter((cell) => clients.includes(cell.client)) });
  return (
    <main class="scrolls screen" tabIndex={-1}>
      <h1>{count(causes.length, "cause")}</h1>
      {line && <p class="dim small wrap">{line}</p>}
      {examination.clients.length > 1 && <Comparison examination={examination} old={old} now={now} />}
      {changes && <ChangeCounts changes={changes} wanted={wanted} />}
      {causes.length === 0 ? (
        <p class="empty">{changes ? "Nothing matches this choice." : "Every client passed every case that it ran."}</p>
      ) : (
        <CauseTable causes={causes} clients={clients} examination={examination} changes={changes} />
      )}
      <Passed passed={passed} examination={examination} />
    </main>
  );
}

const isWanted = (change: Change | undefined, wanted: string | null): boolean => change !== undefined && (!wanted || change === wanted);

function Comparison({ examination, old, now }: { examination: ShownExamination; old: string; now: string }) {
  const choice = (name: "old" | "new", value: string, label: string) => (
    <label>
      {label}{" "}
      <select value={value} onChange={(event) => setQuery({ [name]: event.currentTarget.value, change: null })}>
        <option value="">…</option>
        {examination.clients.map((client) => (
          <option key={client} value={client}>
            {client}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <p class="examine-compare">
      {choice("old", old, "What changed from")}
      {choice("new", now, "to")}
      {((old && old !== ALL) || now) && (
        <button class="act" onClick={() => setQuery({ old: ALL, new: null, change: null })}>
          all clients
        </button>
      )}
    </p>
  );
}

function ChangeCounts({ changes, wanted }: { changes: ReadonlyMap<ShownCell, Change>; wanted: string | null }) {
  const counted = (name: Change) => [...changes.values()].filter((change) => change === name).length / (name === "both" ? 2 : 1);
  return (
    <p class="counts">
      {CHANGES.map(([name, label]) => (
        <button key={name} class="quiet" aria-pressed={wanted === name} onClick={() => setQuery({ change: wanted === name ? null : name })}>
          <span class={name === "new" ? "wrong" : name === "gone" ? "right" : ""}>
            {counted(name)} {label}
          </span>
        </button>
      ))}
    </p>
  );
}

interface CauseTableProps {
  readonly causes: readonly CauseRow[];
  readonly clients: readonly string[];
  readonly examination: ShownExamination;
  readonly changes: ReadonlyMap<ShownCell, Change> | null;
}

function CauseTable({ causes, clients, examination, changes }: CauseTableProps) {
  return (
    <div class="scrolls matrix-box" tabIndex={0} role="region" aria-label="Causes by client">
      <table class="matrix">
        <thead>
          <tr>
            <th scope="col">cause</th>
            {clients.map((client) => (
              <th scope="col" key={client}>
                {client}
              </th>
            ))}
          </tr>
        </thead>
        {causes.map((cause) => (
          <Cause key={cause.group} cause={cause} clients={clients} examination={examination} changes={changes} />
        ))}
      </table>
    </div>
  );
}

function Cause({ cause, clients, examination, changes }: { cause: CauseRow } & Omit<CauseTableProps, "causes">) {
  return (
    <tbody>
      <tr class="cause">
        <th scope="rowgroup" colSpan={clients.length + 1}>
          <Sign of={cause.isFailure ? "wrong" : "doubtful"} /> {cause.reason}
        </th>
      </tr>
      {cause.cases.map((id) => (
        <tr key={id}>
          <th scope="row">
            <span class="mono">{id}</span>
            <span class="dim matrix-title"> {titleOf(examination, id)}</span>
          </th>
          {clients.map((client) => (
            <td key={client}>
              <Cells cells={examination.cells.filter((cell) => cell.case === id && cell.client === client)} cause={cause} changes={changes} />
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  );
}

function titleOf(examination: ShownExamination, id: string): string {
  const title = examination.cases[id]?.["title"];
  return typeof title === "string" ? title : "";
}

/** The cells of a client in a case: those of the cause by mode, the others summed up. */
function Cells({ cells, cause, changes }: { cells: readonly ShownCell[]; cause: CauseRow; changes: CauseTableProps["changes"] }) {
  if (cells.length === 0) return <span class="dim">not run</span>;
  const own = cells.filter((cell) => cell.group === cause.group);
  const others = cells.filter((cell) => cell.group !== cause.group);
  const verdicts = [...new Set(others.map((cell) => cell.verdict))];
  return (
    <>
      {own.map((cell) => (
        <a key={cell.mode} class={`cell ${meaningOf(cell.verdict)}`} href={linkToCell(cell)}>
          <Sign of={meaningOf(cell.verdict)} label={cell.verdict} /> {cell.mode || cell.verdict}
          {changes?.get(cell) === "new" && <b> new</b>}
          {changes?.get(cell) === "gone" && <b> gone</b>}
        </a>
      ))}
      {verdicts.map((verdict) => {
        const some = others.filter((cell) => cell.verdict === verdict);
        return (
          <a key={verdict} class={`cell ${meaningOf(verdict)}`} href={linkToCell(some[0] as ShownCell)}>
            <Sign of={meaningOf(verdict)} label="" /> {some.length > 1 ? `${some.length} × ` : ""}
            {verdict}
          </a>
        );
      })}
    </>
  );
}

function Passed({ passed, examination }: { passed: readonly string[]; examination: ShownExamination }) {
  if (passed.length === 0) return null;
  return (
    <details class="examine-passed">
      <summary>
        <Sign of="right" label="" /> {count(passed.length, "case")} passed by every client
      </summary>
      <ul>
        {passed.map((id) => (
          <li key={id}>
            <span class="mono">{id}</span> <span class="dim">{titleOf(examination, id)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
