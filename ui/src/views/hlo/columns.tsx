// The columns of the table of instructions: which there are by grouping, how their cells look.

import { GROUPINGS, type InstructionRow } from "../../data/wire.ts";
import { type BrowseColumn, dash, valueCell } from "../../parts/browse.tsx";
import type { ColumnChoice } from "../../parts/columns.tsx";
import { bytesPerSecond, flops, percent } from "../../parts/format.ts";
import { Share } from "../../parts/metric.tsx";
import { SourceLink } from "../../parts/source-link.tsx";

export const GROUPS = GROUPINGS.hlo;
export type Group = (typeof GROUPS)[number];

const NAME: Record<Group, string> = {
  instruction: "Instruction",
  category: "Category",
  line: "Line",
  path: "Path",
  program: "Program",
};

const OWN = ["category", "opcode", "program", "source", "op_path", "shape", "fused"];
const UNUSUAL = "opcode program op_path shape fused total_ns mean_ns flops bytes kernels".split(" ");

const FIELDS = [
  ...["category", "opcode", "program", "instructions", "calls", "kernels", "self_ns", "share", "total_ns"],
  ...["mean_ns", "tflops", "of_peak_flops", "gbs", "of_peak_bandwidth", "flops", "bytes"],
  ...["source", "op_path", "shape", "fused"],
];
/** What the answer has no words for. */
const LABELS: Record<string, string> = { opcode: "Op", source: "Line", op_path: "Path" };

/** Shares of a peak are there where the device is known. */
export function choices(by: Group, hasPeaks: boolean): ColumnChoice[] {
  const fields = FIELDS.filter(
    (field) =>
      (by === "instruction" ? field !== "instructions" : !OWN.includes(field)) &&
      (hasPeaks || !field.startsWith("of_peak")),
  );
  return [
    { field: "name", label: NAME[by], usual: true, fixed: true },
    ...fields.map((field) => ({ field, ...labeled(field, by), usual: !UNUSUAL.includes(field) })),
  ];
}

const TEXTS = new Set(["category", "opcode", "program", "op_path", "shape", "fused", "source"]);
const WIDTHS: Record<string, string> = {
  category: "116px",
  opcode: "100px",
  program: "150px",
  op_path: "190px",
  shape: "150px",
  fused: "170px",
  source: "180px",
  instructions: "104px",
  calls: "72px",
  self_ns: "92px",
  share: "124px",
  tflops: "116px",
  gbs: "100px",
  of_peak_flops: "124px",
  of_peak_bandwidth: "124px",
};

function labeled(field: string, by: Group): { label?: string } {
  const label = field === "name" ? NAME[by] : LABELS[field];
  return label === undefined ? {} : { label };
}

export function columns(fields: string[], by: Group, largest: number): BrowseColumn<InstructionRow>[] {
  return fields.map((field) => {
    const column: BrowseColumn<InstructionRow> = {
      field,
      ...labeled(field, by),
      align: field === "name" || TEXTS.has(field) ? "left" : "right",
      cell: (row) => valueCell(field, row[field as keyof InstructionRow]),
    };
    const width = WIDTHS[field];
    if (width) column.width = width;
    if (field === "name") column.cell = (row) => <NameOf row={row} by={by} />;
    else if (field === "share") {
      column.cell = (row) => <Share share={row.share} of={largest} />;
    } else if (field === "source")
      column.cell = (row) => (row.file === null ? dash : <SourceLink short file={row.file} line={row.line} />);
    else if (field === "tflops") column.cell = (row) => (row.tflops ? `${flops(row.tflops * 1e12)}/s` : dash);
    else if (field === "gbs") column.cell = (row) => (row.gbs ? bytesPerSecond(row.gbs * 1e9) : dash);
    else if (field === "flops") column.cell = (row) => (row.flops ? flops(row.flops) : dash);
    else if (field === "of_peak_flops" || field === "of_peak_bandwidth")
      column.cell = (row) => {
        const share = row[field];
        if (!share) return dash;
        return <span class={share > 1 ? "warned" : undefined}>{percent(share)}</span>;
      };
    else if (TEXTS.has(field))
      column.cell = (row) => {
        const value = row[field as "category" | "opcode" | "program" | "op_path" | "shape" | "fused"];
        return value ? <bdi title={value}>{value}</bdi> : dash;
      };
    return column;
  });
}

function NameOf({ row, by }: { row: InstructionRow; by: Group }) {
  if (by === "line" && row.file !== null) return <SourceLink file={row.file} line={row.line} />;
  return (
    <bdi class="mono-name" title={row.name}>
      {row.name}
    </bdi>
  );
}
