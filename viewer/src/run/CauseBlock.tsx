/** Why tests failed: what went wrong, where, what to do, and whom it concerns. */
import { link } from "../address";
import { useSource } from "../data/use";
import { type Copied, copyOf } from "../exchange/copy_texts";
import { count, nouns, place } from "../format";
import type { CaseRow, CauseGroup, Run, ShownCause } from "../model";
import { Copy } from "../parts/Copy";
import { Paragraphs } from "../parts/Prose";
import { Sign } from "../parts/Sign";
import { Linked, LongText } from "../parts/Text";
import { CaseLink } from "./CaseLine";

/** Up to how many characters a cause is set as a headline. */
const HEADLINE = 140;
/** How many tests of a cause are listed before the rest is folded. */
const LISTED = 8;
/** The rows whose texts are data of the wire or code. */
const CODE = new Set(["sent", "came", "expect", "allow", "asked", "made", "unused"]);
/** The row that a button copies. */
const COPIED = "expect";

interface Shape {
  readonly run: Run;
  readonly group: CauseGroup;
  readonly cases: readonly CaseRow[];
  readonly opened: boolean;
  readonly selected: string | undefined;
  readonly choose: (id: string, event: MouseEvent) => void;
}

export function CauseBlock({ run, group, cases, opened, selected, choose }: Shape) {
  const [first, ...others] = cases;
  const cause = first && causeOf(first, group);
  return (
    <details class="cause" open={opened}>
      <summary>
        <Sign of="wrong" />
        <strong class={group.what.length > HEADLINE ? "wrap long" : "wrap"}>
          <Linked text={group.what} />
        </strong>
        <span class="dim small">
          {run.comparison?.new.includes(group.id) && <b class="wrong">new </b>}
          {count(cases.length, ...nouns(run))}
        </span>
      </summary>
      <div class="told">
        {first && <CaseLink row={first} number={numberIn(group, first)} selected={first.id === selected} choose={choose} />}
        {cause && <CauseRows run={run} cause={cause} id={first.id} />}
        {first && <Consequences row={first} />}
        <Others group={group} cases={others} selected={selected} choose={choose} />
      </div>
    </details>
  );
}

function Others({ group, cases, selected, choose }: Pick<Shape, "group" | "cases" | "selected" | "choose">) {
  const lines = cases.map((row) => (
    <CaseLink key={row.id} row={row} number={numberIn(group, row)} selected={row.id === selected} choose={choose} note="same cause" />
  ));
  if (lines.length <= LISTED) return <>{lines}</>;
  return (
    <>
      {lines.slice(0, LISTED)}
      <details>
        <summary class="dim small">{count(lines.length - LISTED, "other test")} with the same cause</summary>
        {lines.slice(LISTED)}
      </details>
    </>
  );
}

function causeOf(row: CaseRow, group: CauseGroup): ShownCause | undefined {
  return row.causes.find((cause) => cause.group === group.id) ?? row.causes[0];
}

function numberIn(group: CauseGroup, row: CaseRow): number {
  return group.cases.find(([id]) => id === row.id)?.[1] ?? 0;
}

export function CauseRows({ run, cause, id }: { run: Run; cause: ShownCause; id: string }) {
  const source = useSource();
  const documented = run.documented[cause.rule];
  const expected = cause.rows.find(([label]) => label === COPIED)?.[1];
  const requests = run.cases.find((row) => row.id === id)?.exchanges ?? 0;
  const linkTo = (number: number) => (number <= requests ? link.case(id, number) : "");
  const copied = async (name: Copied) => {
    const exchange = (await source.open(id))?.exchange(cause.exchange);
    return exchange ? copyOf(exchange, name) : "";
  };
  return (
    <>
      <dl class="cause-rows">
        {cause.rows
          .filter(([label]) => label !== COPIED)
          .map(([label, text]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd class={CODE.has(label) ? "mono wrap" : "wrap"}>
                {run.manual[text] ? <Manual command={text} text={run.manual[text]} /> : <LongText text={text} linkTo={linkTo} />}
              </dd>
            </div>
          ))}
        {cause.rule && (
          <div>
            <dt>{cause.kind === "loss" ? "loss" : "rule"}</dt>
            <dd>
              <a href={link.rule(cause.rule)}>{cause.rule}</a>
              {documented && (
                <span class="dim">
                  {" "}
                  · <Linked text={documented.summary} />
                </span>
              )}
            </dd>
          </div>
        )}
      </dl>
      <div class="acts">
        <a class="act" href={link.case(id, cause.exchange || undefined)}>
          {cause.exchange ? "open the request" : "open"}
        </a>
        {cause.exchange > 0 && <Copy label="copy as test" text={() => copied("pytest")} />}
        {(expected ?? cause.kind === "refusal") && <Copy label="expect it" text={() => expected ?? copied("refusal")} />}
      </div>
    </>
  );
}

/** A section of the manual: the command that prints it, which opens it here. */
function Manual({ command, text }: { command: string; text: string }) {
  return (
    <details class="manual">
      <summary class="mono">{command}</summary>
      <Paragraphs text={text} />
    </details>
  );
}

/** What followed from the cause: grey, a line each, so that nobody takes it for the cause. */
export function Consequences({ row }: { row: CaseRow }) {
  if (row.consequences.length === 0) return null;
  return (
    <details class="after dim small">
      <summary class="wrap">Then: {row.consequences[0]?.split("\n")[0]}</summary>
      {row.consequences.map((text) => (
        <p key={text} class="mono wrap">
          <Linked text={text} />
        </p>
      ))}
      <p>{place(row)}</p>
    </details>
  );
}
