/** A test or a World on a screen of its own. */
import type { Address } from "../address";
import type { OpenedCase } from "../data/opened";
import type { Run } from "../model";
import { CaseView } from "./CaseView";

export function CaseScreen({ run, opened }: { run: Run; opened: OpenedCase; address: Address }) {
  return (
    <main class="screen scrolls">
      <CaseView run={run} opened={opened} />
    </main>
  );
}
