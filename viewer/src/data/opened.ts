/** A case whose parts are put together when they are read. */
import type { CaseRow, ShownCall, ShownCase, ShownDelivery, ShownExchange, ShownFinding, ShownHandOff, WaitingTurn } from "../model";
import { isObject, type Json, Pool } from "./pool";

export interface OpenedItem {
  readonly item: Json;
  readonly origin: string;
  readonly said: number;
  readonly at: string;
  readonly mark: string;
  readonly finding: number | null;
  readonly was: Json;
}

export interface OpenedEvent {
  readonly event: Json;
  readonly at: number | null;
  readonly chunks: readonly number[];
  readonly delivered: boolean;
}

export class OpenedExchange {
  constructor(
    readonly shown: ShownExchange,
    private readonly pool: Pool,
  ) {}

  get number(): number {
    return this.shown.number;
  }
  get request(): Json {
    return this.pool.value(this.shown.request);
  }
  get answer(): Json {
    return this.pool.value(this.shown.answer);
  }
  get query(): Json {
    return this.pool.value(this.shown.query);
  }
  get instructions(): Json {
    return this.pool.value(this.shown.instructions);
  }
  get tools(): Json {
    return this.pool.value(this.shown.tools);
  }
  get settings(): Json {
    return this.pool.value(this.shown.settings);
  }
  get added(): readonly Json[] {
    return this.shown.added.map((item) => this.pool.value(item));
  }
  get output(): readonly Json[] {
    return this.shown.output.map((item) => this.pool.value(item));
  }
  get events(): readonly OpenedEvent[] | null {
    return this.shown.events?.map((event) => ({ ...event, event: this.pool.value(event.event) })) ?? null;
  }
  /** The items as the model saw them, oldest first. */
  get transcript(): readonly OpenedItem[] {
    const items = this.pool.value(this.shown.transcript);
    return Array.isArray(items) ? items.filter(isObject).map(readItem) : [];
  }
}

function readItem(stored: { readonly [name: string]: Json }): OpenedItem {
  const text = (name: string) => (typeof stored[name] === "string" ? stored[name] : "");
  const number = (name: string) => (typeof stored[name] === "number" ? stored[name] : null);
  return {
    item: stored["item"] ?? null,
    origin: text("origin"),
    said: number("said") ?? 0,
    at: text("at"),
    mark: text("mark"),
    finding: number("finding"),
    was: stored["was"] ?? null,
  };
}

/** How many exchanges of a World that goes on are kept, the newest ones. */
const NEWEST = 5000;

export class OpenedCase {
  private readonly numbered: ReadonlyMap<number, OpenedExchange>;

  private constructor(
    private readonly head: ShownCase,
    readonly exchanges: readonly OpenedExchange[],
    private readonly pool: Pool,
  ) {
    this.numbered = new Map(exchanges.map((exchange) => [exchange.number, exchange]));
  }

  static of(sent: ShownCase, earlier: readonly OpenedExchange[] = []): OpenedCase {
    const pool = new Pool(sent.pool);
    const added = sent.exchanges.map((shown) => new OpenedExchange(shown, pool));
    const first = sent.exchanges[0]?.number ?? Infinity;
    const all = [...earlier.filter((known) => known.number < first), ...added];
    return new OpenedCase({ ...sent, exchanges: [], pool: [] }, earlier.length > 0 ? all.slice(-NEWEST) : all, pool);
  }

  /** Adds a piece that was fetched later; it says anew what is about the whole. */
  with(piece: ShownCase): OpenedCase {
    return OpenedCase.of(piece, this.exchanges);
  }

  get id(): string {
    return this.head.row.id;
  }
  get row(): CaseRow {
    return this.head.row;
  }
  get lanes(): readonly string[] {
    return this.head.lanes;
  }
  get findings(): readonly ShownFinding[] {
    return this.head.findings;
  }
  get calls(): readonly ShownCall[] {
    return this.head.calls;
  }
  get handOffs(): readonly ShownHandOff[] {
    return this.head.hand_offs;
  }
  get waiting(): readonly WaitingTurn[] {
    return this.head.waiting;
  }
  get gates(): readonly string[] {
    return this.head.gates;
  }
  get deliveries(): readonly ShownDelivery[] {
    return this.head.deliveries;
  }
  get printed(): ShownCase["printed"] {
    return this.head.printed;
  }
  get mermaid(): string {
    return this.head.mermaid;
  }
  get sequence(): Json {
    return this.pool.value(this.head.sequence);
  }

  exchange(number: number): OpenedExchange | undefined {
    return this.numbered.get(number);
  }

  inLane(lane: number): readonly OpenedExchange[] {
    return this.exchanges.filter((exchange) => exchange.shown.lane === lane);
  }

  /** Finds the exchange before one in its lane. */
  before(number: number): OpenedExchange | undefined {
    const lane = this.exchange(number)?.shown.lane;
    return this.exchanges.filter((exchange) => exchange.shown.lane === lane && exchange.number < number).at(-1);
  }
}
