/** What differs from an earlier run: causes that are new or gone, tests that went otherwise. */
import { link } from "../address";
import { capital, count, nouns } from "../format";
import type { Comparison, Run } from "../model";
import { Sign } from "../parts/Sign";
import { Linked } from "../parts/Text";

/** How many tests of a kind are listed before the rest is folded. */
const LISTED = 20;

export function Compared({ run, comparison }: { run: Run; comparison: Comparison }) {
  const { broken, mended, added, missing, gone } = comparison;
  const [, many] = nouns(run);
  const nothing = comparison.new.length + gone.length + broken.length + mended.length + added.length + missing.length === 0;
  return (
    <section class="compared" aria-labelledby="compared">
      <h2 id="compared" class="wrap">
        Compared with <span class="mono">{comparison.earlier}</span>
      </h2>
      <p class="dim">{nothing ? "No differences." : `${count(comparison.new.length, "new cause")}, ${gone.length} gone`}</p>
      {comparison.clients.map(([old, now]) => (
        <p key={now}>
          <a href={link.tab("examine", { old, new: now })}>
            {old} → {now}: each case
          </a>
        </p>
      ))}
      {gone.length > 0 && (
        <details>
          <summary>
            <Sign of="right" label="" /> {count(gone.length, "cause")} gone
          </summary>
          <ul>
            {gone.map((group) => (
              <li key={group.id} class="wrap">
                <Linked text={group.what} /> <span class="dim">{count(group.cases.length, ...nouns(run))}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
      <Went title={`${capital(many)} that broke`} ids={broken} of="wrong" run={run} />
      <Went title={`${capital(many)} that fail and were not in the earlier run`} ids={added} of="wrong" run={run} />
      <Went title={`${capital(many)} that pass again`} ids={mended} of="right" run={run} />
      <Went title={`${capital(many)} that failed before and are not in this run`} ids={missing} of="neutral" run={run} />
    </section>
  );
}

interface WentShape {
  readonly title: string;
  readonly ids: readonly string[];
  readonly of: "wrong" | "right" | "neutral";
  readonly run: Run;
}

/** Tests that went otherwise than before: links to those that this run has. */
function Went({ title, ids, of, run }: WentShape) {
  if (ids.length === 0) return null;
  const known = new Set(run.cases.map((row) => row.id));
  const lines = ids.map((id) => (
    <li key={id} class="wrap">
      {known.has(id) ? <a href={link.case(id)}>{id}</a> : id}
    </li>
  ));
  return (
    <details>
      <summary>
        <Sign of={of} label="" /> {ids.length.toLocaleString("en")} · {title}
      </summary>
      <ul>{lines.slice(0, LISTED)}</ul>
      {lines.length > LISTED && (
        <details>
          <summary class="dim small">{count(lines.length - LISTED, "other")}</summary>
          <ul>{lines.slice(LISTED)}</ul>
        </details>
      )}
    </details>
  );
}
