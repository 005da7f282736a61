/** A rule or a loss: what the API says, the evidence, how to mend it, and which cases met it. */
import "./examine.css";
import { go, link } from "../address";
import { useKeys } from "../keys";
import type { CaseRow, Run } from "../model";
import { Paragraphs } from "../parts/Prose";
import { Sign } from "../parts/Sign";
import { Linked } from "../parts/Text";

export function RuleScreen({ run, id }: { run: Run; id: string }) {
  useKeys({ Escape: ["back to the run", () => go(link.run())] });
  const documented = run.documented[id];
  return (
    <main class="scrolls screen" tabIndex={-1}>
      <div class="rule">
        <h1 class="mono">{id}</h1>
        {documented ? (
          <>
            <p class="rule-summary">
              <Linked text={documented.summary} />
            </p>
            <Paragraphs text={documented.doc} />
            <dl class="pairs">
              <Fact name="area" value={documented.area} />
              <Fact name="evidence" value={documented.source} />
              <Fact name="fix" value={documented.fix} />
            </dl>
          </>
        ) : (
          <p>
            This run does not document it. Run <code>responses-harness rules {id}</code> or <code>responses-harness losses {id}</code>.
          </p>
        )}
        <Met run={run} id={id} />
      </div>
    </main>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  if (!value) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <Linked text={value} />
      </dd>
    </>
  );
}

/** The cases that met a rule, each with the requests in which it did. */
function casesThatMet(run: Run, id: string): readonly (readonly [CaseRow, readonly number[]])[] {
  const grouped = run.causes.filter((cause) => cause.rule === id).flatMap((cause) => cause.cases);
  return run.cases.flatMap((row) => {
    const numbers = [
      ...row.causes.filter((cause) => cause.rule === id).map((cause) => cause.exchange),
      ...grouped.filter(([known]) => known === row.id).map(([, number]) => number),
    ];
    return numbers.length ? [[row, [...new Set(numbers)].sort((a, b) => a - b)] as const] : [];
  });
}

function Met({ run, id }: { run: Run; id: string }) {
  const met = casesThatMet(run, id);
  return (
    <section>
      <h2>Cases with it</h2>
      {met.length === 0 && <p class="dim">No case in this run.</p>}
      <ul class="met">
        {met.map(([row, numbers]) => (
          <li key={row.id}>
            <Sign of={row.outcome === "failed" || row.outcome === "error" ? "wrong" : "neutral"} label={row.outcome} />{" "}
            <a href={link.case(row.id)}>{row.name}</a>
            {numbers.filter(Boolean).map((number) => (
              <a key={number} class="dim" href={link.case(row.id, number)}>
                {" "}
                request {number}
              </a>
            ))}
            <span class="dim mono"> {row.line ? `${row.file}:${row.line}` : row.file}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
