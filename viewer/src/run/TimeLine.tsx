/** The run from left to right: a bar for each test; a click selects it. */
import { link } from "../address";
import { flaky, meaning, seconds, title } from "../format";
import type { CaseRow } from "../model";
import type { Choose } from "./CaseLine";
import { spansOf } from "./spans";

const LEAST = 0.002;
const factsOf = (row: CaseRow) => [title(row), row.outcome, flaky(row), seconds(row.seconds)].filter(Boolean);

export function TimeLine({ rows, selected, choose }: { rows: readonly CaseRow[]; selected: string | undefined; choose: Choose }) {
  const laid = spansOf(rows);
  if (!laid) return null;
  return (
    <details class="time-line">
      <summary class="dim small">time line · {seconds(laid.seconds)}</summary>
      <div class="spans" style={{ "--tracks": laid.tracks }}>
        {laid.spans.map(({ row, track, from, to }) => (
          <a
            key={row.id}
            class={row.retries > 0 ? "doubtful" : meaning(row.outcome)}
            href={link.case(row.id)}
            title={factsOf(row).join(" · ")}
            aria-label={factsOf(row).join(", ")}
            aria-current={row.id === selected || undefined}
            tabIndex={-1}
            onClick={(event) => choose(row.id, event)}
            style={{ left: `${100 * from}%`, width: `${100 * Math.max(LEAST, to - from)}%`, top: `calc(${track} * 12px)` }}
          />
        ))}
      </div>
    </details>
  );
}
