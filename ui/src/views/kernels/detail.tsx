// Below an opened kernel: which operators launch it, how, and its longest calls.

import { exactly } from "../../parts/filter.tsx";
import { byField, count, shortName, time } from "../../parts/format.ts";
import { Longest } from "../../parts/longest.tsx";
import { MiniTable } from "../../parts/mini.tsx";
import { href, param } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import type { Group, KernelsAnswer, Row } from "./types.ts";

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

function useKernels(name: string, by: Group) {
  const options = { by, filter: exactly(name), step: param("step"), device: param("device"), top: 50 };
  return useAsk<KernelsAnswer>("kernels", options);
}

function LaunchedBy({ name }: { name: string }) {
  return (
    <MiniTable
      title="Launched by"
      of={useKernels(name, "op")}
      rows={(data) => data.kernels}
      columns={[
        {
          label: "Operator",
          wide: true,
          cell: (row) =>
            row.op ? (
              <a href={href("operators", { filter: exactly(row.op), open: 0 })} title={row.op}>
                <bdi>{shortName(row.op)}</bdi>
              </a>
            ) : (
              <span class="quiet">unknown</span>
            ),
        },
        { label: "Calls", cell: (row) => count(row.calls) },
        { label: "Total", cell: (row) => time(row.total_ns) },
        { label: "Mean", cell: (row) => time(row.mean_ns) },
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
      of={useKernels(name, "launch")}
      rows={(data) => data.kernels}
      columns={[
        { label: "Grid", wide: true, cell: (row) => <code>{row.grid ?? "not recorded"}</code> },
        { label: "Block", cell: (row) => <code>{row.block ?? "–"}</code> },
        { label: "Regs", cell: (row) => row.registers ?? "–" },
        { label: "Shared", cell: (row) => byField("bytes", row.shared_memory_bytes) || "–" },
        { label: "Occ.", cell: (row) => byField("occupancy_percent", row.occupancy_percent) || "–" },
        { label: "Calls", cell: (row) => count(row.calls) },
        { label: "Total", cell: (row) => time(row.total_ns) },
      ]}
      empty="No launch configuration recorded."
    />
  );
}
