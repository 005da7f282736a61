/** What is wrong with an exchange: the refusal and the findings, each with its place, rule, evidence and fix. */
import { link } from "../address";
import type { ShownFinding } from "../model";
import { Sign } from "../parts/Sign";
import { Linked } from "../parts/Text";
import { type FoundAt, locate } from "./places";
import type { Shown } from "./shown";

/** The findings of an exchange; a refusal is told by the exchange itself. */
export function findingsOf({ opened, exchange }: Shown): readonly ShownFinding[] {
  return opened.findings.filter((finding) => finding.exchange === exchange.number && finding.kind !== "refusal");
}

/** The findings of an exchange that have a place in what was sent, in the answer, or in the stream. */
export function placesOf(shown: Shown, tab: FoundAt["tab"]): readonly FoundAt[] {
  return findingsOf(shown).flatMap((finding) => {
    const found = locate(finding, shown.exchange);
    return found?.tab === tab ? [found] : [];
  });
}

const squeeze = (text: string): string => text.replace(/\s+/g, " ");

export function Problems(shown: Shown) {
  const { run, opened, exchange } = shown;
  const { error, rule, asked, at, status } = exchange.shown;
  const cause = opened.row.causes.find((known) => known.exchange === exchange.number && known.rule === rule && rule !== "");
  const same = findingsOf(shown).find((finding) => squeeze(finding.message) === squeeze(error));
  const findings = findingsOf(shown).filter((finding) => finding !== same);
  if (!error && findings.length === 0) return null;
  const fix = cause?.rows.find(([label]) => label === "fix")?.[1] ?? run.documented[rule]?.fix ?? same?.fix ?? "";
  const where = cause?.rows.find(([label]) => label === "where")?.[1] ?? at;
  const items = exchange.transcript;
  const placeOf = (index: number): string => (index < 0 ? "" : link.case(opened.id, exchange.number, "transcript", { item: index }));
  const bodyOf = (finding: ShownFinding): string => {
    const found = locate(finding, exchange);
    return found ? link.case(opened.id, exchange.number, found.tab, found.event < 0 ? {} : { event: found.event }) : "";
  };
  const linkTo = (number: number): string => (opened.exchange(number) ? link.case(opened.id, number) : "");
  const shared = { run, linkTo };
  const refused = placeOf(items.findIndex((item) => item.mark === "refused"));
  return (
    <div class="problems">
      {error && <Problem {...shared} what={`${status} ${error}`} rule={rule} expected={asked} where={where} fix={fix} place={refused} />}
      {findings.map((finding, index) => (
        <Problem
          key={index}
          {...shared}
          what={finding.message}
          rule={finding.rule}
          expected={finding.expected}
          where={[finding.at, finding.why].filter(Boolean).join(": ")}
          fix={finding.fix}
          place={placeOf(items.findIndex((item) => item.finding !== null && opened.findings[item.finding] === finding)) || bodyOf(finding)}
        />
      ))}
    </div>
  );
}

interface ProblemProps {
  readonly run: Shown["run"];
  readonly linkTo: (number: number) => string;
  readonly what: string;
  readonly rule: string;
  readonly expected: boolean;
  readonly where: string;
  readonly fix: string;
  /** The address of the item that it is about. */
  readonly place: string;
}

function Problem({ run, linkTo, what, rule, expected, where, fix, place }: ProblemProps) {
  const source = run.documented[rule]?.source ?? "";
  const [title = "", ...more] = what.split("\n");
  return (
    <section class={`problem ${expected ? "" : "problem-wrong"}`}>
      <h2>
        <Sign of={expected ? "neutral" : "wrong"} label={expected ? "expected" : "wrong"} /> <Linked text={title} linkTo={linkTo} />
      </h2>
      {more.length > 0 && <p class="problem-more">{more.join("\n")}</p>}
      <dl class="pairs">
        {expected && <Pair name="expected" value="the test asked for it" />}
        {(where || place) && (
          <>
            <dt>where</dt>
            <dd>
              <Linked text={where} linkTo={linkTo} /> {place && <a href={place}>show it</a>}
            </dd>
          </>
        )}
        {fix && <Pair name="fix" value={fix} />}
        {rule && (
          <>
            <dt>rule</dt>
            <dd>
              {run.documented[rule] ? (
                <a href={link.rule(rule)} class="mono">
                  {rule}
                </a>
              ) : (
                <span class="mono">{rule}</span>
              )}
              {source && (
                <span class="dim">
                  {" · "}
                  <Linked text={source} />
                </span>
              )}
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

function Pair({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <Linked text={value} />
      </dd>
    </>
  );
}
