// Sorting, filtering and paging of a report's tables: what the server does for a live page, by the same rules.

import { SourceError } from "../source.ts";
import type { Answer, Options } from "../types.ts";

type RowLike = Record<string, unknown>;

/** The part of an answer that has rows: the one asked for, else the first table. */
function tableOf(answer: Answer, part: string | undefined): string | undefined {
  if (part !== undefined) return part;
  return Object.keys(answer).find((key) => key !== "definitions" && Array.isArray(answer[key]));
}

/** The answer with rows filtered, sorted and cut as the options say. */
export function arrange(answer: Answer, options: Options): Answer {
  const part = tableOf(answer, options.part === undefined ? undefined : String(options.part));
  const all = part === undefined ? undefined : answer[part];
  if (part === undefined || !Array.isArray(all)) return answer;
  let rows = all as RowLike[];
  if (options.filter) rows = rows.filter(matcher(String(options.filter)));
  if (options.sort) rows = sorted(rows, String(options.sort));
  const total = rows.length;
  if (options.part !== undefined) {
    const offset = Number(options.offset ?? 0);
    rows = rows.slice(offset, offset + Number(options.limit ?? total));
  } else if (Number(options.top ?? 0) > 0) {
    rows = rows.slice(0, Number(options.top));
  }
  return { ...answer, [part]: rows, [`${part}_total`]: total };
}

/** The fields that name a row, in the order the commands look at them. */
const NAMES = [
  "name",
  "path",
  "culprit",
  "change",
  "op",
  "call",
  "title",
  "operator",
  "label",
  "function",
  "region",
];

function matcher(pattern: string): (row: RowLike) => boolean {
  let regex: RegExp;
  try {
    regex = compiled(pattern);
  } catch {
    throw new SourceError({
      message: `Invalid regular expression: ${pattern}`,
      hint: "Escape special characters with a backslash.",
    });
  }
  return (row) => {
    const field = NAMES.find((name) => typeof row[name] === "string");
    return field !== undefined && regex.test(String(row[field]));
  };
}

/** As the server reads it: there any sign may be quoted, here only those that need it where Unicode is spoken. */
function compiled(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}

/** Numbers fall, texts rise, rows without the field come last; ties keep their order. */
export function sorted(rows: RowLike[], field: string): RowLike[] {
  const key = ["", "_ns", "_bytes", "_percent"]
    .map((ending) => field + ending)
    .find((name) => rows.some((row) => row[name] != null));
  if (key === undefined) return rows;
  return [...rows].sort((a, b) => {
    const [x, y] = [a[key], b[key]];
    if (x == null || y == null) return Number(x == null) - Number(y == null);
    if (typeof x === "number" && typeof y === "number") return y - x;
    if (typeof x === "boolean" && typeof y === "boolean") return Number(y) - Number(x);
    return String(x) < String(y) ? -1 : String(x) > String(y) ? 1 : 0;
  });
}
