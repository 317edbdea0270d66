// A small PyTorch trace in which every name is meant to do harm.

import type { Event, TraceFile } from "./events.ts";

/** Names that break out of markup, turn the reading direction, or are too long, empty or invisible. */
export const HOSTILE = {
  script: "</script><script>window.pwned=1</script>",
  image: "<img src=x onerror=window.pwned=1>",
  attribute: `" onmouseover="window.pwned=1" x='`,
  direction: "\u202Eesrever\u202C \u0627\u0644\u0639\u0631\u0628\u064A\u0629 \u05E2\u05D1\u05E8\u05D9\u05EA",
  emoji: "🔥 kernel 👩‍👩‍👧‍👦 🏳️‍🌈",
  long: "long_name_".repeat(500),
  empty: "",
  control: "tab\tnewline\nreturn\rnull\u0000escape\u001b[31m bell\u0007",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it looks like code on purpose
  template: "${window.pwned=1} {{pwned}} javascript:window.pwned=1",
} as const;

const US = 1000;

/** Two steps; each hostile name as an operator with its launch and kernel, an annotation and a Python frame. */
export function hostileTrace(): TraceFile {
  const names = Object.values(HOSTILE);
  const events: Event[] = [
    meta("process_name", 100, 0, { name: HOSTILE.script }),
    meta("process_labels", 100, 0, { labels: HOSTILE.image }),
    meta("thread_name", 100, 100, { name: HOSTILE.direction }),
    meta("thread_name", 100, 101, { name: HOSTILE.long }),
    meta("process_name", 0, 0, { name: HOSTILE.image }),
    meta("process_labels", 0, 0, { labels: "GPU 0" }),
    meta("thread_name", 0, 7, { name: HOSTILE.attribute }),
  ];
  let id = 1;
  for (const step of [1, 2]) {
    const begin = step * 20 * US;
    events.push(
      slice("user_annotation", `ProfilerStep#${step}`, 100, 100, begin, 19 * US, { "External id": id++ }),
    );
    names.forEach((name, at) => {
      const start = begin + 200 + at * 2 * US;
      const external = id++;
      const args = {
        "External id": external,
        "Input Dims": [[2, 3]],
        "Input type": [name],
        [name || "empty"]: name,
      };
      events.push(
        slice("user_annotation", `range ${name}`, 100, 100, start, 1900, { "External id": id++ }),
        slice("python_function", `${name}.py(1): ${name}`, 100, 100, start + 10, 1880, frame(id++)),
        slice("python_function", `nn.Module: ${name}_0`, 100, 100, start + 20, 1860, frame(id++)),
        slice("cpu_op", name, 100, 100, start + 100, 1500, args),
        slice("cuda_runtime", "cudaLaunchKernel", 100, 100, start + 200, 10, {
          "External id": external,
          correlation: external,
        }),
        slice("kernel", name, 0, 7, start + 400, 900, {
          ...kernel,
          "External id": external,
          correlation: external,
        }),
        slice("cpu_op", `other ${name}`, 100, 101, start + 100, 500, { "External id": id++ }),
        memory(start + 150, 1024 * (at + 1), external),
        flow("s", external, 100, 100, start + 200),
        flow("f", external, 0, 7, start + 400),
      );
    });
  }
  return {
    schemaVersion: 1,
    deviceProperties: [
      { id: 0, name: HOSTILE.image, totalGlobalMem: 1e11, computeMajor: 9, computeMinor: 0, numSms: 132 },
    ],
    distributedInfo: { backend: HOSTILE.script, rank: 0, world_size: 2 },
    record_shapes: 1,
    with_stack: 1,
    profile_memory: 1,
    traceName: HOSTILE.image,
    traceEvents: events,
  };
}

const kernel = {
  device: 0,
  stream: 7,
  context: 1,
  grid: [8, 1, 1],
  block: [128, 1, 1],
  "registers per thread": 16,
};

function frame(id: number): Record<string, unknown> {
  return { "Python id": id, "Python parent id": null };
}

function meta(name: string, pid: number, tid: number, args: Record<string, unknown>): Event {
  return { ph: "M", name, pid, tid, ts: 0, args };
}

function slice(
  cat: string,
  name: string,
  pid: number,
  tid: number,
  ts: number,
  dur: number,
  args: Record<string, unknown>,
): Event {
  return { ph: "X", cat, name, pid, tid, ts, dur, args };
}

function memory(ts: number, bytes: number, address: number): Event {
  const args = {
    Bytes: bytes,
    "Total Allocated": bytes,
    "Total Reserved": 1 << 20,
    "Device Id": 0,
    "Device Type": 1,
    Addr: address,
  };
  return { ph: "i", cat: "cpu_instant_event", name: "[memory]", pid: 100, tid: 100, ts, args };
}

function flow(ph: string, id: number, pid: number, tid: number, ts: number): Event {
  return { ph, cat: "ac2g", name: "ac2g", id, pid, tid, ts };
}
