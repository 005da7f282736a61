/** Asks the server that the page came from, and follows what happens there. */
import type { ShownCase, Run } from "../model";
import { OpenedCase } from "./opened";
import { Problem, type Source } from "./source";
import { readEvents } from "./events";

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
  private readonly stale = new Set<string>();
  private readonly watchers = new Set<() => void>();
  private after = 0;
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
    const known = await this.opened.get(id);
    if (known && !this.stale.delete(id)) return known;
    const next = this.fetchCase(id, known);
    this.opened.set(id, next);
    next.catch(() => this.opened.delete(id));
    return next;
  }

  async text(id: string): Promise<string> {
    const opened = await this.open(id);
    const parts = opened?.exchanges.map(({ request, answer, events }) => [request, answer, events?.map(({ event }) => event)]);
    return JSON.stringify(parts ?? []).toLowerCase();
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
  }

  /** Asks the control plane to do something in a World; returns what it answered. */
  async act(method: "POST" | "DELETE" | "PUT" | "GET", path: string, world: string, body?: unknown): Promise<unknown> {
    const headers = { [WORLD]: world, ...(body === undefined ? {} : { "content-type": "application/json" }) };
    const sent = body === undefined ? null : JSON.stringify(body);
    return (await this.ask(path, { method, headers, body: sent })).json();
  }

  private async fetchCase(id: string, known?: OpenedCase): Promise<OpenedCase> {
    const after = known?.exchanges.at(-1)?.number ?? 0;
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
        const answer = await this.ask(`/events?after=${this.after}`, {});
        for await (const { id, data } of readEvents(answer)) {
          if (id) this.after = Number(id);
          this.note(data);
        }
      } catch {
        // The server is gone, or wants a token: the run says so when it is asked for.
      }
      await new Promise((done) => setTimeout(done, AGAIN));
      this.stale.clear();
      for (const id of this.opened.keys()) this.stale.add(id);
      this.changed();
    }
    this.following = false;
  }

  private note(data: string): void {
    const change = JSON.parse(data) as { world?: string; kind?: string };
    if (change.world !== undefined) {
      if (change.kind === "closed" || change.kind === "reset") this.opened.delete(change.world);
      else this.stale.add(change.world);
    }
    this.changed();
  }

  private changed(): void {
    this.told ??= setTimeout(() => {
      this.told = undefined;
      this.whole = undefined;
      for (const watcher of this.watchers) watcher();
    }, PACE);
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
