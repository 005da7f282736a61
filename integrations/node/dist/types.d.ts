/** What a script says and a journal holds, as the control plane takes and gives it. */
/** An item, an ending or a fault by the name of its builder: `{message: "Hi."}`, `{incomplete: "content_filter"}`. */
export type Line = {
    message: string | string[] | Record<string, unknown>;
} | {
    function_call: {
        name: string;
        arguments?: unknown;
        call_id?: string;
        [member: string]: unknown;
    };
} | {
    reasoning: string | Record<string, unknown>;
} | {
    [builder: string]: unknown;
};
/** What the model answers to one request: a text, a line, or several lines. */
export type Turn = string | Line | Array<string | Line>;
/** A text that occurs, or a regular expression in the syntax of Python. */
export type Pattern = string | {
    pattern: string;
};
/** What a request has to meet, so that the turns of a route answer it. */
export interface Conditions {
    instructions?: Pattern;
    tools?: Pattern | string[];
    model?: Pattern;
    input?: Pattern;
    user?: Pattern;
    call_id?: Pattern;
    agent?: Pattern;
}
/** A rule, an area of rules or a part of the error's message; or several. */
export type Refusals = string | string[];
/** A request with its answer; `rule` is the id of the rule that refused it. */
export interface Exchange {
    number: number;
    request: {
        method: string;
        path: string;
        body: any;
    };
    status: number;
    answer: any;
    rule: string | null;
}
/**
 * What does not fail a test: `refusals` are all (`"allow"`), or a list of rules, areas and texts; `losses` all, a list of ids,
 * or `"strict"` to look for those that may be intended, too. `client` is how the client
 * is judged, `"strict"` for all that clients do wrong, or a list of what it may do; `patience` are the seconds that it may wait.
 */
export interface MockOptions {
    unused?: "allow";
    losses?: "strict" | "allow" | string[];
    refusals?: Refusals;
    webhooks?: "allow";
    client?: "strict" | "allow" | string[];
    patience?: number;
}
/** A request that was sent again: `exchange` repeats `of`, `after` so many seconds; what the answer asked it to wait. */
export interface Retry {
    exchange: number;
    of: number;
    after: number;
    reason: string;
    retry_after: number | null;
}
/** What goes wrong with the deliveries to a webhook, what signs them, and what its receiver may do wrong. */
export interface WebhookOptions {
    secret?: string;
    events?: string[];
    faults?: Array<"doubled" | "reordered" | "forged" | "unsigned" | "stale">;
    late?: number;
    timeout?: number;
    allow?: "allow" | string[];
}
/** An attempt to tell a webhook of an event; `id` is its `webhook-id`, `status` null without an answer. */
export interface Delivery {
    event: string;
    response: string;
    id: string;
    url: string;
    attempt: number;
    at: number;
    signature: "valid" | "wrong" | "missing" | "stale";
    status: number | null;
    error: string;
    seconds: number;
}
/** A call that a client has to make; `answered` counts its outputs, `said` is the number of the exchange with the call. */
export interface Call {
    type: string;
    name: string;
    call_id: string;
    arguments: string;
    agent: string;
    said: number | null;
    answered: number;
    outputs: Array<{
        exchange: number;
        output: any;
    }>;
}
/** Tokens by the names of the API. */
export interface TokenCounts {
    input_tokens: number;
    cached_tokens: number;
    output_tokens: number;
    reasoning_tokens: number;
    total_tokens: number;
}
/** What the prompt cache spared: the share of all input tokens, the requests that missed it, and the cost in dollars if known. */
export interface Cache {
    hit_rate: number;
    cost: number | null;
    misses: Array<{
        exchange: number;
        reason: string;
        at: string;
        before: string;
        now: string;
        missed_tokens: number;
        compared: number;
    }>;
}
/** The tokens of all answers, and those of each agent by its name. */
export interface Usage extends TokenCounts {
    by_agent: Record<string, TokenCounts>;
}
