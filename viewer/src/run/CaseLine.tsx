/** A test or World in a list: a line that leads to it. */
import { link } from "../address";
import { count, flaky, meaning, place, seconds, title } from "../format";
import type { CaseRow } from "../model";
import { Sign } from "../parts/Sign";

export type Choose = (id: string, event: MouseEvent) => void;

interface Shape {
  readonly row: CaseRow;
  readonly selected: boolean;
  readonly choose: Choose;
}

export function CaseLine({ row, selected, choose, line }: Shape & { line: string }) {
  return (
    <a class="case" href={link.case(row.id)} onClick={(event) => choose(row.id, event)} aria-current={selected || undefined}>
      <Sign of={meaning(row.outcome)} label={row.outcome} />
      <span class="wrap">
        {title(row)}
        {line && <span class="dim small"> {line}</span>}
      </span>
      <span class="dim small figures">
        {row.refusals > 0 && <span class="doubtful">{count(row.refusals, "refusal")}</span>}
        {row.losses > 0 && <span class="doubtful">{count(row.losses, "loss", "losses")}</span>}
        {row.retries > 0 && <span class="doubtful">{flaky(row)}</span>}
        <span>{count(row.exchanges, "request")}</span>
        {row.outcome !== "open" && <span class="time">{seconds(row.seconds)}</span>}
      </span>
    </a>
  );
}

/** A test under its cause: its name, its file and the request that went wrong. */
export function CaseLink({ row, number, selected, choose, note = "" }: Shape & { number: number; note?: string }) {
  return (
    <a class="of-cause" href={link.case(row.id)} onClick={(event) => choose(row.id, event)} aria-current={selected || undefined}>
      <span class="wrap">{title(row)}</span>
      <span class="dim small wrap">{place(row)}</span>
      {number > 0 && (
        <span class="dim small">
          request {number} of {row.exchanges}
        </span>
      )}
      {note && <span class="dim small">{note}</span>}
    </a>
  );
}
