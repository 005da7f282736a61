/** Start the server unless HARNESS_URL names one; returns what ends it. */
export default function setup(): Promise<() => void>;
