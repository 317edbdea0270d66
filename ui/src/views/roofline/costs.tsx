// The operators as a table. The row under the pointer or the focus is marked in the plot.

import type { RefObject } from "preact";
import { rowsOf } from "../../data/rows.ts";
import type { Definition } from "../../data/types.ts";
import { defined } from "../../parts/defined-column.ts";
import { Bar, definition } from "../../parts/figure.tsx";
import { exactly } from "../../parts/filter.tsx";
import { bytes, count, digits, flops, percent, time } from "../../parts/format.ts";
import { word } from "../../parts/key-names.ts";
import { Name } from "../../parts/links.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { href } from "../../session/route.ts";
import { Mark } from "./mark.tsx";
import { hasPlace } from "./roofs.ts";
import type { CostRow, Roofline } from "./types.ts";

interface Props {
  answer: Roofline;
  within: RefObject<HTMLDivElement | null>;
  open: number | undefined;
  onOpen: (index: number) => void;
  onPoint: (index: number | undefined) => void;
}

function rowAt(event: Event): number | undefined {
  const row = event.target instanceof Element ? event.target.closest<HTMLElement>("tr[data-index]") : null;
  return row ? Number(row.dataset.index) : undefined;
}

export function Costs({ answer, within, open, onOpen, onPoint }: Props) {
  const definitions = answer.definitions;
  const columns: Column<CostRow>[] = [
    {
      field: "name",
      label: "Operator",
      align: "left",
      cell: (row) => (
        <>
          <Mark row={row} /> <Name name={`${row.name} ${row.input_shapes ?? ""}`} short={row.name} />
        </>
      ),
    },
    defined(definitions, "device_ns", { width: "92px" }),
    defined(definitions, "share", { width: "70px" }),
    defined(definitions, "of_roofline", {
      width: "138px",
      cell: (row) =>
        row.of_roofline === null ? (
          "–"
        ) : (
          <>
            <span class="short-bars">
              <Bar share={row.of_roofline} />
            </span>{" "}
            <span class="fixed-width">{percent(row.of_roofline)}</span>
          </>
        ),
    }),
  ];
  const point = (event: Event) => onPoint(rowAt(event));
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: rows take the focus themselves; this only follows it
    // biome-ignore lint/a11y/useKeyWithMouseEvents: the focus is caught on its way down
    <div
      ref={within}
      onMouseOver={point}
      onMouseLeave={() => onPoint(undefined)}
      onFocusCapture={point}
      onBlurCapture={() => onPoint(undefined)}
    >
      <Table
        label="Operators and their share of the roofline"
        columns={columns}
        rows={rowsOf(answer.roofline)}
        height={500}
        open={open}
        onOpen={(_, index) => onOpen(index)}
        detail={(row) => <Cost row={row} definitions={definitions} />}
      />
    </div>
  );
}

function Cost({ row, definitions }: { row: CostRow; definitions: Definition[] | undefined }) {
  const share = (value: number | null) => (value === null ? "–" : percent(value));
  const rate = (value: number | null) => (value === null ? "–" : digits(value));
  const facts: [field: string, label: string, value: string][] = [
    ["bound", "Bound", row.bound ? `${word(row.bound)}-bound` : "unknown"],
    ["precision", "Arithmetic", row.precision ?? "unknown"],
    ["dtype", "Dtype", row.dtype ?? "unknown"],
    ["calls", "Calls", `${count(row.calls)} with ${count(row.kernels)} kernels, copies and memsets`],
    ["flops", "FLOPs", flops(row.flops)],
    ["bytes", "Bytes", bytes(row.bytes)],
    ["intensity", "FLOP/byte", rate(row.intensity)],
    ["tflops", "Rate", `${rate(row.tflops)} TFLOP/s, ${share(row.of_compute_peak)} of the peak`],
    ["gbs", "Bandwidth", `${rate(row.gbs)} GB/s, ${share(row.of_bandwidth)} of the peak`],
    [
      "ideal_ns",
      "Ideal",
      row.ideal_ns === null ? "–" : `${time(row.ideal_ns)} instead of ${time(row.device_ns)}`,
    ],
  ];
  return (
    <div>
      <dl class="detail-facts">
        {facts.map(([field, label, value]) => [
          <dt key={field} title={definition(definitions, field)}>
            {label}
          </dt>,
          <dd key={`${field}-value`}>{value}</dd>,
        ])}
        {row.input_shapes && [
          <dt key="shapes">Shapes</dt>,
          <dd key="shapes-value">
            <bdi class="mono">{row.input_shapes}</bdi>
          </dd>,
        ]}
        {row.note && [<dt key="note">Note</dt>, <dd key="note-value">{row.note}</dd>]}
        {!hasPlace(row) && [
          <dt key="place">Plot</dt>,
          <dd key="place-value">Not plotted: it only moves data and does no arithmetic.</dd>,
        ]}
      </dl>
      <a class="timeline-link" href={href("operators", { filter: exactly(row.name), open: 0 })}>
        Open in Operators
      </a>
    </div>
  );
}
