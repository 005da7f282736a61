// Written by `python -m tools.viewer_types` from harness/viewer/page_data.py. Do not edit.

export const VIEW_VERSION = 1;

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** A JSON value of which parts may stand in the pool. */
export type Pooled = Json;

export type Source = "pytest" | "vitest" | "serve" | "verify" | "examine" | "recordings" | "report" | "trace";

export type Outcome = "passed" | "failed" | "error" | "skipped" | "xfailed" | "xpassed" | "open";

/**
 * An exchange that differs from the one at the same place in its lane: its `number` now and `earlier`.
 *
 * `at` is the first place that differs, in the request (`input[2].content`) or else in the answer (`status`), with the
 * value that `was` there and the one that is `now`. 0 stands for an exchange that only one of the two cases has.
 */
export interface ChangedExchange {
  readonly what: "changed" | "accepted" | "refused" | "new" | "gone";
  readonly lane: string;
  readonly number: number;
  readonly earlier: number;
  readonly at: string;
  readonly was: string;
  readonly now: string;
}

/**
 * A case and what became of it: outcomes, exchanges that differ, and how many are the `same`.
 *
 * `new_losses` and `gone_losses` are the ids of losses that only one of the two has.
 */
export interface ComparedCase {
  readonly id: string;
  readonly verdict: "better" | "same" | "worse";
  readonly outcomes: readonly [string, string];
  readonly same: number;
  readonly changes: readonly ChangedExchange[];
  readonly new_losses: readonly string[];
  readonly gone_losses: readonly string[];
}

/**
 * A cause with the cases that have it: pairs of a case's id and the number of the exchange (0 for none).
 *
 * `what` and the other facts are those of the first case.
 */
export interface CauseGroup {
  readonly id: string;
  readonly what: string;
  readonly kind: string;
  readonly rule: string;
  readonly cases: readonly (readonly [string, number])[];
}

/**
 * The differences from an `earlier` run: ids of `new` causes, causes that are `gone`, cases with another outcome.
 *
 * `broken` cases passed before, `mended` ones pass now; `added` ones fail and are not in the earlier run, `missing`
 * ones failed in it and are not in this one. `clients` are pairs of a client examined before and now. `cases` are those
 * in both runs.
 */
export interface Comparison {
  readonly earlier: string;
  readonly new: readonly string[];
  readonly gone: readonly CauseGroup[];
  readonly broken: readonly string[];
  readonly mended: readonly string[];
  readonly added: readonly string[];
  readonly missing: readonly string[];
  readonly clients: readonly (readonly [string, string])[];
  readonly cases: readonly ComparedCase[];
  readonly verdict: "better" | "same" | "worse";
}

/** What a rule or a loss is about: summary, text, area, the best evidence with its level and date, the fix. */
export interface Documentation {
  readonly summary: string;
  readonly doc: string;
  readonly area: string;
  readonly source: string;
  readonly fix: string;
}

/**
 * A reason for a failure in a case: `what` went wrong, in `exchange` (0 for none), at position `at` of its request.
 *
 * `rows` are the labelled texts of a cause (`where`, `sent`, `fix`, …). `rule` is the id of the rule or loss. Causes
 * with the same `group` are the same cause in several cases: of one kind and rule, with one fix.
 */
export interface ShownCause {
  readonly what: string;
  readonly exchange: number;
  readonly at: string;
  readonly kind: string;
  readonly rule: string;
  readonly rows: readonly (readonly [string, string])[];
  readonly group: string;
}

/**
 * A case in the list of a run, with everything that is shown without opening it.
 *
 * `texts` are searched without opening it: one line per exchange. `causes` are already explained; the first one failed
 * the case.
 */
export interface CaseRow {
  readonly id: string;
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly outcome: "passed" | "failed" | "error" | "skipped" | "xfailed" | "xpassed" | "open";
  readonly seconds: number;
  readonly exchanges: number;
  readonly refusals: number;
  readonly losses: number;
  readonly lanes: readonly string[];
  readonly causes: readonly ShownCause[];
  /** Consequences of the causes: the exception of the test, turns that no request took. */
  readonly consequences: readonly string[];
  readonly texts: readonly string[];
  /** Unix seconds. */
  readonly began: number | null;
  /** The program that sent the first request: `OpenAI/Python 3.57.0`. */
  readonly client: string;
  /** How often the test was run before; it is shown as it ended last. */
  readonly retries: number;
}

/** A dimension of the API: its title, all names, and the names that the run has touched. */
export interface Covered {
  readonly title: string;
  readonly known: readonly string[];
  readonly hit: readonly string[];
}

/**
 * The result of a client in a case of the catalogue: `verdict` is pass, fail, warn ….
 *
 * `flow` names the case that shows it.
 */
export interface ShownCell {
  readonly case: string;
  readonly client: string;
  readonly mode: string;
  readonly verdict: string;
  readonly severity: string;
  readonly reason: string;
  /** Shared by cells with the same cause; empty if the cell passed. */
  readonly group: string;
  readonly details: readonly (readonly [string, string])[];
  readonly flow: string;
  readonly reproduce: string;
}

/** Clients side by side: their names with releases, what each case is about, and a cell for each. */
export interface ShownExamination {
  readonly clients: readonly string[];
  readonly cases: { readonly [name: string]: { readonly [name: string]: Json } };
  readonly cells: readonly ShownCell[];
}

/**
 * A run: what was run when, its verdict, its causes, and a row for each case.
 *
 * `counts` are tests by outcome, including tests without the mock, which are no cases. `totals` are counts of
 * exchanges, refusals and findings, which `line` words in one line. `documented` explains the rules and losses that
 * the run mentions, by id; `manual` has the sections of the manual that causes name, by the command that prints each.
 */
export interface Run {
  readonly source: "pytest" | "vitest" | "serve" | "verify" | "examine" | "recordings" | "report" | "trace";
  readonly command: string;
  /** Unix seconds; 0 if unknown. */
  readonly began: number;
  readonly seconds: number;
  /** The branch and the beginning of the commit: `main@aa138ea`. */
  readonly commit: string;
  readonly versions: { readonly [name: string]: string };
  readonly counts: { readonly [name: string]: number };
  readonly totals: { readonly [name: string]: number };
  readonly line: string;
  /** Notes that deserve a line of their own: unknown models, unreadable files. */
  readonly notes: readonly string[];
  readonly causes: readonly CauseGroup[];
  readonly cases: readonly CaseRow[];
  readonly coverage: { readonly [name: string]: Covered };
  readonly documented: { readonly [name: string]: Documentation };
  readonly manual: { readonly [name: string]: string };
  readonly examination: ShownExamination | null;
  readonly comparison: Comparison | null;
  readonly version: number;
}

/**
 * What was seen at the edge of the server, in milliseconds since the case began; None is unknown.
 *
 * `events` of a stream and `bytes` were handed to the socket; `cut` says where the answer broke off, `left` is when
 * the client disconnected.
 */
export interface Edge {
  readonly arrived: number | null;
  readonly first_byte: number | null;
  readonly last_byte: number | null;
  readonly events: number | null;
  readonly bytes: number | null;
  readonly cut: string;
  readonly left: number | null;
  readonly connection: number | null;
  /** Whether the times of its events were measured, as opposed to planned or recorded. */
  readonly measured: boolean;
}

/** A route that was tried: its conditions, and the first failed condition, empty if none failed. */
export interface Tried {
  readonly route: string;
  readonly failed: string;
}

/** The turn that answered: its number and route, and the statement that scripted it with its place. */
export interface AnsweredBy {
  readonly turn: number;
  readonly route: string;
  readonly file: string;
  readonly line: number;
  readonly source: string;
}

/**
 * An item as the model saw it, oldest first.
 *
 * `origin` says where it came from: `instructions`, `input` (new in this request), `resent` (an earlier one had it),
 * `chain` (previous_response_id), `conversation`. `said` is the exchange in which it first occurred, 0 for this one. A
 * `mark` is `lost`, `doubled`, `edited` or `refused`, with the index of the `finding` in the case; `was` is the item
 * before it was edited or lost.
 */
export interface TranscriptItem {
  readonly item: Json;
  readonly origin: string;
  readonly said: number;
  /** Its position in the body as sent: `input[3]`; empty if it was not sent. */
  readonly at: string;
  readonly mark: string;
  readonly finding: number | null;
  readonly was: Json;
}

/**
 * An event of a stream: `at` is when it had been sent in full, in milliseconds since the first byte.
 *
 * That time is measured if a server sent the event, otherwise planned by its turn or recorded; None is unknown.
 * `chunks` are the sizes in bytes of the pieces in which it was sent, if a turn specifies them; for an event that
 * broke off, of what was sent of it.
 */
export interface StreamEvent {
  readonly event: Json;
  readonly at: number | null;
  readonly chunks: readonly number[];
  readonly delivered: boolean;
}

/**
 * A request and its answer.
 *
 * `gist` and `said` summarize request and answer in a line. `added` are the items that this request added to what its
 * lane had sent before, `output` those in the answer, `before` is the number of items that were there before.
 * `instructions`, `tools` and `settings` are those of the request, or of what it continues.
 */
export interface ShownExchange {
  readonly number: number;
  /** Index in the lanes of the case. */
  readonly lane: number;
  readonly method: string;
  readonly path: string;
  readonly operation: string;
  readonly dialect: string;
  readonly status: number;
  readonly rule: string;
  readonly gist: string;
  readonly said: string;
  /** The message of the error in the answer. */
  readonly error: string;
  /** The position in the request at which it was refused: `input[2].content`. */
  readonly at: string;
  /** Whether the test has asked for the refusal. */
  readonly asked: boolean;
  readonly routed: boolean;
  /** What the answer costs in dollars, if the prices of its model are known. */
  readonly cost: number | null;
  /** The failed exchange that the client repeated with this one; 0 for none. */
  readonly retry_of: number;
  readonly query: Json;
  readonly request: Json;
  readonly answer: Json;
  readonly events: readonly StreamEvent[] | null;
  readonly added: readonly Json[];
  readonly output: readonly Json[];
  readonly before: number;
  /** A list of TranscriptItem. */
  readonly transcript: Json;
  readonly instructions: Json;
  readonly tools: Json;
  readonly settings: Json;
  readonly request_headers: readonly (readonly [string, string])[];
  readonly answer_headers: readonly (readonly [string, string])[];
  readonly edge: Edge;
  readonly answered_by: AnsweredBy | null;
  readonly tried: readonly Tried[];
  /** What can be copied, by name: `curl`, `pytest`, `turn_yaml`, `turn_python`, `refusal`. */
  readonly copies: { readonly [name: string]: string };
}

/**
 * A call that a client has to make: `said` and `answered` are exchange numbers, `executed` counts the runs.
 *
 * `approval` is the decision about it: `approved`, `denied`, `waiting`, or empty if none was requested.
 */
export interface ShownCall {
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
  readonly said: number;
  readonly answered: readonly number[];
  readonly executed: number;
  readonly approval: string;
  readonly output: string;
}

/** A finding: see `harness.explain.cause.ReportFinding`. */
export interface ShownFinding {
  readonly kind: string;
  readonly expected: boolean;
  readonly message: string;
  readonly rule: string;
  readonly exchange: number | null;
  readonly at: string;
  readonly why: string;
  readonly fix: string;
}

/** A call whose output led to another lane, in exchange `number`. */
export interface ShownHandOff {
  readonly number: number;
  readonly by: string;
  readonly to: string;
  readonly name: string;
  readonly call_id: string;
}

/** An attempt to deliver an event to a webhook, after the exchange `after`; without a `status`, `error` says why. */
export interface ShownDelivery {
  readonly event: string;
  readonly response: string;
  readonly url: string;
  readonly attempt: number;
  readonly after: number;
  readonly status: number | null;
  readonly error: string;
  readonly seconds: number;
  readonly signature: string;
}

/** A turn of the script that no request has taken; `lines` are its items as in a script file, if it has only items. */
export interface WaitingTurn {
  readonly text: string;
  readonly route: string;
  readonly file: string;
  readonly line: number;
  readonly lines: Json;
}

/** A test, a recording or a World, with everything that happened; `row` is its row in the list. */
export interface ShownCase {
  readonly row: CaseRow;
  readonly lanes: readonly string[];
  readonly exchanges: readonly ShownExchange[];
  readonly pool: readonly Json[];
  readonly findings: readonly ShownFinding[];
  readonly calls: readonly ShownCall[];
  readonly hand_offs: readonly ShownHandOff[];
  readonly waiting: readonly WaitingTurn[];
  /** Closed gates that a turn waits for. */
  readonly gates: readonly string[];
  readonly deliveries: readonly ShownDelivery[];
  /** What the test printed and logged: pairs of a title and a text. */
  readonly printed: readonly (readonly [string, string])[];
  /** `harness.analysis.flow.SequenceDiagram` as JSON. */
  readonly sequence: Json;
  readonly mermaid: string;
  readonly version: number;
}
