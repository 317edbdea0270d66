// What takes most of the time, five rows of it, and the way to the tables.

import { valueCell } from "../../parts/browse.tsx";
import { RowLink } from "../../parts/links.tsx";
import { Share } from "../../parts/metric.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { Card } from "../../parts/states.tsx";
import { href } from "../../session/route.ts";
import type { Summary } from "./types.ts";

const MAX_ROWS = 5;

export function Top({ of, device, synthetic }: { of: Summary; device: boolean; synthetic: boolean }) {
  const rows = of.top.slice(0, MAX_ROWS);
  if (rows.length === 0) return null;
  const has = (field: "kernels_per_step" | "of_roofline") => rows.some((row) => row[field] !== null);
  return (
    <Card
      title={device ? "What takes the device's time" : "What takes the host's time"}
      class="largest"
      note={
        <>
          <a class="quiet-link" href={href("operators")}>
            All operators
          </a>
          {device && (
            <a class="quiet-link" href={href("kernels")}>
              All kernels
            </a>
          )}
        </>
      }
    >
      <PlainTable
        label="Top"
        of={of.definitions}
        rows={rows}
        columns={[
          {
            label: "Name",
            as: "name",
            cell: ({ name, kernels_per_step }) => (
              // Operators are named with their library; everything else is a kernel or a region.
              <RowLink
                view={name.includes("::") || kernels_per_step === null ? "operators" : "kernels"}
                name={name}
              />
            ),
          },
          { field: "per_step_ns", ...(synthetic ? { label: "Time" } : {}) },
          {
            field: "of_step",
            ...(synthetic ? { label: "Of total" } : {}),
            cell: (row) => <Share share={row.of_step} />,
          },
          has("kernels_per_step") && {
            field: "kernels_per_step",
            ...(synthetic ? { label: "Kernels" } : {}),
          },
          has("of_roofline") && {
            field: "of_roofline",
            cell: ({ of_roofline }) => (
              <span class={grade(of_roofline)}>{valueCell("of_roofline", of_roofline)}</span>
            ),
          },
        ]}
      />
    </Card>
  );
}

function grade(share: number | null): string {
  if (share === null) return "quiet";
  return share < 0.4 ? "low" : "";
}
