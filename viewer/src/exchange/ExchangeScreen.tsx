/** One request and its answer. */
import type { OpenedCase } from "../data/opened";
import type { Run } from "../model";

export function ExchangeScreen({ opened, number, tab }: { run: Run; opened: OpenedCase; number: number; tab: string }) {
  const exchange = opened.exchange(number);
  return <pre class="wrap mono" data-tab={tab}>{JSON.stringify([exchange?.request, exchange?.answer], null, 2)}</pre>;
}
