import { API_KEY, setEnvironment } from "./environment.js";
import { scriptOf } from "./command.js";
import { control, serverOrigin } from "./control.js";
import type {
  Cache,
  Call,
  Conditions,
  Delivery,
  Exchange,
  MockOptions,
  Refusals,
  Retry,
  Turn,
  Usage,
  WebhookOptions,
} from "./types.js";

export type * from "./types.js";

/** Why a test fails: the report of its World. */
export class MockFailure extends Error {
  override name = "MockFailure";

  constructor(report: string) {
    super(report);
    this.stack = `${this.name}: ${report}`; // no line of this package is where the fault is
  }
}

/** The names of the options of a mock. */
const OPTIONS = ["unused", "losses", "refusals", "webhooks", "client", "patience"];

/** The test that has the World of this worker now. */
let running = "";

/** The mock of a test: what the model answers, what was asked, and the judgement of both. */
export class Mock {
  private reported = "";

  constructor(private readonly allowed: MockOptions = {}) {
    checkOptions(allowed);
    setEnvironment();
  }

  /** What a client of the SDK takes, `new OpenAI(mock.options)`; it never retries, so that each call is one exchange. */
  get options(): { baseURL: string; apiKey: string; maxRetries: number } {
    return { baseURL: this.baseURL, apiKey: this.apiKey, maxRetries: 0 };
  }

  /** The root of the API. */
  get baseURL(): string {
    return `${serverOrigin()}/v1`;
  }

  /** The key that leads to the World of the running test. */
  get apiKey(): string {
    return API_KEY;
  }

  /** Add turns for the next requests that no `when` route answers, one turn a request. */
  async script(...turns: Turn[]): Promise<void> {
    await this.send("POST", "/script", { turns: turns.map(toWire) });
  }

  /** A route, whose turns answer only requests that meet the conditions: `mock.when({model: "gpt-5*"}).script(…)`. */
  when(conditions: Conditions): { script(...turns: Turn[]): Promise<void> } {
    return {
      script: async (...turns) => {
        await this.send("POST", "/script", { when: conditions, turns: turns.map(toWire) });
      },
    };
  }

  /**
   * Play the answers of a recording as turns, its errors as refusals, other parts of the API as routes:
   * `mock.cassette("cassettes/weather.yaml")`. The requests may differ from the recorded ones; the rules judge them.
   */
  async cassette(file: string): Promise<void> {
    await this.send("POST", "/script", await scriptOf(file));
  }

  /** Settings as in a script file: `mock.set({organization: {models: ["gpt-4.1"]}})`. Returns what they made. */
  async set(settings: Record<string, unknown>): Promise<any> {
    return this.send("POST", "/script", settings);
  }

  /**
   * Expect a refusal while `work` runs, by the id of a rule, an area or a part of the message, and return its exchange. Fails
   * when none comes. The SDK's error of a refused request may leave `work`.
   */
  async refuses(expected: string, work: () => unknown): Promise<Exchange> {
    await this.send("POST", "/expect", { refusals: expected });
    await this.allowRefusals();
    let thrown: unknown;
    try {
      await work();
    } catch (error) {
      thrown = error;
    }
    const ended: Array<{ refusals: string; exchanges: number[] }> = (await this.send("POST", "/expect", { refusals: [] }))
      .ended;
    await this.allowRefusals();
    const came = ended.find((each) => each.refusals === expected)?.exchanges ?? [];
    const refused = (await this.exchanges()).filter((each) => came.includes(each.number));
    const status = (thrown as { status?: unknown } | undefined)?.status;
    if (thrown !== undefined && !refused.some((each) => each.status === status)) throw thrown;
    if (refused[0]) return refused[0];
    await this.check();
    throw new MockFailure(`No request was refused by "${expected}", which was expected.`);
  }

  /** The journal, oldest first. */
  async exchanges(): Promise<Exchange[]> {
    return this.send("GET", "/exchanges");
  }

  /** The conversation so far, as a text. */
  async flow(): Promise<string> {
    return (await this.send("GET", "/flow")).text;
  }

  /** The calls that a client has to make, oldest first, or those of one tool. */
  async calls(name?: string): Promise<Call[]> {
    return this.send("GET", name === undefined ? "/calls" : `/calls?name=${encodeURIComponent(name)}`);
  }

  /** The agents by name, in the order in which they took over. */
  async agents(): Promise<string[]> {
    return this.send("GET", "/agents");
  }

  /** The tokens of all answers, and by agent. */
  async usage(): Promise<Usage> {
    return this.send("GET", "/usage");
  }

  /** The share of the tokens that was read from the prompt cache, and the requests that missed it, with the reason. */
  async cache(): Promise<Cache> {
    return this.send("GET", "/cache");
  }

  /** Which agent acted, what it called and said, in one line: `planner → get_weather(city=Paris) ✓ 18 °C`. */
  async path(): Promise<string> {
    return (await this.send("GET", "/path")).text;
  }

  /** The requests that were sent again after a failure, oldest first. */
  async retries(): Promise<Retry[]> {
    return this.send("GET", "/retries");
  }

  /** Move background responses on by one step, all of them without an `id`. */
  async advance(id?: string): Promise<any[]> {
    return this.send("POST", "/advance", id === undefined ? {} : { id });
  }

  /** Let time pass, so that what is due later at webhooks is delivered; returns the time of the World. */
  async skip(seconds: number): Promise<number> {
    return (await this.send("POST", "/skip", { seconds })).now;
  }

  /** Tell a URL of background responses that have ended; returns the secret that verifies its deliveries. */
  async webhooks(url: string, options: WebhookOptions = {}): Promise<string> {
    return (await this.set({ webhooks: { url, ...options } })).webhooks[url];
  }

  /** What was delivered to webhooks, after what is due has been. */
  async deliveries(): Promise<Delivery[]> {
    return (await this.send("GET", "/deliveries")).deliveries;
  }

  /** Any other control request of the World, say `mock.send("POST", "/open", {gate: "shown"})`. */
  async send(method: string, path: string, body?: unknown): Promise<any> {
    return control(this.apiKey, method, path, body);
  }

  /** Begin a World of its own for a test; ids follow from the name. */
  async begin(name: string): Promise<void> {
    if (running) {
      throw new Error(
        `${name}: ${running} has the mock now. Use it in one place, outside of \`concurrent\`: a World is for one test at a time.`,
      );
    }
    running = name;
    this.reported = "";
    await this.send("POST", "/world", { name, language: "javascript" });
    await this.allowRefusals();
    const { client, patience } = this.allowed;
    if (client !== undefined) await this.set({ client });
    if (patience !== undefined) await this.set({ patience });
  }

  /** End the World of the test that has begun it; a MockFailure when something is wrong with it. */
  async end(name: string): Promise<void> {
    if (running !== name) return;
    try {
      await this.check();
    } finally {
      running = "";
      await this.send("DELETE", "/world");
    }
  }

  /** Fail with the report unless all is well so far, or it was said already. */
  private async check(): Promise<void> {
    const { unused = "fail", losses = "fail", webhooks = "fail" } = this.allowed;
    const lost = encodeURIComponent([losses].flat().join(","));
    const outcomes = `unused=${unused}&losses=${lost}&webhooks=${webhooks}`;
    const { verdict, report } = await this.send("GET", `/report?${outcomes}`);
    if (!verdict || verdict === this.reported) return;
    this.reported = verdict;
    throw new MockFailure(report);
  }

  private async allowRefusals(): Promise<void> {
    if (this.allowed.refusals !== undefined) await this.set({ refusals: this.allowed.refusals });
  }
}

/** Throw for what is no option: what is misspelt would permit nothing, or look for nothing, and say nothing. */
function checkOptions(options: unknown): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new TypeError(`useMock(${JSON.stringify(options)}): give options by name, as in useMock({ losses: "allow" }).`);
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined)
    throw new TypeError(`useMock: there is no option ${JSON.stringify(unknown)}. The options are ${OPTIONS.join(", ")}.`);
}

function toWire(turn: Turn): unknown {
  const line = (each: unknown) => (typeof each === "string" ? { message: each } : each);
  return Array.isArray(turn) ? turn.map(line) : line(turn);
}
