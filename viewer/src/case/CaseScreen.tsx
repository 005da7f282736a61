/** A test or a World: what was asked and answered, one turn after the other. */
import type { Address } from "../address";
import { link } from "../address";
import type { OpenedCase } from "../data/opened";
import type { Run } from "../model";

export function CaseScreen({ opened }: { run: Run; opened: OpenedCase; address: Address }) {
  return (
    <main class="screen scrolls">
      <h1 class="wrap">{opened.row.name}</h1>
      {opened.exchanges.map(({ shown }) => (
        <p key={shown.number}>
          <a href={link.case(opened.id, shown.number)}>{shown.number}</a> {shown.gist} → {shown.error || shown.said}
        </p>
      ))}
    </main>
  );
}
