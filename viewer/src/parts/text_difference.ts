/** What differs between two texts, by words. */

export interface Piece {
  readonly sign: "same" | "removed" | "added";
  readonly text: string;
}

/** Beyond so many edits two texts are shown one after the other: they have little in common. */
const MOST_EDITS = 600;

const split = (text: string): string[] => text.match(/\w+|\s+|[^\w\s]/gu) ?? [];

/** The pieces of two texts in order: those of both, those of the first only (removed), those of the second only (added). */
export function compareTexts(was: string, is: string): Piece[] {
  if (was === is) return was ? [{ sign: "same", text: was }] : [];
  const before = split(was);
  const after = split(is);
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const middle = edits(before.slice(start, before.length - end), after.slice(start, after.length - end));
  const whole: Piece[] = [
    { sign: "same", text: before.slice(0, start).join("") },
    ...middle,
    { sign: "same", text: before.slice(before.length - end).join("") },
  ];
  return merged(whole);
}

/** The shortest way from one list of words to another (Myers, "An O(ND) Difference Algorithm"). */
function edits(before: readonly string[], after: readonly string[]): Piece[] {
  const most = Math.min(before.length + after.length, MOST_EDITS);
  const reached = new Map<number, number>([[1, 0]]);
  const steps: Map<number, number>[] = [];
  for (let edit = 0; edit <= most; edit++) {
    steps.push(new Map(reached));
    for (let diagonal = -edit; diagonal <= edit; diagonal += 2) {
      const left = reached.get(diagonal - 1) ?? -1;
      const right = reached.get(diagonal + 1) ?? -1;
      let x = diagonal === -edit || (diagonal !== edit && left < right) ? right : left + 1;
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x++;
      reached.set(diagonal, x);
      if (x >= before.length && x - diagonal >= after.length) return walkBack(before, after, steps);
    }
  }
  return [
    { sign: "removed", text: before.join("") },
    { sign: "added", text: after.join("") },
  ];
}

function walkBack(before: readonly string[], after: readonly string[], steps: readonly Map<number, number>[]): Piece[] {
  const pieces: Piece[] = [];
  let x = before.length;
  let y = after.length;
  for (let edit = steps.length - 1; edit >= 0; edit--) {
    const reached = steps[edit] as Map<number, number>;
    const diagonal = x - y;
    const left = reached.get(diagonal - 1) ?? -1;
    const right = reached.get(diagonal + 1) ?? -1;
    const isAdded = diagonal === -edit || (diagonal !== edit && left < right);
    const fromX = isAdded ? right : left;
    const fromY = fromX - (isAdded ? diagonal + 1 : diagonal - 1);
    while (x > Math.max(fromX, 0) && y > Math.max(fromY, 0)) {
      if (before[x - 1] !== after[y - 1]) break;
      pieces.push({ sign: "same", text: before[--x] as string });
      y--;
    }
    if (edit === 0) break;
    if (isAdded) pieces.push({ sign: "added", text: after[--y] as string });
    else pieces.push({ sign: "removed", text: before[--x] as string });
  }
  return pieces.reverse();
}

/** Puts neighbours of one sign together; among edits that touch, what was removed stands first. */
function merged(pieces: readonly Piece[]): Piece[] {
  const result: Piece[] = [];
  let removed = "";
  let added = "";
  const flush = (): void => {
    if (removed) result.push({ sign: "removed", text: removed });
    if (added) result.push({ sign: "added", text: added });
    removed = added = "";
  };
  for (const piece of pieces) {
    if (!piece.text) continue;
    if (piece.sign === "removed") removed += piece.text;
    else if (piece.sign === "added") added += piece.text;
    else {
      flush();
      const last = result.at(-1);
      if (last?.sign === "same") result[result.length - 1] = { sign: "same", text: last.text + piece.text };
      else result.push(piece);
    }
  }
  flush();
  return result;
}
