/** What the views of a request show. */
import type { OpenedCase, OpenedExchange } from "../data/opened";
import type { Run } from "../model";

export interface Shown {
  readonly run: Run;
  readonly opened: OpenedCase;
  readonly exchange: OpenedExchange;
}
