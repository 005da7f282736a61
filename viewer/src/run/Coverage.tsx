/** What of the API a run has touched. */
import { link } from "../address";
import type { Covered, Run } from "../model";
import { Sign } from "../parts/Sign";

export function Coverage({ run, sought }: { run: Run; sought: string }) {
  const entries = Object.entries(run.coverage);
  if (entries.length === 0)
    return (
      <main class="scrolls screen">
        <p class="empty">
          Nothing was measured. <code>pytest --harness-report=report.html</code> measures how much of the API the tests use.
        </p>
      </main>
    );
  return (
    <main class="scrolls screen" tabIndex={-1}>
      {entries.map(([name, covered]) => (
        <Dimension key={name} name={name} covered={covered} sought={sought.trim().toLowerCase()} />
      ))}
    </main>
  );
}

function Dimension({ name, covered, sought }: { name: string; covered: Covered; sought: string }) {
  const hit = new Set(covered.hit);
  const shown = covered.known.filter((known) => known.toLowerCase().includes(sought));
  const part = covered.known.length ? hit.size / covered.known.length : 0;
  if (sought && shown.length === 0) return null;
  return (
    <details class="dimension" open={sought !== "" || undefined}>
      <summary>
        <strong>{covered.title}</strong>
        <meter value={part} aria-label={covered.title} />
        <span>{Math.round(part * 100)} %</span>
        <span class="dim small">
          {hit.size.toLocaleString("en")} of {covered.known.length.toLocaleString("en")}
        </span>
      </summary>
      <ul class="names small">
        {shown.map((known) => (
          <li key={known} class={hit.has(known) ? "" : "dim"}>
            <Sign of={hit.has(known) ? "right" : "neutral"} label={hit.has(known) ? "used" : "not used"} />
            {name === "rules" ? <a href={link.rule(known)}>{known}</a> : hit.has(known) ? <a href={link.run({ q: known })}>{known}</a> : known}
          </li>
        ))}
      </ul>
    </details>
  );
}
