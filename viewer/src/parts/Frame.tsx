/** What stands around a screen that was opened from another: the way back, the theme, the keys. */
import type { ComponentChildren } from "preact";
import { link } from "../address";
import { KeysHelp } from "../keys";
import { ThemeButton } from "../theme";

export type Crumb = readonly [text: string, href: string];

export function Frame({ crumbs, here, children }: { crumbs: readonly Crumb[]; here: string; children: ComponentChildren }) {
  return (
    <div class="page">
      <header class="head">
        <div class="top">
          <nav class="crumbs" aria-label="Where this is">
            <a class="name" href={link.run()}>
              responses-harness
            </a>
            {crumbs.map(([text, href]) => (
              <a key={href} href={href} title={text}>
                {text}
              </a>
            ))}
            <span aria-current="page">{here}</span>
          </nav>
          <div class="tools">
            <ThemeButton />
            <KeysHelp />
          </div>
        </div>
      </header>
      <main class="body scrolls screen" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}
