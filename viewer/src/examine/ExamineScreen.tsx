/** Clients side by side: what each did in each case. */
import type { Run } from "../model";

export function ExamineScreen({ run }: { run: Run }) {
  return <pre class="wrap mono">{JSON.stringify(run.examination, null, 2)}</pre>;
}
