// Below an opened kernel: which operators launch it, how, and its longest calls.

import type { KernelsAnswer } from "../../data/wire.ts";
import { rowsNamed } from "../../parts/filter.tsx";
import { RowLink } from "../../parts/links.tsx";
import { Longest } from "../../parts/longest.tsx";
import { MiniTable } from "../../parts/mini.tsx";
import { useAsk } from "../../session/use-ask.ts";
import type { Group, Row } from "./columns.tsx";

export function Detail({ row, by }: { row: Row; by: Group }) {
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long name scrolls, also by keyboard */}
      <p class="whole-name" tabIndex={0}>
        <code>
          <bdi>{row.name}</bdi>
        </code>
      </p>
      <div class="detail-grid">
        {by !== "copies" && (
          <>
            <LaunchedBy name={row.name} />
            <Launches name={row.name} />
          </>
        )}
        <Longest name={row.name} />
      </div>
    </>
  );
}

function LaunchedBy({ name }: { name: string }) {
  return (
    <MiniTable
      title="Launched by"
      of={useAsk<KernelsAnswer>("kernels", rowsNamed(name, "op"))}
      rows={(data) => data.kernels}
      columns={[
        {
          field: "op",
          as: "name",
          cell: ({ op }) => (op ? <RowLink view="operators" name={op} /> : <span class="quiet">unknown</span>),
        },
        "calls",
        "total_ns",
        "mean_ns",
      ]}
      empty="No launching operator recorded."
    />
  );
}

function Launches({ name }: { name: string }) {
  return (
    <MiniTable
      title="Launch configurations"
      tall
      of={useAsk<KernelsAnswer>("kernels", rowsNamed(name, "launch"))}
      rows={(data) => data.kernels}
      columns={[
        { field: "grid", as: "name", cell: (row) => <code>{row.grid ?? "not recorded"}</code> },
        { field: "block", cell: (row) => <code>{row.block ?? "–"}</code> },
        "registers",
        "shared_memory_bytes",
        "occupancy_percent",
        "calls",
        "total_ns",
      ]}
      empty="No launch configuration recorded."
    />
  );
}
