/** A rule: what the API says, the evidence, who met it. */
import type { Run } from "../model";

export function RuleScreen({ run, id }: { run: Run; id: string }) {
  return <pre class="wrap mono">{JSON.stringify(run.documented[id], null, 2)}</pre>;
}
