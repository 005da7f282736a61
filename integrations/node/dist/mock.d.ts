import type { Cache, Call, Conditions, Delivery, Exchange, MockOptions, Retry, Turn, Usage, WebhookOptions } from "./types.js";
export type * from "./types.js";
/** Why a test fails: the report of its World. */
export declare class MockFailure extends Error {
    name: string;
    constructor(report: string);
}
/** The mock of a test: what the model answers, what was asked, and the judgement of both. */
export declare class Mock {
    private readonly allowed;
    private reported;
    constructor(allowed?: MockOptions);
    /** What a client of the SDK takes, `new OpenAI(mock.options)`; it never retries, so that each call is one exchange. */
    get options(): {
        baseURL: string;
        apiKey: string;
        maxRetries: number;
    };
    /** The root of the API. */
    get baseURL(): string;
    /** The key that leads to the World of the running test. */
    get apiKey(): string;
    /** Add turns for the next requests that no `when` route answers, one turn a request. */
    script(...turns: Turn[]): Promise<void>;
    /** A route, whose turns answer only requests that meet the conditions: `mock.when({model: "gpt-5*"}).script(…)`. */
    when(conditions: Conditions): {
        script(...turns: Turn[]): Promise<void>;
    };
    /**
     * Play the answers of a recording as turns, its errors as refusals, other parts of the API as routes:
     * `mock.cassette("cassettes/weather.yaml")`. The requests may differ from the recorded ones; the rules judge them.
     */
    cassette(file: string): Promise<void>;
    /** Settings as in a script file: `mock.set({organization: {models: ["gpt-4.1"]}})`. Returns what they made. */
    set(settings: Record<string, unknown>): Promise<any>;
    /**
     * Expect a refusal while `work` runs, by the id of a rule, an area or a part of the message, and return its exchange. Fails
     * when none comes. The SDK's error of a refused request may leave `work`.
     */
    refuses(expected: string, work: () => unknown): Promise<Exchange>;
    /** The journal, oldest first. */
    exchanges(): Promise<Exchange[]>;
    /** The conversation so far, as a text. */
    flow(): Promise<string>;
    /** The calls that a client has to make, oldest first, or those of one tool. */
    calls(name?: string): Promise<Call[]>;
    /** The agents by name, in the order in which they took over. */
    agents(): Promise<string[]>;
    /** The tokens of all answers, and by agent. */
    usage(): Promise<Usage>;
    /** The share of the tokens that was read from the prompt cache, and the requests that missed it, with the reason. */
    cache(): Promise<Cache>;
    /** Which agent acted, what it called and said, in one line: `planner → get_weather(city=Paris) ✓ 18 °C`. */
    path(): Promise<string>;
    /** The requests that were sent again after a failure, oldest first. */
    retries(): Promise<Retry[]>;
    /** Move background responses on by one step, all of them without an `id`. */
    advance(id?: string): Promise<any[]>;
    /** Let time pass, so that what is due later at webhooks is delivered; returns the time of the World. */
    skip(seconds: number): Promise<number>;
    /** Tell a URL of background responses that have ended; returns the secret that verifies its deliveries. */
    webhooks(url: string, options?: WebhookOptions): Promise<string>;
    /** What was delivered to webhooks, after what is due has been. */
    deliveries(): Promise<Delivery[]>;
    /** Any other control request of the World, say `mock.send("POST", "/open", {gate: "shown"})`. */
    send(method: string, path: string, body?: unknown): Promise<any>;
    /** Begin a World of its own for a test; ids follow from the name. */
    begin(name: string): Promise<void>;
    /** End the World of the test that has begun it; a MockFailure when something is wrong with it. */
    end(name: string): Promise<void>;
    /** Fail with the report unless all is well so far, or it was said already. */
    private check;
    private allowRefusals;
}
