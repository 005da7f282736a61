/** The command line of the harness: where it is, and what it makes of a recording. */
import { type ChildProcess } from "node:child_process";
/** What to do when there is no command. */
export declare const HOW_TO_INSTALL = "Install it, pip install PATH of its clone or wheel, or name its command in HARNESS_COMMAND (say /path/to/.venv/bin/responses-harness)";
/** The command: HARNESS_COMMAND, the one of a virtual environment here, or the one on the PATH. */
export declare function harnessCommand(): string[];
/** Wait until a process has ended; one that has not within so many seconds is killed, and an error says so. */
export declare function endOf(child: ChildProcess, command: string, seconds: number): Promise<void>;
/** The answers of a cassette as a script, read once as long as the file is the same; an error says what is wrong with it. */
export declare function scriptOf(cassette: string): Promise<unknown>;
