// The columns of any table of an answer, read off its rows: names first, then numbers, without those that hold nothing.

import type { Definition } from "../data/types.ts";
import { plain } from "./format.ts";

export type AnyRow = Record<string, unknown>;

export interface AnswerColumn {
  field: string;
  label: string;
  text: string | undefined;
  isText: boolean;
}

/** Fields by which rows are found again, not meant to be read. */
const HIDDEN = new Set(["slice", "start_slice", "index"]);

export function columnsOf(rows: readonly AnyRow[], definitions: Definition[] | undefined): AnswerColumn[] {
  const fields: string[] = [];
  for (const row of rows)
    for (const field of Object.keys(row)) if (!fields.includes(field) && !HIDDEN.has(field)) fields.push(field);
  const columns = fields.flatMap((field) => {
    const held = rows.map((row) => row[field]).filter((value) => value !== null && value !== undefined);
    const isObject = held.some((value) => typeof value === "object" && !Array.isArray(value));
    const saysSomething = held.some((value) => value !== "" && value !== false && !isEmptyList(value));
    if (isObject || !saysSomething) return [];
    const known = definitions?.find((d) => d.field === field);
    const isText = held.some((value) => typeof value === "string" || Array.isArray(value));
    return [{ field, label: known?.label ?? plain(field), text: known?.text, isText }];
  });
  return [...columns.filter((c) => c.isText), ...columns.filter((c) => !c.isText)];
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Rows that hold a text anywhere, in order: numbers fall, texts rise, rows without the field come last. */
export function arrangedRows<R extends object>(
  rows: readonly R[],
  text: string,
  sort: string | undefined,
): R[] {
  const sought = text.trim().toLowerCase();
  const of = (row: R, field: string) => (row as AnyRow)[field];
  const holds = (row: R) =>
    Object.values(row).some(
      (value) => typeof value !== "number" && String(value).toLowerCase().includes(sought),
    );
  const kept = sought === "" ? [...rows] : rows.filter(holds);
  if (sort === undefined) return kept;
  return kept.sort((a, b) => {
    const [x, y] = [of(a, sort), of(b, sort)];
    if (x === null || x === undefined || y === null || y === undefined)
      return Number(x === null || x === undefined) - Number(y === null || y === undefined);
    if (typeof x === "number" && typeof y === "number") return y - x;
    return String(x) < String(y) ? -1 : String(x) > String(y) ? 1 : 0;
  });
}
