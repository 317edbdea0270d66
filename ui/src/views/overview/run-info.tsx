// The file itself: where it came from, what was recorded, what was repaired or lost on the way in.

import { Fact } from "../../parts/facts.tsx";
import { bytes, count, many, time } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Defined } from "../../parts/metric.tsx";
import { Card } from "../../parts/states.tsx";
import type { Info, Note } from "./types.ts";

const OPTIONS: Record<string, string> = {
  record_shapes: "Required for shapes, FLOPs, MFU and rooflines.",
  with_stack: "Required for call sites, modules and source lines.",
  profile_memory: "Required for the memory view.",
  with_flops: "FLOPs by PyTorch's formulas. Stepscope computes its own from shapes.",
  with_modules: "Records the module hierarchy of TorchScript models.",
};

export function RunInfo({ info, text }: { info: Info; text: (field: string) => string | undefined }) {
  const { distributed, ledger } = info;
  return (
    <Card title="Recording" class="run-info">
      <dl class="facts">
        <Fact name="File">
          <bdi class="path">{info.path}</bdi>
          <span class="quiet">
            {" "}
            {info.format}, {bytes(info.stored_bytes)}
            {info.text_bytes !== info.stored_bytes && ` (${bytes(info.text_bytes)} uncompressed)`}
          </span>
        </Fact>
        <Fact name="Framework">
          {[info.framework, info.framework_version].filter(Boolean).join(" ") || "unknown"}
          {info.versions.length > 0 && <span class="quiet"> {info.versions.map(version).join(", ")}</span>}
        </Fact>
        {sameDevices(info.devices).map(({ name, about, indices }) => (
          <Fact key={indices} name={`Device ${indices}`}>
            {name}
            <span class="quiet"> {about}</span>
          </Fact>
        ))}
        {distributed && (
          <Fact name="Distributed">
            rank {distributed.rank ?? "?"} of {distributed.world_size ?? "?"}
            <span class="quiet">
              {" "}
              {distributed.backend}
              {distributed.nccl_version ? ` ${distributed.nccl_version}` : ""}
            </span>
          </Fact>
        )}
        <Fact name="Recorded with">
          <ul class="options">
            {Object.entries(info.options).map(([name, value]) => (
              <li key={name}>
                <Defined
                  text={`${OPTIONS[name] ?? ""} ${value === null ? "The file does not record it." : ""}`.trim()}
                >
                  <code>{name}</code>
                </Defined>{" "}
                <span class={value ? "yes" : "quiet"}>{value === null ? "unknown" : value ? "yes" : "no"}</span>
              </li>
            ))}
          </ul>
        </Fact>
        <Fact name="Duration" text={text("extent_ns")}>
          {time(info.extent_ns)}
          <span class="quiet">
            {" "}
            {many(info.processes, "process", "processes")}, {many(info.threads, "thread")},{" "}
            {many(info.streams, "stream")}
          </span>
        </Fact>
        <Fact name="Events" text={text("closes")}>
          {count(ledger.events_in_file)}
          <span class="quiet">
            {" "}
            = {count(ledger.slices)} slices + {count(ledger.points)} points + {count(ledger.flows)} arrow ends
            {ledger.joined_pairs > 0 && ` + ${count(ledger.joined_pairs)} joined pairs`}
            {ledger.set_aside > 0 && ` + ${count(ledger.set_aside)} set aside`}
            {ledger.closes ? "; every event is accounted for" : "; the totals do not match"}
          </span>
        </Fact>
      </dl>
      <Notes notes={info.notes} />
    </Card>
  );
}

/** Devices that differ only in their number share one line. */
function sameDevices(devices: Info["devices"]): { name: string; about: string; indices: string }[] {
  const groups = new Map<string, { name: string; about: string; indices: string }>();
  for (const d of devices) {
    const parts = [
      d.total_memory_bytes ? bytes(d.total_memory_bytes) : "",
      d.compute_capability ? `compute capability ${d.compute_capability}` : "",
      d.sms ? `${d.sms} SMs` : "",
    ];
    const about = parts.filter(Boolean).join(", ");
    const same = groups.get(`${d.name} ${about}`);
    if (same) same.indices += `, ${d.index}`;
    else groups.set(`${d.name} ${about}`, { name: d.name, about, indices: String(d.index) });
  }
  return [...groups.values()];
}

/** `cuda_runtime_version 13000` as `CUDA runtime 13000`. */
function version([name, value]: [string, string]): string {
  return `${name
    .replace(/_version$/, "")
    .replace(/_/g, " ")
    .replace(/\bcuda\b/, "CUDA")
    .replace(/\bcupti\b/, "CUPTI")} ${value}`;
}

function Notes({ notes }: { notes: Note[] }) {
  if (notes.length === 0) return <p class="quiet">No repairs needed, no events lost.</p>;
  return (
    <ul class="notes" aria-label="Notes on the file">
      {notes.map((note) => (
        <li key={note.code} class={note.severity}>
          <Icon name={note.severity === "info" ? "info" : "warn"} />
          <span>
            <b>{note.severity}</b> {count(note.count)} × {note.sentence}
            {note.detail && <span class="quiet"> ({note.detail})</span>}
            {note.offsets.length > 0 && (
              <span class="quiet">
                {" "}
                at byte {note.offsets.slice(0, 3).map(count).join(", ")}
                {note.offsets.length > 3 ? ", …" : ""} (uncompressed)
              </span>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
