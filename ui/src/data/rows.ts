// The rows of a table by position, whether they are all at hand or come page by page.

/** Rows by position; those not here yet are `undefined` and asked for with `want`. */
export interface Rows<R> {
  total: number;
  at(index: number): R | undefined;
  want?(from: number, to: number): void;
}

/** All rows at hand. */
export function rowsOf<R>(rows: R[]): Rows<R> {
  return { total: rows.length, at: (index) => rows[index] };
}
