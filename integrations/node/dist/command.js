"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.HOW_TO_INSTALL = void 0;
exports.harnessCommand = harnessCommand;
exports.endOf = endOf;
exports.scriptOf = scriptOf;
/** The command line of the harness: where it is, and what it makes of a recording. */
const node_child_process_1 = require("node:child_process");
const node_fs_1 = require("node:fs");
const node_path_1 = require("node:path");
const [FOLDER, NAME] = process.platform === "win32" ? ["Scripts", "responses-harness.exe"] : ["bin", "responses-harness"];
const MOST_BYTES = 1 << 28;
/** What to do when there is no command. */
exports.HOW_TO_INSTALL = "Install it, pip install PATH of its clone or wheel, or name its command in HARNESS_COMMAND (say /path/to/.venv/bin/responses-harness)";
/** The command: HARNESS_COMMAND, the one of a virtual environment here, or the one on the PATH. */
function harnessCommand() {
    if (process.env.HARNESS_COMMAND)
        return process.env.HARNESS_COMMAND.split(" ").filter(Boolean);
    const own = (0, node_path_1.join)(process.cwd(), ".venv", FOLDER, NAME);
    return [(0, node_fs_1.existsSync)(own) ? own : (onPath() ?? own)];
}
/** The command on the PATH, other than that of this package: `npx` puts it in front, and it would start itself. */
function onPath() {
    const folders = (process.env.PATH ?? "").split(node_path_1.delimiter).filter((folder) => !folder.includes("node_modules"));
    const files = folders.map((folder) => (0, node_path_1.join)(folder, NAME));
    return files.find((file) => (0, node_fs_1.existsSync)(file) && (0, node_path_1.basename)((0, node_fs_1.realpathSync)(file)) !== "bin.js");
}
/** Wait until a process has ended; one that has not within so many seconds is killed, and an error says so. */
function endOf(child, command, seconds) {
    return new Promise((resolve, reject) => {
        if (child.exitCode !== null || child.signalCode !== null)
            return resolve();
        const timer = setTimeout(() => {
            child.kill("SIGKILL");
            reject(new Error(`\`${command}\` did not end within ${seconds} seconds, and was killed: its report may be missing.`));
        }, seconds * 1000);
        child.on("exit", () => {
            clearTimeout(timer);
            resolve();
        });
    });
}
const scripts = new Map();
/** The answers of a cassette as a script, read once as long as the file is the same; an error says what is wrong with it. */
function scriptOf(cassette) {
    const file = (0, node_path_1.resolve)(cassette);
    if (!(0, node_fs_1.existsSync)(file))
        throw new Error(`mock.cassette: there is no file ${file}.`);
    const known = `${file} ${(0, node_fs_1.statSync)(file).mtimeMs}`;
    if (!scripts.has(known))
        scripts.set(known, convert(file));
    return scripts.get(known);
}
function convert(file) {
    const [program = "", ...before] = harnessCommand();
    const asked = [...before, "cassettes", file, "--to-script", "json"];
    return new Promise((resolve, reject) => {
        (0, node_child_process_1.execFile)(program, asked, { maxBuffer: MOST_BYTES, encoding: "utf8" }, (failed, printed, problems) => {
            if (!failed)
                return resolve(JSON.parse(printed));
            const why = problems.trim() || failed.message;
            reject(new Error(`mock.cassette: \`${program} cassettes\` did not read ${file}: ${why}`));
        });
    });
}
