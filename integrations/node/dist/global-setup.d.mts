/**
 * Start the server unless HARNESS_URL names one; returns what ends it, and waits for the report in the files of HARNESS_REPORT,
 * named by commas, and for the traces in the folder of HARNESS_TRACE.
 */
export default function setup(): Promise<() => Promise<void>>;
