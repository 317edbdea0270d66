// Where things are: the program, the page it serves, the traces.

import { join, resolve } from "node:path";

export const REPO = resolve(import.meta.dirname, "../../..");

/** Every night the suite also looks at what it otherwise takes samples of. */
export const NIGHTLY = process.env.STEPSCOPE_NIGHTLY === "1";

/** The program under test. */
export const PROGRAM = resolve(process.env.STEPSCOPE_BIN ?? join(REPO, "target/debug/stepscope"));

/** A build of the page to serve instead of the one inside the program. */
export const UI_DIR = process.env.STEPSCOPE_UI_DIR && resolve(process.env.STEPSCOPE_UI_DIR);

const pytorch = (...parts: string[]) => join(REPO, "fixtures/pytorch", ...parts);

/** Traces recorded on an H200. */
export const TRACES = {
  /** Three steps of a GPT in bf16, with shapes and memory. */
  gpt: pytorch("2.11-h200/gpt_bf16/gpt_bf16.pt.trace.json.gz"),
  /** Two steps of it with Python stacks and modules. */
  stacks: pytorch("2.11-h200/gpt_stack/gpt_stack.pt.trace.json.gz"),
  /** Stacks and modules of a program without steps. */
  overloads: pytorch("2.11-h200-features/overloads/overloads.pt.trace.json.gz"),
  /** NCCL kernels. */
  nccl: pytorch("2.11-h200-features/nccl/nccl.pt.trace.json.gz"),
  /** One rank of four. */
  ddp: pytorch("2.11-h200/gloo_ddp/rank0.pt.trace.json.gz"),
  ddpOther: pytorch("2.11-h200/gloo_ddp/rank1.pt.trace.json.gz"),
  /** Several streams, no steps. */
  streams: pytorch("2.11-h200/multi_stream/multi_stream.pt.trace.json.gz"),
  /** A program that waits for the device after each batch. */
  fault: pytorch("2.11-h200-twins/seen/item_sync/fault.shapes.json.zst"),
  /** Twenty steps. */
  manySteps: pytorch("2.11-h200/infer_eager_small/infer_eager_small.pt.trace.json.gz"),
  /** A program that waits for its data, and the same with workers that load it. */
  slowLoader: pytorch("2.11-h200/conv_slow_loader/conv_slow_loader.pt.trace.json.gz"),
  fastLoader: pytorch("2.11-h200/conv_fast_loader/conv_fast_loader.pt.trace.json.gz"),
  /** Launches of a CUDA graph. */
  graph: pytorch("2.11-h200-features/cuda_graph/cuda_graph.pt.trace.json.gz"),
  /** Training that torch.compile compiled. */
  compiled: pytorch("2.11-h200-features/compiled/compiled.pt.trace.json.gz"),
  /** A prefill and a decode as vLLM names them, made by hand. */
  serving: join(import.meta.dirname, "../traces/serving.pt.trace.json"),
  mini: pytorch("mini/mini.pt.trace.json"),
  /** A plain Python script whose process grows, with the machine's counters. */
  growing: join(REPO, "fixtures/recordings/growing.pt.trace.json.gz"),
} as const;

/** Three steps of two layers that XLA compiled: kernels of a captured graph, and memory as planned and as used. */
export const XLA = join(REPO, "fixtures/xla/layers.xplane.pb");

const profiles = (name: string) => join(REPO, "fixtures/profiles", name);

/** What other profilers wrote. */
export const PROFILES = {
  /** Calls counted by cProfile. */
  calls: profiles("demo-3.11.pstats"),
  /** Stacks sampled by py-spy, in samples. */
  samples: profiles("pyspy.raw"),
  /** Lines timed by line_profiler. */
  lines: profiles("hot-5.1.lprof"),
} as const;

const memory = (name: string) => join(REPO, "fixtures/memory", `${name}.pickle.gz`);

/** Snapshots of PyTorch's allocator on an H200. */
export const SNAPSHOTS = {
  /** Training that keeps its activations. */
  training: memory("activations_kept"),
  /** A request that failed although enough was free. */
  fragmentation: memory("out_of_memory_by_fragmentation"),
  /** A request that failed because there was not enough. */
  shortage: memory("out_of_memory_by_shortage"),
  /** A list that keeps a loss, and so the graph behind it, per step. */
  leak: memory("loss_history"),
  /** Blocks that another stream still uses. */
  pending: memory("pending_frees"),
  /** A history that has lost its beginning. */
  ring: memory("ring_buffer"),
  /** A pool of a CUDA graph. */
  graph: memory("graph_pool"),
} as const;

/** The views, in the order of the navigation and of the digit keys. */
export const VIEWS = [
  "service",
  "overview",
  "timeline",
  "operators",
  "kernels",
  "hlo",
  "functions",
  "lines",
  "code",
  "threads",
  "flame",
  "memory",
  "modules",
  "regions",
  "phases",
  "collectives",
  "serving",
  "graphs",
  "compile",
  "diagnosis",
  "compare",
  "history",
  "source",
] as const;
export type ViewId = (typeof VIEWS)[number];

/** The tabs of the diagnosis. */
export const TABS = [
  "what-if",
  "idle",
  "launches",
  "waits",
  "transfers",
  "loading",
  "roofline",
  "path",
] as const;
