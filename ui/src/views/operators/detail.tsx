// Below an opened operator: who calls it, what it launches, with which shapes, and its longest calls.

import { exactly } from "../../parts/filter.tsx";
import { count, shortName, time } from "../../parts/format.ts";
import { Longest } from "../../parts/longest.tsx";
import { Box, MiniTable } from "../../parts/mini.tsx";
import { href, param } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import { CallSite } from "./call-site.tsx";
import type { KernelsAnswer, OpRow, OpsAnswer, Part } from "./types.ts";

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

function useOps(name: string, by: string) {
  const options = { by, filter: exactly(name), step: param("step"), device: param("device"), top: 50 };
  return useAsk<OpsAnswer>("ops", options);
}

/** Self time where it is spent: on the device if there is one. */
function ownTime(row: OpRow, hasDevice: boolean): string {
  return time(hasDevice ? row.device_self_ns : row.host_self_ns);
}

function CallSites({ name, hasDevice }: { name: string; hasDevice: boolean }) {
  return (
    <MiniTable
      title="Call sites"
      of={useOps(name, "stack")}
      rows={(data) => data.ops.filter((row) => row.stack && row.stack.length > 0)}
      columns={[
        { label: "Frame", wide: true, cell: (row) => <CallSite stack={row.stack} /> },
        { label: "Calls", cell: (row) => count(row.calls) },
        { label: hasDevice ? "Device self" : "Host self", cell: (row) => ownTime(row, hasDevice) },
      ]}
      empty={
        <>
          No stacks recorded. PyTorch's profiler records them with <code>with_stack=True</code>.
        </>
      }
    />
  );
}

function Shapes({ name, hasDevice }: { name: string; hasDevice: boolean }) {
  return (
    <MiniTable
      title="Input shapes"
      of={useOps(name, "shape")}
      rows={(data) => data.ops.filter((row) => row.input_shapes && row.input_shapes !== "[]")}
      columns={[
        {
          label: "Shapes",
          wide: true,
          cell: (row) => <bdi title={row.input_shapes ?? ""}>{row.input_shapes}</bdi>,
        },
        { label: "Calls", cell: (row) => count(row.calls) },
        { label: hasDevice ? "Device self" : "Host self", cell: (row) => ownTime(row, hasDevice) },
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
  const answer = useAsk<KernelsAnswer>("kernels", options);
  return (
    <MiniTable
      title="Kernels and copies launched directly"
      of={answer}
      rows={(data) => [...(data.kernels ?? []), ...data.copies].sort((a, b) => b.total_ns - a.total_ns)}
      columns={[
        {
          label: "Kernel",
          wide: true,
          cell: (row) => (
            <a href={href("kernels", { filter: exactly(row.name), open: 0 })} title={row.name}>
              <bdi>{shortName(row.name)}</bdi>
            </a>
          ),
        },
        { label: "Calls", cell: (row) => count(row.calls) },
        { label: "Total", cell: (row) => time(row.total_ns) },
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
