/** Asks the server that the page came from, and follows what happens there. */
import type { Run, ShownCase } from "../model";
import { readEvents } from "./events";
import { OpenedCase } from "./opened";
import { shownText } from "./shown_text";
import { Problem, type Source } from "./source";

const ROOT = "/_harness";
const TOKEN = "x-harness-token";
const WORLD = "x-harness-world";
/** After how many milliseconds the server is asked again when it is gone, and how often the page changes at most. */
const AGAIN = 1500;
const PACE = 250;

/** Takes the token out of the address, so that nobody copies it with a link. */
function takeToken(): string {
  const found = /[#&]token=([^&]*)/.exec(location.hash);
  if (found) {
    keep(decodeURIComponent(found[1] ?? ""));
    history.replaceState(null, "", location.pathname + location.search + location.hash.replace(found[0], ""));
  }
  try {
    return sessionStorage.getItem(TOKEN) ?? "";
  } catch {
    return "";
  }
}

function keep(token: string): void {
  try {
    sessionStorage.setItem(TOKEN, token);
  } catch {
    // Then it is asked for again after the page was loaded anew.
  }
}

/** The server wants a token, or another one. */
export class TokenNeeded extends Problem {}

export class LiveSource implements Source {
  readonly live = true;
  private token = takeToken();
  private whole: Promise<Run> | undefined;
  private readonly opened = new Map<string, Promise<OpenedCase>>();
  /** The cases that have changed since they were read, each from that exchange on. */
  private readonly stale = new Map<string, number>();
  private readonly watchers = new Set<() => void>();
  private after: number | undefined;
  private following = false;
  private told: ReturnType<typeof setTimeout> | undefined;

  run(): Promise<Run> {
    this.whole ??= this.get<Run>("/view/run").catch((problem: unknown) => {
      this.whole = undefined;
      throw problem;
    });
    return this.whole;
  }

  async open(id: string): Promise<OpenedCase | undefined> {
    const known = await this.opened.get(id)?.catch(() => undefined);
    const from = this.stale.get(id);
    if (known && from === undefined) return known;
    this.stale.delete(id);
    const next = this.fetchCase(id, known, from);
    this.opened.set(id, next);
    next.catch(() => this.opened.delete(id));
    return next;
  }

  async text(id: string): Promise<string> {
    const opened = await this.open(id);
    const parts = opened?.exchanges.map(({ request, answer, events }) => [request, answer, events?.map(({ event }) => event)]);
    return shownText(parts);
  }

  watch(changed: () => void): () => void {
    this.watchers.add(changed);
    if (!this.following) void this.follow();
    return () => this.watchers.delete(changed);
  }

  /** Uses a token from now on, for as long as this tab is open. */
  useToken(token: string): void {
    this.token = token;
    keep(token);
    this.changed();
    if (!this.following) void this.follow();
  }

  /** Asks the control plane to do something in a World; returns what it answered. */
  async act<T>(method: "POST" | "DELETE" | "GET", path: string, world: string, body?: unknown): Promise<T> {
    const headers = { [WORLD]: encodeURIComponent(world), ...(body === undefined ? {} : { "content-type": "application/json" }) };
    const sent = body === undefined ? null : JSON.stringify(body);
    return (await this.ask(path, { method, headers, body: sent })).json() as Promise<T>;
  }

  /** Reads a World again, of which something has changed that no request has told. */
  reload(world: string): void {
    this.note(JSON.stringify({ world }));
  }

  private async fetchCase(id: string, known: OpenedCase | undefined, from = Infinity): Promise<OpenedCase> {
    const after = Math.min(known?.exchanges.at(-1)?.number ?? 0, Math.max(0, from - 1));
    const piece = await this.get<ShownCase>(`/view/case?id=${encodeURIComponent(id)}&after=${after}`);
    return known ? known.with(piece) : OpenedCase.of(piece);
  }

  private async get<T>(path: string): Promise<T> {
    return (await this.ask(path, {})).json() as Promise<T>;
  }

  private async ask(path: string, { headers = {}, ...rest }: RequestInit): Promise<Response> {
    const token: Record<string, string> = this.token ? { [TOKEN]: this.token } : {};
    const answer = await fetch(ROOT + path, { ...rest, headers: { ...headers, ...token }, cache: "no-store" });
    if (answer.ok) return answer;
    const message = await describe(answer);
    if (answer.status === 401 || answer.status === 403) throw new TokenNeeded(message);
    throw new Problem(message);
  }

  /** Reads the stream of changes, and begins again where it broke off. */
  private async follow(): Promise<void> {
    this.following = true;
    while (this.watchers.size > 0) {
      try {
        const answer = await this.ask(this.after === undefined ? "/events" : `/events?after=${this.after}`, {});
        for await (const { id, data } of readEvents(answer)) {
          if (id) this.after = Number(id);
          this.note(data);
        }
      } catch (problem) {
        if (problem instanceof TokenNeeded) break;
        // Else the server is gone: the run says so when it is asked for.
      }
      await new Promise((done) => setTimeout(done, AGAIN));
      this.readAgain();
    }
    this.following = false;
  }

  private note(data: string): void {
    const { world, kind, number } = JSON.parse(data) as { world?: string; kind?: string; number?: number };
    if (world === undefined) return this.readAgain();
    if (kind === "closed" || kind === "world") this.opened.delete(world);
    this.stale.set(world, Math.min(this.stale.get(world) ?? Infinity, number ?? Infinity));
    this.changed();
  }

  private readAgain(): void {
    for (const id of this.opened.keys()) this.stale.set(id, 1);
    this.changed();
  }

  /** Tells those who watch, soon: but not before what they asked for last has come, and as much time has passed again. */
  private changed(): void {
    this.told ??= setTimeout(() => void this.tell(), PACE);
  }

  private async tell(): Promise<void> {
    const began = performance.now();
    await this.whole?.catch(() => undefined);
    const waited = performance.now() - began;
    if (waited > PACE) await new Promise((done) => setTimeout(done, waited));
    this.told = undefined;
    this.whole = undefined;
    for (const watcher of this.watchers) watcher();
  }
}

async function describe(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    const { error } = JSON.parse(text) as { error?: { message?: string } };
    return error?.message ?? text;
  } catch {
    return text || `The server answered ${answer.status}.`;
  }
}
