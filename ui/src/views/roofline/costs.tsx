// The operators as a table. The row under the pointer or the focus is marked in the plot.

import type { RefObject } from "preact";
import { rowsOf } from "../../data/rows.ts";
import type { Definition } from "../../data/types.ts";
import type { RooflineAnswer, RooflineRow } from "../../data/wire.ts";
import { Facts, factOf } from "../../parts/facts.tsx";
import { exactly } from "../../parts/filter.tsx";
import { bytes, count, digits, flops, percent, time } from "../../parts/format.ts";
import { word } from "../../parts/key-names.ts";
import { Name } from "../../parts/links.tsx";
import { Bar } from "../../parts/metric.tsx";
import { type Column, defined, Table } from "../../parts/table.tsx";
import { href } from "../../session/route.ts";
import { Mark } from "./mark.tsx";
import { hasPlace } from "./roofs.ts";

interface Props {
  answer: RooflineAnswer;
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
  const columns: Column<RooflineRow>[] = [
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

function Cost({ row, definitions }: { row: RooflineRow; definitions: Definition[] | undefined }) {
  const share = (value: number | null) => (value === null ? "–" : percent(value));
  const rate = (value: number | null) => (value === null ? "–" : digits(value));
  const fact = (field: string, value: string) => factOf(definitions, field, value);
  return (
    <div>
      <Facts
        of={[
          fact("bound", row.bound ? `${word(row.bound)}-bound` : "unknown"),
          fact("precision", row.precision ?? "unknown"),
          fact("dtype", row.dtype ?? "unknown"),
          fact("calls", `${count(row.calls)} with ${count(row.kernels)} kernels, copies and memsets`),
          fact("flops", flops(row.flops)),
          fact("bytes", bytes(row.bytes)),
          fact("intensity", rate(row.intensity)),
          fact("tflops", `${rate(row.tflops)}, ${share(row.of_compute_peak)} of the peak`),
          fact("gbs", `${rate(row.gbs)}, ${share(row.of_bandwidth)} of the peak`),
          fact(
            "ideal_ns",
            row.ideal_ns === null ? "–" : `${time(row.ideal_ns)} instead of ${time(row.device_ns)}`,
          ),
          row.input_shapes !== null && ["Shapes", <bdi class="mono">{row.input_shapes}</bdi>],
          row.note !== null && ["Note", row.note],
          !hasPlace(row) && ["Plot", "Not plotted: it only moves data and does no arithmetic."],
        ]}
      />
      <a class="timeline-link" href={href("operators", { filter: exactly(row.name), open: 0 })}>
        Open in Operators
      </a>
    </div>
  );
}
