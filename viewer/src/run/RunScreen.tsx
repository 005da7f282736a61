/** A run: its verdict, then what is wrong, then everything else; beside it the case that is selected. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Address, go, link, setQuery } from "../address";
import { CaseView } from "../case/CaseView";
import { useCase, useSource } from "../data/use";
import { capital, count, isWrong, meaning, nouns } from "../format";
import { Frame } from "../frame";
import { useKeys } from "../keys";
import { Dock } from "../live/Dock";
import { News, useKnown } from "../live/news";
import type { Outcome, Run } from "../model";
import { useMedia } from "../parts/media";
import { Sign } from "../parts/Sign";
import { VirtualList } from "../parts/VirtualList";
import { CaseLine, type Choose } from "./CaseLine";
import { CauseBlock } from "./CauseBlock";
import { Compared } from "./Compared";
import { Coverage } from "./Coverage";
import { casesOf, type ListRow, listRows, ORDERS, type Order } from "./rows";
import { type Found, useSearch } from "./search";
import { TimeLine } from "./TimeLine";
import "./run.css";

/** From here on the selected case stands beside the list. */
const TWO_COLUMNS = "(min-width: 1100px)";
export function RunScreen({ run, address }: { run: Run; address: Address }) {
  const tab = address.path[0] ?? "";
  const sought = address.query.get("q") ?? "";
  const field = useRef<HTMLInputElement>(null);
  useKeys({
    "/": ["search names, texts and bodies", () => field.current?.focus()],
    Escape: ["clear the search", () => setQuery({ q: null, outcome: null })],
  });
  const search = (
    <label class="searching">
      <span class="unseen">Search names, texts and bodies</span>
      <input
        class="search"
        id="search"
        type="search"
        placeholder="Search everything  /"
        ref={field}
        value={sought}
        onInput={(event) => setQuery({ q: event.currentTarget.value })}
        onKeyDown={(event) => event.key === "Enter" && field.current?.blur()}
      />
    </label>
  );
  return (
    <Frame run={run} below={<Verdict run={run} tab={tab} outcome={address.query.get("outcome")} order={address.query.get("order")} search={search} />}>
      {tab === "coverage" ? <Coverage run={run} sought={sought} /> : <Tests run={run} address={address} />}
    </Frame>
  );
}

const NAMES: { readonly [outcome in Outcome]?: string } = {
  error: "errors",
  xfailed: "failed as expected",
  xpassed: "passed unexpectedly",
};

/** The name of an outcome after its number: `passed`; those that are open have the name of what they are. */
function outcomeName(run: Run, outcome: string, value: number): string {
  return outcome === "open" ? nouns(run)[value === 1 ? 0 : 1] : (NAMES[outcome as Outcome] ?? outcome);
}

interface VerdictShape {
  readonly run: Run;
  readonly tab: string;
  readonly outcome: string | null;
  readonly order: string | null;
  readonly search: ComponentChildren;
}

function CauseOrder({ order }: { order: string | null }) {
  const isNewest = order === "newest";
  return (
    <>
      {" · "}
      <button class="act" onClick={() => setQuery({ order: isNewest ? null : "newest" })}>
        {isNewest ? "original order" : "newest first"}
      </button>
    </>
  );
}

function Verdict({ run, tab, outcome, order, search }: VerdictShape) {
  const counts = (Object.entries(run.counts) as [Outcome, number][]).filter(([, value]) => value > 0);
  const total = counts.reduce((sum, [, value]) => sum + value, 0);
  const listed = new Set<string>(run.cases.map((row) => row.outcome));
  const ranks: readonly Outcome[] = ["failed", "error", "xpassed", "open", "passed", "skipped", "xfailed"];
  const tabs = [
    ["", capital(nouns(run)[1])],
    ...(Object.keys(run.coverage).length > 0 || run.source === "pytest" ? [["coverage", "Coverage"]] : []),
    ...(run.examination ? [["examine", "Examine"]] : []),
  ] as const;
  return (
    <div class="verdict">
      <h1 class="counts" title={run.line}>
        {counts
          .sort(([one], [other]) => ranks.indexOf(one) - ranks.indexOf(other))
          .map(([name, value]) => (
            <a
              key={name}
              class={meaning(name)}
              {...(listed.has(name) ? { href: link.run({ outcome: outcome === name ? null : name }) } : {})}
              aria-current={outcome === name || undefined}
            >
              <Sign of={meaning(name)} label="" /> {value.toLocaleString("en")} {outcomeName(run, name, value)}
            </a>
          ))}
        {run.cases.length < total && <span class="dim">{run.cases.length.toLocaleString("en")} of them used the mock</span>}
        {run.causes.length > 0 && (
          <span class="dim">
            {count(run.causes.length, "cause")}
            {run.causes.length > 1 && !tab && <CauseOrder order={order} />}
          </span>
        )}
        {counts.length === 0 && <span class="dim">{run.source === "serve" ? "No World yet" : `No ${nouns(run)[0]}`}</span>}
      </h1>
      {search}
      <nav class="tabs" aria-label="Views of this run">
        {tabs.map(([name, title]) => (
          <a key={name} href={name ? link.tab(name) : link.run()} aria-current={name === tab ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
    </div>
  );
}

/** Of a server's Worlds, those of a client: the program that sent the first request. */
function ofClient(run: Run, client: string | null): Run {
  if (!client) return run;
  const cases = run.cases.filter((row) => row.client === client);
  const ids = new Set(cases.map((row) => row.id));
  return { ...run, cases, causes: run.causes.filter((group) => group.cases.some(([id]) => ids.has(id))) };
}

function LiveTools({ run, client, paused, pause }: { run: Run; client: string | null; paused: boolean; pause: () => void }) {
  const clients = [...new Set(run.cases.map((row) => row.client).filter(Boolean))].sort();
  return (
    <p class="row small live-tools">
      <button class="act" aria-pressed={paused} onClick={pause}>
        {paused ? "▸ resume" : "‖ pause the list"}
      </button>
      {clients.length > 1 && (
        <label>
          <span class="unseen">Client</span>
          <select value={client ?? ""} onChange={(event) => setQuery({ client: event.currentTarget.value, select: null })}>
            <option value="">all clients</option>
            {clients.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
    </p>
  );
}

function Tests({ run: current, address }: { run: Run; address: Address }) {
  const source = useSource();
  const { query } = address;
  const [paused, setPaused] = useState<Run>();
  const client = query.get("client");
  const whole = useMemo(() => ofClient(paused ?? current, client), [paused ?? current, client]);
  const { known: run, news, show } = useKnown(whole, source.live);
  const wide = useMedia(TWO_COLUMNS);
  const found = useSearch(run, query.get("q") ?? "");
  const given = query.get("order");
  const order: Order = given && given in ORDERS ? (given as Order) : source.live ? "newest" : "file";
  const unfolded = query.get("open") ?? (run.cases.some(isWrong) ? "" : "passed");
  const wanted = { outcome: query.get("outcome"), order, opened: new Set(unfolded.split(",")), found };
  const rows = useMemo(() => listRows(run, wanted), [run, order, unfolded, wanted.outcome, found?.looked, found?.lines.size, query.get("q")]);
  const ids = useMemo(() => casesOf(rows), [rows]);
  const selected = query.get("select") ?? (wide ? ids[0] : undefined);
  const index = rows.findIndex((row) => casesOf([row]).includes(selected ?? ""));
  const [moved, setMoved] = useState<number>();

  const move = (step: number) => {
    const next = ids[Math.min(ids.length - 1, Math.max(0, ids.indexOf(selected ?? "") + step))];
    if (next === undefined) return;
    setQuery({ select: next });
    setMoved(rows.findIndex((row) => casesOf([row]).includes(next)));
  };
  useKeys({
    j: ["next test", () => move(1)],
    k: ["previous test", () => move(-1)],
    ArrowDown: ["next test", () => move(1)],
    ArrowUp: ["previous test", () => move(-1)],
    Enter: ["open the selected test", () => selected !== undefined && go(link.case(selected))],
  });
  const choose: Choose = (id, event) => {
    if (!wide || event.ctrlKey || event.metaKey || event.shiftKey || id === selected) return;
    event.preventDefault();
    setQuery({ select: id });
  };
  const toggle = (outcome: string) => {
    const opened = new Set(wanted.opened);
    if (!opened.delete(outcome)) opened.add(outcome);
    setQuery({ open: [...opened].filter(Boolean).join(",") || "none" });
  };
  const render = (row: ListRow) => <Row {...{ run, row, selected, choose, toggle, order }} />;
  return (
    <div class={wide && ids.length > 0 ? "two" : "one"}>
      <main class="scrolls screen list" tabIndex={-1}>
        {source.live && <LiveTools run={current} client={client} paused={paused !== undefined} pause={() => setPaused(paused ? undefined : current)} />}
        <News above count={news} what={news === 1 ? "World" : "Worlds"} show={show} />
        {run.comparison && !found && !wanted.outcome && <Compared run={run} comparison={run.comparison} />}
        {!source.live && !found && <TimeLine rows={run.cases} selected={selected} choose={choose} />}
        {found && <Searched found={found} order={order} />}
        {rows.length === 0 && <Empty run={run} found={found} outcome={wanted.outcome} />}
        <VirtualList
          items={rows}
          keyOf={keyOf}
          estimate={30}
          label={capital(nouns(run)[1])}
          selected={moved !== undefined && index >= 0 ? index : undefined}
          render={render}
        />
      </main>
      {wide && selected !== undefined && ids.length > 0 && <Beside run={run} id={selected} />}
    </div>
  );
}

function keyOf(row: ListRow): string {
  if (row.kind === "case") return `case ${row.row.id}`;
  if (row.kind === "cause") return `cause ${row.group.id}`;
  return row.kind === "fold" ? row.outcome : `${row.kind} ${row.kind === "file" ? row.file : row.text}`;
}

interface RowShape {
  readonly run: Run;
  readonly row: ListRow;
  readonly selected: string | undefined;
  readonly choose: Choose;
  readonly toggle: (outcome: string) => void;
  readonly order: Order;
}

function Row({ run, row, selected, choose, toggle, order }: RowShape) {
  if (row.kind === "note")
    return (
      <p class="note wrap">
        <Sign of="doubtful" /> {row.text}
      </p>
    );
  if (row.kind === "file")
    return (
      <h3 class="file wrap">
        {row.file}
        <span> {row.count}</span>
      </h3>
    );
  if (row.kind === "case") return <CaseLine row={row.row} line={row.line} selected={row.row.id === selected} choose={choose} />;
  if (row.kind === "cause") return <CauseBlock run={run} group={row.group} cases={row.cases} opened={row.first} selected={selected} choose={choose} />;
  return (
    <div class="fold">
      <button class="quiet" aria-expanded={row.opened} onClick={() => toggle(row.outcome)}>
        <span class="dim">{row.opened ? "▾" : "▸"}</span> <Sign of={meaning(row.outcome)} label="" /> {row.count.toLocaleString("en")}{" "}
        {outcomeName(run, row.outcome, row.count)}
      </button>
      {row.opened && <Orders order={order} />}
    </div>
  );
}

function Orders({ order }: { order: Order }) {
  return (
    <label class="dim small">
      <span class="unseen">Order</span>
      <select value={order} onChange={(event) => setQuery({ order: event.currentTarget.value })}>
        {Object.entries(ORDERS).map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

function Searched({ found, order }: { found: Found; order: Order }) {
  const done = found.looked >= found.all;
  return (
    <div class="fold small dim">
      <p aria-live="polite" id="found">
        {count(found.lines.size, "hit")}
        {!done && `, ${found.looked.toLocaleString("en")} of ${found.all.toLocaleString("en")} bodies read …`}
      </p>
      <Orders order={order} />
    </div>
  );
}

function Empty({ run, found, outcome }: { run: Run; found: Found | undefined; outcome: string | null }) {
  if (found)
    return (
      <p class="empty">
        No matches. Press <kbd>Esc</kbd> to see everything again.
      </p>
    );
  if (outcome)
    return (
      <p class="empty">
        None {outcomeName(run, outcome, 0)}. <a href={link.run()}>Show all.</a>
      </p>
    );
  if (run.source === "serve")
    return (
      <p class="empty">
        No requests yet. Point a client at this server: <code>OPENAI_BASE_URL={location.origin}/v1</code>, with any key that begins with <code>sk-</code>.
      </p>
    );
  return (
    <p class="empty">
      No test used the mock. Tests that use the fixture <code>mock</code>, or a cassette, appear here.
    </p>
  );
}

/** How many milliseconds a selection lasts before its case is opened: who walks through a list opens none. */
const REST = 120;

function Beside({ run, id }: { run: Run; id: string }) {
  const [settled, setSettled] = useState(id);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(id), REST);
    return () => clearTimeout(timer);
  }, [id]);
  const { value: opened, problem, loading } = useCase(settled);
  return (
    <section class="scrolls screen beside" aria-label={`The selected ${nouns(run)[0]}`} aria-busy={settled !== id} tabIndex={-1} key={settled}>
      {opened ? <CaseView run={run} opened={opened} beside /> : <p class="empty">{problem?.message ?? (loading ? "Opening …" : "It no longer exists.")}</p>}
      {opened?.row.outcome === "open" && <Dock world={settled} />}
    </section>
  );
}
