// Which columns a table shows: kept in the URL as `cols=a,b,c`, left out while it is the usual choice.

import { plain } from "./format.ts";
import { Icon } from "./icons.tsx";
import { Menu } from "./menu.tsx";
import type { Definitions } from "./metric.tsx";

export interface ColumnChoice {
  field: string;
  /** What it is called where the answer does not define it. */
  label?: string;
  /** Shown unless the user chose otherwise. */
  usual: boolean;
  /** Cannot be taken away: the name of a row. */
  fixed?: boolean;
}

/** The same under the names and with the texts that the answer gives its numbers; others keep their own. */
export function named<C extends { field: string; label?: string; text?: string | undefined }>(
  columns: readonly C[],
  definitions: Definitions,
): (C & { label: string; text: string | undefined })[] {
  return columns.map((column) => {
    const known = definitions?.find((one) => one.field === column.field);
    return {
      ...column,
      label: known?.label ?? column.label ?? plain(column.field),
      text: column.text ?? known?.text,
    };
  });
}

/** The fields to show, in the table's own order; unknown ones are ignored. */
export function chosenFields(all: readonly ColumnChoice[], text: string | undefined): string[] {
  if (text === undefined) return all.filter((c) => c.usual || c.fixed).map((c) => c.field);
  const asked = new Set(text.split(","));
  return all.filter((c) => c.fixed || asked.has(c.field)).map((c) => c.field);
}

/** The URL after a column was shown or hidden; `undefined` for the usual choice. */
export function toggledFields(
  all: readonly ColumnChoice[],
  text: string | undefined,
  field: string,
): string | undefined {
  const now = new Set(chosenFields(all, text));
  if (!now.delete(field)) now.add(field);
  const next = all.filter((c) => c.fixed || now.has(c.field)).map((c) => c.field);
  return next.join() === chosenFields(all, undefined).join() ? undefined : next.join();
}

/** The button that opens the choice. */
export function ColumnMenu(props: {
  all: readonly (ColumnChoice & { label: string })[];
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}) {
  const shown = new Set(chosenFields(props.all, props.value));
  return (
    <Menu
      name="Columns"
      label={
        <>
          <Icon name="columns" /> Columns
        </>
      }
    >
      {() => (
        <div class="column-choice">
          {props.all
            .filter((column) => !column.fixed)
            .map(({ field, label }) => (
              <label key={field}>
                <input
                  type="checkbox"
                  checked={shown.has(field)}
                  onChange={() => props.onChange(toggledFields(props.all, props.value, field))}
                />
                {label}
              </label>
            ))}
          <button type="button" disabled={props.value === undefined} onClick={() => props.onChange(undefined)}>
            Reset columns
          </button>
        </div>
      )}
    </Menu>
  );
}
