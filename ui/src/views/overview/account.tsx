// The time account: every nanosecond of the steps on a device has one cause.

import type { Account, CauseRow } from "../../data/account.ts";
import type { Definition } from "../../data/types.ts";
import { causeCategory } from "../../parts/causes.ts";
import { percent, time } from "../../parts/format.ts";
import { Defined, definition, Share } from "../../parts/metric.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { Card, Empty } from "../../parts/states.tsx";
import { tipOn } from "../../parts/tip.tsx";
import { href, param, setParams } from "../../session/route.ts";
import { barOrder, isIdle } from "./causes.ts";

export function TimeAccount({ of, definitions }: { of: Account; definitions: Definition[] | undefined }) {
  const devices = of.devices.map((d) => d.device);
  const asked = param("account");
  const shown = devices.find((d) => String(d) === asked) ?? devices[0] ?? null;
  const rows = of.causes.filter((c) => c.device === shown && c.total_ns > 0);
  const host = shown === null;
  return (
    <Card
      title={host ? "Where main-thread time goes" : "Where the time goes"}
      class="account"
      note={
        host ? undefined : (
          <a href={href("diagnosis")} class="quiet-link">
            Why is it idle?
          </a>
        )
      }
    >
      {rows.length === 0 ? (
        <Empty title="No timed events were recorded." />
      ) : (
        <>
          {devices.map((device) => (
            <DeviceBar
              key={device}
              device={device}
              rows={of.causes.filter((c) => c.device === device && c.total_ns > 0)}
              several={devices.length > 1}
              chosen={device === shown}
            />
          ))}
          <CauseTable rows={rows} definitions={definitions} synthetic={of.synthetic} />
        </>
      )}
    </Card>
  );
}

function DeviceBar(props: { device: number | null; rows: CauseRow[]; several: boolean; chosen: boolean }) {
  const name = props.device === null ? "Main thread" : `GPU ${props.device}`;
  const busy = props.rows.filter((r) => !isIdle(r)).reduce((sum, r) => sum + r.share, 0);
  return (
    <div class="device-bar">
      {props.several && (
        <button
          type="button"
          aria-pressed={props.chosen}
          onClick={() => setParams({ account: props.device ?? undefined })}
        >
          {name}
        </button>
      )}
      <div class="stack-bar" role="img" aria-label={`${name}: busy ${percent(busy)}`}>
        {barOrder(props.rows).map((row) => (
          <span
            key={row.cause}
            class={`cat-${causeCategory(row.cause)} ${isIdle(row) ? "hatched" : ""}`}
            style={{ flexGrow: row.total_ns }}
            {...tipOn(
              <>
                <strong>{row.label}</strong>
                <br />
                {time(row.per_step_ns)} per step, {percent(row.share)}
              </>,
            )}
          />
        ))}
      </div>
    </div>
  );
}

function CauseTable(props: { rows: CauseRow[]; definitions: Definition[] | undefined; synthetic: boolean }) {
  const { rows } = props;
  const text = (field: string) => definition(props.definitions, field);
  const most = Math.max(...rows.map((r) => r.share));
  return (
    <PlainTable
      label="Causes"
      of={props.definitions}
      rows={rows}
      columns={[
        {
          label: "Cause",
          as: "text",
          cell: (row) => (
            <>
              <span class={`swatch cat-${causeCategory(row.cause)} ${isIdle(row) ? "hatched" : ""}`} />{" "}
              <Defined text={causeText(row, text)}>{row.label}</Defined>
            </>
          ),
        },
        { field: "per_step_ns", ...(props.synthetic ? { label: "Time" } : {}) },
        { field: "share", cell: (row) => <Share share={row.share} of={most} /> },
      ]}
    />
  );
}

/** What the host did has one definition for all of its activities. */
function causeText(row: CauseRow, text: (field: string) => string | undefined): string | undefined {
  return row.cause.startsWith("host_") ? text("host_…_ns") : text(`${row.cause}_ns`);
}
