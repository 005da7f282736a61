/** A run: what is wrong, first. */
import { type Address, link } from "../address";
import { KeysHelp } from "../keys";
import type { Run } from "../model";
import { VirtualList } from "../parts/VirtualList";
import { ThemeButton } from "../theme";

export function RunScreen({ run }: { run: Run; address: Address }) {
  return (
    <div class="page">
      <header class="head">
        <div class="top">
          <span class="name">responses-harness</span>
          <span class="about">{run.command}</span>
          <KeysHelp />
          <ThemeButton />
        </div>
      </header>
      <main class="scrolls screen">
        <VirtualList
          items={run.cases}
          keyOf={(row) => row.id}
          estimate={28}
          label="Tests"
          render={(row) => <a href={link.case(row.id)}>{row.name}</a>}
        />
      </main>
    </div>
  );
}
