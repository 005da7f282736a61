/** Numbers, times and texts as a reader wants them. */
import type { CaseRow, Outcome, Run } from "./model";
import type { Meaning } from "./parts/Sign";

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export const number = (value: number) => NUMBER.format(value);

/** Says how many there are: `1 test`, `2 tests`. */
export function count(value: number, noun: string, plural = `${noun}s`): string {
  return `${number(value)} ${value === 1 ? noun : plural}`;
}

export function seconds(value: number): string {
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 120) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}

export function milliseconds(value: number): string {
  return value < 10 ? `${number(value)} ms` : seconds(value / 1000);
}

/** Writes a moment in the reader's time zone: `26 Nov 2026, 05:13`. */
export function date(unix: number): string {
  if (!(unix > 0)) return "";
  const moment = new Date(unix * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${moment.getDate()} ${MONTHS[moment.getMonth()]} ${moment.getFullYear()}, ${two(moment.getHours())}:${two(moment.getMinutes())}`;
}

const MEANINGS: { readonly [outcome in Outcome]: Meaning } = {
  passed: "right",
  failed: "wrong",
  error: "wrong",
  skipped: "neutral",
  xfailed: "neutral",
  xpassed: "doubtful",
  open: "open",
};

export function meaning(outcome: Outcome): Meaning {
  return MEANINGS[outcome];
}

/** Whether a case is a reason to look: it failed, or something went wrong in a World that lives. */
export function isWrong(row: CaseRow): boolean {
  return row.outcome === "failed" || row.outcome === "error" || row.causes.length > 0;
}

export function place(row: CaseRow): string {
  return row.line ? `${row.file}:${row.line}` : row.file;
}

/** Says of a test that was run several times how often; it is shown as it ended last. */
export function flaky(row: CaseRow): string {
  return row.retries > 0 ? `flaky: run ${row.retries + 1} times` : "";
}

/** The name of a case without its file, which stands beside it. */
export function title(row: CaseRow): string {
  return row.file && row.name.startsWith(`${row.file}::`) ? row.name.slice(row.file.length + 2) : row.name;
}

const NOUNS: { readonly [source: string]: readonly [one: string, several: string] } = {
  serve: ["World", "Worlds"],
  verify: ["recording", "recordings"],
  recordings: ["recording", "recordings"],
  examine: ["case", "cases"],
};

/** What the cases of a run are: tests, Worlds, recordings. */
export function nouns(run: Run): readonly [one: string, several: string] {
  return NOUNS[run.source] ?? ["test", "tests"];
}

/** Begins a text with a capital letter. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
