// The head of a column: its name, its definition, and the button that sorts.

import { useId } from "preact/hooks";
import { Icon } from "./icons.tsx";
import { Defined } from "./metric.tsx";
import { tipOn } from "./tip.tsx";

export interface HeadColumn {
  field: string;
  label: string;
  /** The definition, one hover away. */
  text?: string | undefined;
  /** Left for texts, right for numbers. */
  align?: "left" | "right";
  /** CSS width; one column should have none and take what is left. */
  width?: string;
  /** Whether a click on the head sorts; yes unless said otherwise. */
  sortable?: boolean;
}

export function Head(props: {
  column: HeadColumn;
  sort: string | undefined;
  onSort: ((field: string) => void) | undefined;
}) {
  const { column, sort, onSort } = props;
  const id = useId();
  const left = column.align === "left";
  const sorted = sort === column.field;
  const direction = left ? "ascending" : "descending";
  return (
    <th
      scope="col"
      class={left ? "left" : undefined}
      style={{ width: column.width }}
      aria-sort={sorted ? direction : undefined}
    >
      {onSort && column.sortable !== false ? (
        <>
          <button
            type="button"
            class={sorted ? "sort sorted" : "sort"}
            aria-describedby={column.text ? id : undefined}
            onClick={() => onSort(column.field)}
            {...tipOn(column.text ?? `Sort by ${column.label}`)}
          >
            <span class={column.text ? "sort-label has-text" : "sort-label"}>{column.label}</span>
            <Icon name="down" size={10} />
          </button>
          {column.text && (
            <span id={id} hidden>
              {column.text}
            </span>
          )}
        </>
      ) : (
        <Defined text={column.text}>{column.label}</Defined>
      )}
    </th>
  );
}
