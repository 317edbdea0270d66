// Columns whose heads and explanations are those of the answer.

import type { Definition } from "../data/types.ts";
import type { Column } from "./table.tsx";

/** A column of numbers under the name the answer gives its field. */
export function defined<R>(
  definitions: Definition[] | undefined,
  field: keyof R & string,
  rest: Partial<Column<R>> = {},
): Column<R> {
  const known = definitions?.find((d) => d.field === field);
  return {
    field,
    label: known?.label ?? field.replace(/_ns$/, "").replaceAll("_", " "),
    text: known?.text,
    ...rest,
  };
}
