/** The head of every screen: where one is, and what can be done everywhere. */
import type { ComponentChildren } from "preact";
import { link } from "./address";
import { date, seconds } from "./format";
import { KeysHelp } from "./keys";
import type { Run } from "./model";
import { ThemeButton } from "./theme";

export interface Crumb {
  readonly text: string;
  readonly href: string;
}

interface Shape {
  readonly run: Run;
  readonly crumbs?: readonly Crumb[];
  /** What stands in a second row of the head. */
  readonly below?: ComponentChildren;
  /** What stands at the bottom of the screen. */
  readonly dock?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Frame({ run, crumbs = [], below, dock, children }: Shape) {
  const last = crumbs.length - 1;
  return (
    <div class="page">
      <header class="head">
        <div class="top">
          <nav class="crumbs" aria-label="Where you are">
            <a class="name" href={link.run()}>
              responses-harness
            </a>
            {crumbs.map((crumb, index) => (
              <a key={crumb.href} href={crumb.href} aria-current={index === last ? "page" : undefined}>
                {crumb.text}
              </a>
            ))}
          </nav>
          {crumbs.length === 0 && <About run={run} />}
          <div class="tools">
            <KeysHelp />
            <ThemeButton />
          </div>
        </div>
        {below}
      </header>
      <div class="body">{children}</div>
      {dock}
    </div>
  );
}

/** What was run, when, how long; with which versions, when somebody asks. */
function About({ run }: { run: Run }) {
  const versions = Object.entries(run.versions);
  const parts = [run.command, date(run.began), run.seconds > 0 ? seconds(run.seconds) : "", run.commit].filter(Boolean);
  return (
    <div class="about">
      {parts.map((part) => (
        <span key={part}>{part}</span>
      ))}
      {versions.length > 0 && (
        <details class="versions">
          <summary>versions</summary>
          <dl class="pairs">{versions.flatMap(([name, version]) => [<dt key={name}>{name}</dt>, <dd key={`${name} is`}>{version}</dd>])}</dl>
        </details>
      )}
    </div>
  );
}
