/** Where the data comes from: a file that has it inside, or a server that is asked for it. */
import type { Run } from "../model";
import type { OpenedCase } from "./opened";

export interface Source {
  /** Whether a server is asked: what is shown changes then. */
  readonly live: boolean;
  run(): Promise<Run>;
  /** Opens a case of the run by its id; undefined when there is none. */
  open(id: string): Promise<OpenedCase | undefined>;
  /** Reads what search looks through, in lower case: all that a case says. */
  text(id: string): Promise<string>;
  /** Calls back when the run or a case has changed; returns how to stop. */
  watch(changed: () => void): () => void;
}

/** A message for the reader: what is wrong, and what to do. */
export class Problem extends Error {}
