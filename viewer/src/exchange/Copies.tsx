/** What can be copied of an exchange. */
import type { OpenedExchange } from "../data/opened";
import { Copy } from "../parts/Copy";

const NAMES: readonly (readonly [name: string, label: string])[] = [
  ["pytest", "pytest test"],
  ["curl", "curl"],
  ["turn_python", "script turn, Python"],
  ["turn_yaml", "script turn, YAML"],
  ["refusal", "expected refusal"],
];

export function Copies({ exchange }: { exchange: OpenedExchange }) {
  const { copies } = exchange.shown;
  const named = NAMES.filter(([name]) => copies[name]);
  if (named.length === 0) return null;
  return (
    <details class="copies">
      <summary>Copy as …</summary>
      <div class="copies-menu">
        {named.map(([name, label]) => (
          <Copy key={name} text={() => copies[name] ?? ""} label={label} />
        ))}
      </div>
    </details>
  );
}
