/** A case: what it is, why it failed, then its turns. */
import { link } from "../address";
import type { OpenedCase } from "../data/opened";
import { Transcript } from "../exchange/Transcript";
import { count, date, flaky, meaning, place, seconds, title } from "../format";
import { EditTurn } from "../live/EditTurn";
import { News, useUnseen } from "../live/news";
import type { Run } from "../model";
import { useMedia } from "../parts/media";
import { Sign } from "../parts/Sign";
import { CauseRows, Consequences } from "../run/CauseBlock";
import { laneColour } from "./Card";
import { Turns } from "./Turns";
import "./case.css";

interface Shape {
  readonly run: Run;
  readonly opened: OpenedCase;
  /** Whether it stands beside the list, where its causes stand already. */
  readonly beside?: boolean;
  readonly selected?: number | undefined;
  readonly moved?: number | undefined;
}

/** From here on what the model saw in the selected turn stands beside the turns, unless the causes do. */
const ROOM = "(min-width: 1500px)";

export function CaseView({ run, opened, beside = false, selected, moved }: Shape) {
  const { unseen, end, show } = useUnseen(opened.exchanges.length);
  const roomy = useMedia(ROOM);
  const exchange = selected === undefined ? undefined : opened.exchange(selected);
  const previewed = !beside && roomy && !hasCauses(opened) && exchange;
  return (
    <div class="case-view">
      <CaseHead opened={opened} />
      <div class="case-columns">
        {!beside && <Causes run={run} opened={opened} />}
        <div class="case-turns">
          <Turns opened={opened} selected={selected} moved={moved} />
          {opened.exchanges.length === 0 && <p class="empty">No request came{opened.row.outcome === "open" ? " yet" : ""}.</p>}
          <Waiting opened={opened} />
          <Printed opened={opened} />
          <div ref={end} />
        </div>
        {previewed && (
          <section class="preview exchange" aria-label={`Request ${previewed.number}`}>
            <h2>
              <a href={link.case(opened.id, previewed.number)}>Request {previewed.number}: what the model saw</a>
            </h2>
            <Transcript run={run} opened={opened} exchange={previewed} key={previewed.number} />
          </section>
        )}
      </div>
      {opened.row.outcome === "open" && <News count={unseen} what="" show={show} />}
    </div>
  );
}

export function CaseHead({ opened }: { opened: OpenedCase }) {
  const { row } = opened;
  const facts = [
    row.file && place(row),
    row.outcome !== "open" && seconds(row.seconds),
    count(opened.exchanges.length, "request"),
    flaky(row),
    row.began ? date(row.began) : "",
  ];
  return (
    <header class="case-head">
      <h1 class="wrap">
        <Sign of={meaning(row.outcome)} label={row.outcome} /> <a href={link.case(opened.id)}>{title(row)}</a>
      </h1>
      <p class="row dim small">
        {facts.filter(Boolean).map((fact) => (
          <span key={String(fact)} class="wrap">
            {fact}
          </span>
        ))}
        {opened.lanes.length > 1 &&
          opened.lanes.map((name, lane) => (
            <span key={name}>
              <span style={{ color: laneColour(lane) }}>■</span> {name}
            </span>
          ))}
      </p>
    </header>
  );
}

/** What the test printed and logged. */
function Printed({ opened }: { opened: OpenedCase }) {
  if (opened.printed.length === 0) return null;
  return (
    <section class="printed small" aria-label="What the test printed">
      {opened.printed.map(([name, text]) => (
        <details key={name}>
          <summary class="dim">{name}</summary>
          <pre class="mono wrap">{text}</pre>
        </details>
      ))}
    </section>
  );
}

const hasCauses = ({ row }: OpenedCase) => row.consequences.length > 0 || row.causes.length > 0;

export function Causes({ run, opened }: { run: Run; opened: OpenedCase }) {
  const wrong = opened.row.causes;
  if (!hasCauses(opened)) return null;
  return (
    <section class="causes" aria-label="Why it failed">
      {wrong.map((cause, index) => (
        <details key={index} class="why" open={index === 0}>
          <summary>
            <Sign of="wrong" /> <strong class="wrap">{cause.what}</strong>
          </summary>
          <CauseRows run={run} cause={cause} id={opened.id} />
        </details>
      ))}
      <Consequences row={opened.row} />
    </section>
  );
}

function Waiting({ opened }: { opened: OpenedCase }) {
  const lives = opened.row.outcome === "open";
  if (opened.waiting.length === 0 && opened.gates.length === 0) return null;
  return (
    <section class="waiting small dim">
      {opened.waiting.map((turn, index) => (
        <div key={`${index} ${turn.text}`} class="wrap">
          <Sign of={lives ? "open" : "neutral"} label="" /> {lives ? "next" : "unused"}: {turn.text}
          {turn.route && turn.route !== "script" && ` · route ${turn.route}`}
          {turn.file && ` · ${turn.file}${turn.line ? `:${turn.line}` : ""}`}
          {lives && <EditTurn turn={turn} world={opened.id} />}
        </div>
      ))}
      {opened.gates.map((gate) => (
        <p key={gate} class="doubtful">
          <Sign of="doubtful" /> the gate “{gate}” is closed
        </p>
      ))}
    </section>
  );
}
