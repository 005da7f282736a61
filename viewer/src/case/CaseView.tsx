/** A case: its causes, then its turns. */
import { link } from "../address";
import type { OpenedCase } from "../data/opened";
import type { Run } from "../model";

export function CaseView({ opened }: { run: Run; opened: OpenedCase }) {
  return (
    <>
      <h1 class="wrap">{opened.row.name}</h1>
      {opened.exchanges.map(({ shown }) => (
        <p key={shown.number}>
          <a href={link.case(opened.id, shown.number)}>{shown.number}</a> {shown.gist} → {shown.error || shown.said}
        </p>
      ))}
    </>
  );
}
