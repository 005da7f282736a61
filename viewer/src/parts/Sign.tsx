/** A sign beside every meaning, so that none is told by colour alone. */
export type Meaning = "wrong" | "doubtful" | "right" | "neutral" | "open";

const SIGNS: { readonly [meaning in Meaning]: readonly [string, string] } = {
  wrong: ["✗", "wrong"],
  doubtful: ["!", "doubtful"],
  right: ["✓", "right"],
  neutral: ["–", "skipped"],
  open: ["●", "open"],
};

export function Sign({ of: meaning, label }: { of: Meaning; label?: string }) {
  const [sign, name] = SIGNS[meaning];
  return <span class={`sign ${meaning}`} role="img" aria-label={label ?? name}>{sign}</span>;
}
