/** The origin of the server, say `http://127.0.0.1:8765`. */
export declare function serverOrigin(): string;
/**
 * Send a control request for the World of a key; an error says what the server objects to, or that its answer has not ended
 * within so many seconds.
 */
export declare function control(key: string, method: string, path: string, body?: unknown, seconds?: number): Promise<any>;
