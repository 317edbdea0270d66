// Parts of a whole as pieces of a bar.

export interface Piece {
  key: string;
  label: string;
  value: number;
  category: number;
  /** The definition of the piece. */
  text?: string | undefined;
}

export interface Placed extends Piece {
  share: number;
  /** Where the piece begins, as a part of the bar. */
  start: number;
}

/** Adds up equal keys (rows of several devices become one piece), drops what is nothing, the longest first. */
export function gather(pieces: Piece[]): Piece[] {
  const byKey = new Map<string, Piece>();
  for (const piece of pieces) {
    const known = byKey.get(piece.key);
    if (known) known.value += piece.value;
    else byKey.set(piece.key, { ...piece });
  }
  return [...byKey.values()].filter((p) => p.value > 0).sort((a, b) => b.value - a.value);
}

/** Pieces one after the other. `whole` is what the bar represents; their sum if they reach beyond it. */
export function place(pieces: Piece[], whole?: number): { placed: Placed[]; sum: number; whole: number } {
  const sum = pieces.reduce((total, piece) => total + piece.value, 0);
  const all = Math.max(sum, whole ?? 0);
  let start = 0;
  const placed = pieces.map((piece) => {
    const share = all > 0 ? piece.value / all : 0;
    const one = { ...piece, share, start };
    start += share;
    return one;
  });
  return { placed, sum, whole: all };
}
