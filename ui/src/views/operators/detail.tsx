// Below an opened operator: who calls it, what it launches, with which shapes, and its longest calls.

import type { KernelsAnswer, OpRow, OpsAnswer } from "../../data/wire.ts";
import { rowsNamed } from "../../parts/filter.tsx";
import { Name, RowLink } from "../../parts/links.tsx";
import { Longest } from "../../parts/longest.tsx";
import { Box, MiniTable } from "../../parts/mini.tsx";
import { param } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import { CallSite } from "./call-site.tsx";
import type { Part } from "./columns.tsx";

export function Detail({ row, part, hasDevice }: { row: OpRow; part: Part; hasDevice: boolean }) {
  return (
    <div class="detail-grid">
      {row.stack && row.stack.length > 0 && <Stack frames={row.stack} />}
      {part === "ops" && hasDevice && <KernelsOf name={row.name} />}
      {part === "ops" && !row.stack && <CallSites name={row.name} hasDevice={hasDevice} />}
      {part === "ops" && !row.input_shapes && <Shapes name={row.name} hasDevice={hasDevice} />}
      <Longest name={row.name} />
    </div>
  );
}

type Props = { name: string; hasDevice: boolean };

/** Self time where it is spent: on the device if there is one. */
const selfTime = (hasDevice: boolean) => (hasDevice ? "device_self_ns" : "host_self_ns");

function CallSites({ name, hasDevice }: Props) {
  return (
    <MiniTable
      title="Call sites"
      of={useAsk<OpsAnswer>("ops", rowsNamed(name, "stack"))}
      rows={(data) => data.ops.filter((row) => row.stack && row.stack.length > 0)}
      columns={[
        { label: "Frame", as: "name", cell: (row) => <CallSite stack={row.stack} /> },
        "calls",
        selfTime(hasDevice),
      ]}
      empty={
        <>
          No stacks recorded. PyTorch's profiler records them with <code>with_stack=True</code>.
        </>
      }
    />
  );
}

function Shapes({ name, hasDevice }: Props) {
  return (
    <MiniTable
      title="Input shapes"
      of={useAsk<OpsAnswer>("ops", rowsNamed(name, "shape"))}
      rows={(data) => data.ops.filter((row) => row.input_shapes && row.input_shapes !== "[]")}
      columns={[
        { label: "Shapes", as: "name", cell: (row) => <Name name={row.input_shapes ?? ""} /> },
        "calls",
        selfTime(hasDevice),
      ]}
      empty={
        <>
          No shapes recorded. PyTorch's profiler records them with <code>record_shapes=True</code>.
        </>
      }
    />
  );
}

function KernelsOf({ name }: { name: string }) {
  const options = { by: "op", op: name, step: param("step"), device: param("device"), top: 0 };
  return (
    <MiniTable
      title="Kernels and copies launched directly"
      of={useAsk<KernelsAnswer>("kernels", options)}
      rows={(data) => [...(data.kernels ?? []), ...data.copies].sort((a, b) => b.total_ns - a.total_ns)}
      columns={[
        { label: "Kernel", as: "name", cell: (row) => <RowLink view="kernels" name={row.name} /> },
        "calls",
        "total_ns",
      ]}
      empty="None. Its device time comes from the operators it calls."
    />
  );
}

function Stack({ frames }: { frames: string[] }) {
  return (
    <Box title="Call stack, innermost first">
      <ol class="frames">
        {frames.map((frame, at) => (
          <li key={at}>
            <bdi title={frame}>{frame}</bdi>
          </li>
        ))}
      </ol>
    </Box>
  );
}
