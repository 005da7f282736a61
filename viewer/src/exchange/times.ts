/** Times as they are read. */

/** A duration: `31 ms`, `2.4 s`. */
export function duration(milliseconds: number): string {
  if (milliseconds > 0 && milliseconds < 1) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  return `${(milliseconds / 1000).toFixed(milliseconds < 10_000 ? 2 : 1)} s`;
}

/** A moment after the case began: `+31 ms`; empty when it is unknown. */
export function since(milliseconds: number | null): string {
  return milliseconds === null ? "" : `+${duration(milliseconds)}`;
}
