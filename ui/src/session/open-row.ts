// Which row of a tab's table is open, as the URL says.

import { numberParam, setParams } from "./route.ts";

/** The open row, and how to open another; opening it again closes it. */
export function useOpenRow(): [open: number | undefined, toggle: (index: number) => void] {
  const open = numberParam("row");
  return [open, (index) => setParams({ row: open === index ? undefined : index })];
}
