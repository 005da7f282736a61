/** A sign beside every meaning, so that none is told by colour alone. */
export type Meaning = "wrong" | "doubtful" | "right" | "neutral" | "open";

const SIGNS: { readonly [meaning in Meaning]: readonly [string, string] } = {
  wrong: ["✗", "wrong"],
  doubtful: ["!", "doubtful"],
  right: ["✓", "right"],
  neutral: ["–", "skipped"],
  open: ["●", "open"],
};

/** Shows the sign of a meaning; with an empty label it says nothing that the words beside it do not say. */
export function Sign({ of: meaning, label }: { of: Meaning; label?: string }) {
  const [sign, name] = SIGNS[meaning];
  if (label === "")
    return (
      <span class={`sign ${meaning}`} aria-hidden="true">
        {sign}
      </span>
    );
  return (
    <span class={`sign ${meaning}`} role="img" aria-label={label ?? name}>
      {sign}
    </span>
  );
}
