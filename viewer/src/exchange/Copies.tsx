/** The menu of what can be copied of an exchange. */
import type { OpenedExchange } from "../data/opened";
import { Copy } from "../parts/Copy";
import { COPIES, copyOf } from "./copy_texts";

export function Copies({ exchange }: { exchange: OpenedExchange }) {
  const named = COPIES.filter(([name]) => exchange.shown.copies[name]);
  if (named.length === 0) return null;
  return (
    <details class="copies">
      <summary>Copy as …</summary>
      <div class="copies-menu">
        {named.map(([name, label]) => (
          <Copy key={name} text={() => copyOf(exchange, name)} label={label} />
        ))}
      </div>
    </details>
  );
}
