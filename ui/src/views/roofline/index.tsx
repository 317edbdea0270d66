// How close operators come to what the device can do: the plot, the table beside it, and what has no model.

import { useRef, useState } from "preact/hooks";
import type { Account } from "../../data/account.ts";
import type { RooflineAnswer } from "../../data/wire.ts";
import { atLeast, digits, flops, percent, time } from "../../parts/format.ts";
import { definition, labelOf, Metric } from "../../parts/metric.tsx";
import { ROW_PX, rowTop } from "../../parts/rows.ts";
import { hasDevice, NoDevice, scoped } from "../../parts/scope.tsx";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { useOpenRow } from "../../session/open-row.ts";
import { param, setParams } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import { Costs } from "./costs.tsx";
import { Plot } from "./plot.tsx";
import { Mfu, Unmodeled } from "./tables.tsx";
import "./style.css";

export function RooflineTab({ account }: { account: Account | undefined }) {
  const onDevice = hasDevice(account);
  const by = param("by") === "name" ? "name" : "shape";
  const roofline = useAsk<RooflineAnswer>("roofline", { ...scoped(true), by, top: 0 }, onDevice);
  if (!onDevice) return <NoDevice what="The roofline compares operators with the peak rates of a GPU." />;
  return (
    <Await of={roofline}>
      {(answer) =>
        answer.roofline.length === 0 && answer.unmodeled.length === 0 ? (
          <Empty title="No device work in these steps." hint="Select other steps or another device." />
        ) : (
          <div class="card-column">
            <Totals answer={answer} />
            {answer.roofline.length === 0 ? <NoCosts /> : <Both answer={answer} by={by} />}
            <div class="card-pair">
              <Mfu answer={answer} />
              <Unmodeled answer={answer} />
            </div>
          </div>
        )
      }
    </Await>
  );
}

function NoCosts() {
  return (
    <Empty
      title="No operators with a known cost."
      hint="FLOPs and bytes are computed from input shapes. Record them with:"
      code="torch.profiler.profile(…, record_shapes=True)"
    />
  );
}

function Totals({ answer }: { answer: RooflineAnswer }) {
  const of = answer.definitions;
  const text = (field: string) => definition(of, field);
  const { totals, devices, mean_mfu, coverage, lower_bound } = answer;
  const hardware = [...new Set(devices.map((d) => d.hardware?.name ?? d.name ?? "unknown device"))];
  const known = devices.some((d) => d.hardware);
  return (
    <Card
      title="Device utilization"
      note={
        known
          ? `peak rates of ${hardware.join(", ")}`
          : `peak rates unknown for ${hardware.join(", ") || "this device"}`
      }
    >
      <div class="metrics">
        <Metric
          of={of}
          field="mean_mfu"
          value={mean_mfu === null ? "–" : lower_bound ? atLeast(mean_mfu) : percent(mean_mfu)}
          share={mean_mfu ?? undefined}
          note={
            mean_mfu === null
              ? "no known peak, or no matrix products"
              : lower_bound && coverage !== null
                ? `${percent(coverage)} of kernel time covered`
                : undefined
          }
          text={`${text("mean_mfu")} ${text("mfu")} ${text("coverage")}`}
        />
        <Metric
          label={labelOf(of, "of_roofline")}
          value={totals.ideal_ns === null ? "–" : percent(totals.ideal_ns / Math.max(1, totals.modeled_ns))}
          share={totals.ideal_ns === null ? undefined : totals.ideal_ns / Math.max(1, totals.modeled_ns)}
          note={totals.ideal_ns === null ? undefined : `ideal ${time(totals.ideal_ns)}`}
          text={`${text("of_roofline")} Here over all modeled operators.`}
        />
        <Metric
          of={of}
          field="modeled_share"
          value={totals.modeled_share === null ? "–" : percent(totals.modeled_share)}
          share={totals.modeled_share ?? undefined}
          note={`${time(totals.modeled_ns)} of ${time(totals.device_ns)}`}
        />
        <Metric
          label={labelOf(of, "tflops")}
          value={digits(totals.flops / Math.max(1, totals.modeled_ns) / 1000)}
          note={`${flops(totals.flops)} in total`}
          text={`${text("tflops")} ${text("flops")}`}
        />
      </div>
    </Card>
  );
}

/** Plot and table point at each other: what one shows, the other marks. */
function Both({ answer, by }: { answer: RooflineAnswer; by: "name" | "shape" }) {
  const [hovered, setHovered] = useState<number>();
  const [open, toggle] = useOpenRow();
  const table = useRef<HTMLDivElement>(null);
  const asked = param("device");
  const device =
    answer.devices.find((d) => String(d.device) === asked) ??
    answer.devices.find((d) => d.hardware) ??
    answer.devices[0];
  const choose = (
    <label>
      Group by{" "}
      <select value={by} onChange={(event) => setParams({ by: event.currentTarget.value, row: undefined })}>
        <option value="shape">name and shapes</option>
        <option value="name">name</option>
      </select>
    </label>
  );
  return (
    <div class="roofline">
      <Card
        title="Roofline"
        text="Each mark is an operator: further right means more FLOPs per byte, higher means faster. The slope is the memory limit, the flat lines are compute limits. A mark far below both leaves performance unused. Its area is its share of device time."
      >
        <Plot
          rows={answer.roofline}
          hardware={device?.hardware ?? null}
          marked={hovered ?? open}
          alone={hovered !== undefined}
          onHover={setHovered}
          onPick={(index) => {
            if (open !== index) toggle(index);
            // The table has it now: bring it into sight.
            requestAnimationFrame(() => {
              const scroller = table.current?.querySelector(".table-scroll");
              if (scroller) scroller.scrollTop = rowTop(index, undefined) - 2 * ROW_PX;
            });
          }}
        />
      </Card>
      <Card title="Operators" text={definition(answer.definitions, "calls")} note={choose}>
        <Costs answer={answer} within={table} open={open} onOpen={toggle} onPoint={setHovered} />
      </Card>
    </div>
  );
}
