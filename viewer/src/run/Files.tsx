/** The files of a run: how the tests of each ended, and the recordings that were read. */
import { link } from "../address";
import { count, isWrong, nouns, number, seconds } from "../format";
import type { Run } from "../model";
import { Sign } from "../parts/Sign";

interface Sum {
  readonly file: string;
  readonly cases: number;
  readonly wrong: number;
  readonly exchanges: number;
  readonly seconds: number;
}

function sums(run: Run): Sum[] {
  const files = new Map<string, Sum>();
  for (const row of run.cases) {
    const { cases, wrong, exchanges, seconds: spent } = files.get(row.file) ?? { cases: 0, wrong: 0, exchanges: 0, seconds: 0 };
    files.set(row.file, {
      file: row.file,
      cases: cases + 1,
      wrong: wrong + Number(isWrong(row)),
      exchanges: exchanges + row.exchanges,
      seconds: spent + row.seconds,
    });
  }
  return [...files.values()].sort((one, other) => other.wrong - one.wrong);
}

export function Files({ run, sought }: { run: Run; sought: string }) {
  const has = (name: string) => name.toLowerCase().includes(sought.trim().toLowerCase());
  const files = sums(run).filter(({ file }) => has(file));
  const read = run.files.filter(has);
  return (
    <main class="scrolls screen files" tabIndex={-1}>
      {files.length === 0 && read.length === 0 && <p class="empty">No files.</p>}
      {files.map(({ file, cases, wrong, exchanges, seconds: spent }) => (
        <a class="case" key={file} href={link.run({ q: file })}>
          <Sign of={wrong ? "wrong" : "right"} label={wrong ? "failed" : "passed"} />
          <span class="wrap">{file || "no file"}</span>
          <span class="dim small figures">
            {wrong > 0 && <span class="wrong">{number(wrong)} failed</span>}
            <span>{count(cases, ...nouns(run))}</span>
            <span>{count(exchanges, "request")}</span>
            <span class="time">{seconds(spent)}</span>
          </span>
        </a>
      ))}
      {read.length > 0 && <h2>Recordings</h2>}
      {read.map((file) => <p key={file} class="wrap small">{file}</p>)}
    </main>
  );
}
