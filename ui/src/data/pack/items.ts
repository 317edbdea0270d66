// The slices of a report, row by row. Each item is one slice, or a bucket of several where the report was cut to size.

export interface Items {
  n: number;
  start: Float64Array;
  end: Float64Array;
  id: Uint32Array;
  name: Uint32Array;
  count: Uint32Array;
  busy: Uint8Array;
  category: Uint8Array;
}

/** Reads the `rows` section: row, length, then columns; everything starts at a multiple of 8. */
export function readRows(bytes: Uint8Array<ArrayBuffer>): Map<number, Items> {
  const rows = new Map<number, Items>();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const take = <T>(
    make: new (buffer: ArrayBuffer, offset: number, length: number) => T,
    size: number,
    n: number,
  ) => {
    const column = new make(bytes.buffer, bytes.byteOffset + at, n);
    at += size * n;
    return column;
  };
  while (at + 8 <= bytes.byteLength) {
    const row = view.getUint32(at, true);
    const n = view.getUint32(at + 4, true);
    at += 8;
    rows.set(row, {
      n,
      start: take(Float64Array, 8, n),
      end: take(Float64Array, 8, n),
      id: take(Uint32Array, 4, n),
      name: take(Uint32Array, 4, n),
      count: take(Uint32Array, 4, n),
      busy: take(Uint8Array, 1, n),
      category: take(Uint8Array, 1, n),
    });
    at = Math.ceil(at / 8) * 8;
  }
  return rows;
}

/** The first item that starts at `t` or later. */
export function firstFrom(items: Items, t: number): number {
  let low = 0;
  let high = items.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (items.start[middle]! < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first item that ends after `t`: ends rise with starts inside a row. */
export function firstEndingAfter(items: Items, t: number): number {
  const next = firstFrom(items, t);
  return next > 0 && items.end[next - 1]! > t ? next - 1 : next;
}
