// What the server sends, written by a test of `crates/serve` from the Rust types: `make wire` writes it anew.
// All times are nanoseconds since the trace's first event.

/** One step on one device. */
export interface AccountRow {
  /** The step's number; -1 for a whole trace. */
  step: number;
  /** The device; none in a trace without device work, where the main thread's time is accounted for. */
  device: number | null;
  /** The time that is shared out. */
  wall_ns: number;
  /** Whether the recording probably lacks device work of the step. */
  partial: boolean;
  kernel_ns: number;
  communication_ns: number;
  copy_ns: number;
  fill_ns: number;
  host_data_loading_ns: number;
  host_operator_ns: number;
  host_python_ns: number;
  host_launch_ns: number;
  host_synchronization_ns: number;
  host_allocation_ns: number;
  host_runtime_ns: number;
  host_communication_ns: number;
  host_compilation_ns: number;
  host_first_use_ns: number;
  host_garbage_collection_ns: number;
  host_profiler_ns: number;
  device_unrecorded_ns: number;
  host_unrecorded_ns: number;
  launch_latency_ns: number;
  queued_gap_ns: number;
  dependency_ns: number;
  unlinked_ns: number;
}

/** A line that holds more in each snapshot. */
export interface AcrossRow {
  device: number;
  /** The line, as `file(line): function`. */
  name: string;
  /** What it holds in each. */
  levels: number[];
  /** From the first to the last. */
  grown_bytes_across: number;
  growth_bytes_per_snapshot: number;
}

/** One thing to change. */
export interface Advice {
  /** What kind of thing: `holds`, `grows` or `churns`. */
  kind: string;
  place: string;
  function: string;
  /** The bytes that it is about. */
  bytes: number;
  change: string;
}

/** One allocation, or one segment. */
export interface AllocationDetails {
  id: number;
  /** Where it begins, in hexadecimal. */
  address: string;
  /** Bytes that it takes. */
  bytes: number;
  /** Bytes that were asked for. */
  requested_bytes: number;
  /** The first state it is in. */
  start_state: number;
  /** The first state it is no longer in; none if it was in use when the snapshot was taken. */
  end_state: number | null;
  /** When it began, since the first entry; none if it was there before, or the history has no times. */
  start_ns: number | null;
  end_ns: number | null;
  /** How long it was in use; until the snapshot was taken, if it still was. */
  lifetime_ns: number | null;
  /** How long other streams may have used it after the program gave it back. */
  pending_ns: number | null;
  /** Whether it was there before the history. */
  before: boolean;
  /** Where the segment begins that it is in, in hexadecimal; none if it is not known. */
  segment: string | null;
  /** How long that was when it was taken. */
  segment_bytes: number | null;
  /** The stream of the segment. */
  stream: number | null;
  /** The segment's pool, as `a.b`; none if it was gone when the snapshot was taken. */
  pool: string | null;
  /** The line it is charged to. */
  place: MemoryPlace;
  /** Who asked for it, innermost first. */
  frames: FrameText[];
  /** Frames that are not listed. */
  more_frames: number;
}

export interface AllocatorMap {
  /** The largest segments, by falling size. */
  segments: MapSegment[];
  /** How many there are. */
  segment_count: number;
  /** The longest free stretch of all. */
  largest_free_bytes: number;
  /** Allocations that lie in no segment: the history does not say where they are. */
  outside: number;
}

/** What an amount counts. */
export type AmountUnit = "nanoseconds" | "bytes" | "samples";

/** What every answer has beside its tables and facts. */
export interface AnswerFrame {
  /** What to add to a time of this answer to get the file's own time. */
  origin_ns: number;
  /** Words to the reader that are not part of the data. */
  remarks: string[];
  /** What its numbers mean, where that was asked for. */
  definitions?: Definition[];
}

/** What an area holds. */
export interface Area {
  from_ns: number;
  to_ns: number;
  /** Slices and instants in it, in part or wholly. */
  count: number;
  /** Their time inside it. */
  total_ns: number;
  /** By name, the most self time first. */
  names: AreaName[];
  names_more: number;
  /** Each row. */
  rows_busy: RowBusy[];
}

/** All of one name in an area. */
export interface AreaName {
  name: string;
  /** The category of the longest. */
  category: number;
  count: number;
  /** Their time inside the area. */
  total_ns: number;
  /** The same less the time of what is directly inside them. */
  self_ns: number;
  /** Self time over that of all names. */
  share: number;
  /** The one with the most time inside the area. */
  longest: number;
}

/** A baseline that is kept. */
export interface BaselineListed {
  /** Its name. */
  name: string;
  /** How often it was measured. */
  measurements: number;
  /** The metrics of the newest measurement. */
  metrics: string[];
}

/** What a stretch of a segment is used for. */
export type BlockUse = "active" | "free" | "mixed" | "pending";

/** What limits a call on a device that wastes nothing. */
export type Bound = "compute" | "host_bus" | "memory";

/** The parts of some time. All but `wall_ns` and `gpu_busy_ns` exclude each other and add up to `wall_ns`. */
export interface BreakdownRow {
  /** The step's number; -1 for a whole trace. */
  step: number;
  name: string;
  start_ns: number;
  /** The time that is shared out. */
  wall_ns: number;
  kernel_ns: number;
  memcpy_ns: number;
  memset_ns: number;
  communication_ns: number;
  /** The host was in a runtime or driver call. */
  runtime_ns: number;
  /** The host waited for its next batch. */
  data_loading_ns: number;
  /** The host was in an operator or a named range. */
  host_ns: number;
  /** None of it: nothing recorded, Python calls, profiler overhead, categories unknown here. */
  other_ns: number;
  /** Any device work ran. */
  gpu_busy_ns: number;
  /** Whether it is left out of averages: the recording probably lacks work of it, or it is a pause. */
  partial: boolean;
  partial_reason: Partial | null;
}

/** One stretch of time. */
export interface Burn {
  /** Its length. */
  minutes: number;
  /** Requests in it. */
  requests: number;
  /** Those that missed the target. */
  missed: number;
  /** The share that missed it by the share that may: 1 uses the budget up exactly. */
  rate: number | null;
}

/** A row beside what the bus of its device could do. */
export interface BusRow {
  device: number | null;
  direction: Direction;
  memory: HostMemory;
  calls: number;
  /** Bytes moved; none if no copy says. */
  bytes: number | null;
  /** Time of all copies. */
  total_ns: number;
  /** Time during which one of them ran and no kernel. */
  exposed_ns: number;
  /** Time in the calls that asked for them, on the host. */
  host_ns: number;
  bytes_per_second: number | null;
  /** Bytes a second of copies of at least 1 MiB. */
  large_bytes_per_second: number | null;
  /** Large copies' share of the bus's bandwidth; none for an unknown device or copies that do not cross the bus. */
  of_bus: number | null;
}

/** What kind of work it is. */
export type Category = "communication" | "gemm" | "convolution" | "attention" | "copy" | "memset" | "other" | "indexing" | "normalization" | "optimizer" | "pointwise" | "reduction";

/** How many events of one category there are. */
export interface CategoryInfo {
  /** As the file spells it. */
  category: string;
  /** What it means: a kind of slice, or `point`. */
  kind: string;
  count: number;
}

export type Cause = "kernel" | "communication" | "copy" | "fill" | "host_data_loading" | "host_operator" | "host_python" | "host_launch" | "host_synchronization" | "host_allocation" | "host_runtime" | "host_communication" | "host_compilation" | "host_first_use" | "host_garbage_collection" | "host_profiler" | "device_unrecorded" | "host_unrecorded" | "launch_latency" | "queued_gap" | "dependency" | "unlinked";

/** One cause in both runs. */
export interface CauseChange {
  cause: Cause;
  /** What it is called. */
  label: string;
  definition: string | null;
  before_ns: number;
  after_ns: number;
  /** The change per step. */
  delta_ns: number;
}

/** A cause of the account as programs get it. */
export interface CauseOfStep {
  device: number | null;
  cause: Cause;
  label: string;
  per_step_ns: number;
  of_step: number;
}

/** One cause on one device, summed over the steps. */
export interface CauseRow {
  device: number | null;
  cause: Cause;
  label: string;
  busy: boolean;
  total_ns: number;
  per_step_ns: number;
  share: number;
}

/** What happened to a row. */
export type Change = "added" | "decreased" | "increased" | "removed" | "same";

/** One place in both runs. */
export interface ChangeRow {
  change: Change;
  /** What the two were matched by. */
  matched: Matched;
  /** Why the time was spent. */
  cause: Cause;
  /** The module's path, where one is known. */
  module: string | null;
  /** Whether it is the module's backward pass. */
  backward: boolean;
  op: string | null;
  /** The kernel, or what the host was in; as the later run calls it. */
  name: string;
  /** What the earlier run calls it, where that differs. */
  before_name: string | null;
  before_ns: number;
  after_ns: number;
  /** The change per step. */
  delta_ns: number;
  /** Changes up to this may be noise; none where nothing is known about the noise. */
  noise_ns: number | null;
  /** Whether the change is within the noise. */
  is_noise: boolean;
  /** Kernels, copies or stretches of idle time per step, before. */
  before_count: number;
  after_count: number;
}

/** What is directly inside a slice, by name. */
export interface Child {
  name: string;
  count: number;
  total_ns: number;
}

/** Whose time is shown. */
export type Clock = "host" | "device";

/** One function, or one function and what it called. */
export interface CodeRow {
  function: string;
  /** Its file; none for what belongs to no function of the program. */
  file: string | null;
  /** The line it starts at. */
  line: number | null;
  /** What it called; none for its own code. */
  called: string | null;
  /** How often it ran. */
  calls: number;
  host_ns: number;
  /** Waiting for a device. */
  wait_ns: number;
  /** The same as a share of the steps. */
  wait_share: number;
  /** Device time that it launched. */
  device_ns: number;
  /** The part of it that the backward pass launched. */
  backward_device_ns: number;
  /** The device time as a share of all. */
  device_share: number;
  /** Kernels, copies and memsets. */
  device_work: number;
}

/** Calls of one operation with one message size in one group. */
export interface CollectiveRow {
  /** What the ranks do. */
  operation: Operation;
  side: Side;
  /** The type of the elements, as recorded. */
  dtype: string | null;
  /** The group's name, as recorded. */
  group: string | null;
  /** How many ranks take part. */
  ranks: number | null;
  /** Bytes of one call's message. */
  bytes: number | null;
  calls: number;
  /** Time of all calls. */
  total_ns: number;
  /** Time of a call on average. */
  mean_ns: number;
  /** Time of the call in the middle. */
  p50_ns: number;
  /** Message bytes / mean time. */
  algorithm_bytes_per_second: number | null;
  /** What nccl-tests multiplies that with. */
  bus_factor: number | null;
  /** The product: what each link carried. */
  bus_bytes_per_second: number | null;
  /** The part of the time during which nothing else ran on the device. */
  exposed_ns: number;
}

/** All rows together. */
export interface CollectivesTotals {
  calls: number;
  total_ns: number;
  exposed_ns: number;
  moved_bytes: number;
}

/** What two runs of several are compared by. */
export type ComparedBy = "sample" | "step";

/** What two samples say about each other. "Slower" is a larger value, whatever was measured. */
export type ComparisonVerdict = "faster" | "inconclusive" | "no_difference" | "slower";

/** A phase of the compiler. */
export interface CompilePhase {
  phase: string;
  calls: number;
  total_ns: number;
  /** Its time without phases inside of it. */
  self_ns: number;
}

/** A compiled frame in one version. */
export interface CompiledRegion {
  /** Frame and version, `3/1`; `?` if the producer does not say. */
  region: string;
  /** The function, where Python calls were recorded. */
  function: string | null;
  /** How often it was entered. */
  calls: number;
  /** Of those, inside of another region. */
  breaks: number;
  /** Its time on the host. */
  host_ns: number;
  /** Device time of what it launched. */
  device_ns: number;
  /** Time of its compiled backward pass on the host. */
  backward_host_ns: number;
  /** Device time of what that launched. */
  backward_device_ns: number;
  /** Kernels, copies and memsets, of both passes. */
  device_slices: number;
  /** How long compiling it took; none if that is not in the trace. */
  compile_ns: number | null;
}

/** How sure a rule is. */
export type Confidence = "high" | "low" | "medium";

/** What a row is about. */
export type CopyKind = "memcpy" | "memset";

/** One row: all copies or memsets of a name such as `Memcpy HtoD (Pinned -> Device)`. */
export interface CopyRow {
  name: string;
  kind: CopyKind;
  calls: number;
  /** Bytes moved; none if no call says. */
  bytes: number | null;
  /** Calls that say how many bytes they moved. */
  calls_with_bytes: number;
  /** Time of all calls. */
  total_ns: number;
  /** Time of a call on average. */
  mean_ns: number;
  /** Time of the shortest call. */
  min_ns: number;
  /** Time of the longest call. */
  max_ns: number;
  /** Bytes moved for each second spent moving them. */
  bytes_per_second: number | null;
}

/** Rules that could not look, and what to record for them. */
export interface CouldNotLook {
  needs: string;
  rules: string[];
  /** Whether the rules see something without it, though less. */
  partly: boolean;
  /** All of it: `2 rules need record_shapes=True: …`. */
  sentence: string;
}

/** One counter in a stretch of time. */
export interface Counter {
  /** What tells it apart. */
  id: string;
  label: string;
  unit: Unit;
  /** What to write after a value, where the file says it; else empty. */
  suffix: string;
  /** Its device, if it has one. */
  device: number | null;
  definition: string;
  /** The highest value in the whole trace; 1 for shares. */
  max: number;
  t: number[];
  /** The lowest value from each moment to the next. */
  lo: number[];
  /** The highest value from each moment to the next. */
  hi: number[];
}

/** A counter over time. */
export interface CounterSeries {
  /** What it counts. */
  name: string;
  /** `percent`, `bytes`, `bytes_per_second`, `watts`, `celsius`, `megahertz`, `joules` or `count`. */
  unit: "percent" | "bytes" | "bytes_per_second" | "watts" | "celsius" | "megahertz" | "joules" | "count";
  /** The device, if it is one of several. */
  device: string | null;
  /** Its mean at each point. */
  values: (number | null)[];
}

/** Counters between two moments. */
export interface Counters {
  counters: Counter[];
}

/** How much was measured. */
export interface Counts {
  /** Repeats of the baseline. */
  baseline_repeats: number;
  /** Repeats of the current version. */
  current_repeats: number;
  /** Values of the baseline in total. */
  baseline_values: number;
  /** Values of the current version in total. */
  current_values: number;
}

/** Idle time that one operator, range or call is to blame for. */
export interface CulpritRow {
  cause: Cause;
  /** The operator, range or call; what the cause says, where there is none. */
  culprit: string;
  /** How many pieces of gaps. */
  pieces: number;
  idle_ns: number;
  /** Part of all idle time. */
  share: number;
}

/** A point of a curve. */
export interface CurvePoint {
  at_ns: number;
  /** Bytes in use after this mark. */
  allocated_bytes: number;
  /** Bytes held from the device, if the file says. */
  reserved_bytes: number | null;
}

/** What one metric means. */
export interface Definition {
  /** The metric's field name, as in machine output (`host_self_ns`). */
  field: string;
  /** What it is called in tables (`Host self`). */
  label: string;
  /** One or two sentences that let a reader recompute it. */
  text: string;
}

/** All about one slice or instant. */
export interface Details {
  /** Its number; an instant's has [`INSTANT`] set. */
  id: number;
  name: string;
  category: number;
  row: number;
  start_ns: number;
  /** How long it takes. */
  dur_ns: number;
  kind: string;
  /** Its category as the file spells it. */
  cat: string;
  /** Its thread or stream. */
  group: string;
  /** Its time less that of what is directly inside it. */
  self_ns: number;
  /** The step in which it starts. */
  step: number | null;
  /** Its arguments, values as JSON text. */
  args: [string, string][];
  /** Shapes of its inputs. */
  shapes: string | null;
  /** Types of its inputs. */
  types: string | null;
  /** Floating-point operations, where a formula is known. */
  flops: number | null;
  /** Python frames, the innermost first. */
  stack: string[];
  /** What holds it, the nearest first. */
  parents: Ref[];
  /** What is directly inside it, the most time first. */
  children: Child[];
  /** What belongs to it elsewhere. */
  links: Link[];
  links_more: number;
  /** The operator whose row tells more. */
  op: string | null;
  /** Whether it is a kernel. */
  kernel: boolean;
}

/** A device as the profiler described it. */
export interface DeviceInfo {
  /** Its number on its host. */
  index: number;
  name: string;
  total_memory_bytes: number | null;
  /** Compute capability (`9.0`). */
  compute_capability: string | null;
  /** Streaming multiprocessors or compute units. */
  sms: number | null;
  /** Threads in a warp or wavefront. */
  warp_size: number | null;
}

export interface DeviceMemory {
  /** `CPU`, `CUDA 0`, … */
  device: string;
  /** PyTorch's number for the kind of device (0 CPU, 1 CUDA, 6 HIP, …), if given. */
  device_type: number | null;
  device_id: number | null;
  records: number;
  /** Whether every level is the allocator's own total. If not, levels are running sums from 0. */
  totals_from_file: boolean;
  /** Whether every mark carries an address, so that lifetimes are known. */
  lifetimes_from_file: boolean;
  /** Level before the first mark; of a window, at its beginning. */
  opening_allocated_bytes: number;
  /** Level after the last mark that counts. */
  closing_allocated_bytes: number;
  peak_allocated_bytes: number;
  /** When it was first reached. */
  peak_at_ns: number;
  /** Most memory the allocator held from the device, if the file says. */
  peak_reserved_bytes: number | null;
  /** When that was first reached. */
  peak_reserved_at_ns: number | null;
  allocation_count: number;
  allocated_bytes: number;
  free_count: number;
  freed_bytes: number;
  /** Releases of memory whose allocation is not in the file. */
  unmatched_frees: number;
  unmatched_free_bytes: number;
  /** Allocations not released by the end of the file. */
  still_live: number;
  still_live_bytes: number;
  /** Allocations whose address was given out again without a release in the file. */
  unseen_releases: number;
  /** Marks whose level differs from the one before by something other than their bytes. */
  level_gaps: number;
  /** Bytes alive at the peak whose allocation is in the file. */
  peak_known_bytes: number;
  /** The rest of the peak. */
  peak_unknown_bytes: number;
  /** What lived at the peak by operator; closes to the peak. */
  peak_by_operator: LiveOperator[];
  /** What lived at the peak by operator and Python stack; closes to the peak. */
  peak_by_stack: LiveStack[];
  curve: CurvePoint[];
  /** Whether the curve leaves marks out. */
  curve_sampled: boolean;
}

/** A point of a device's queue. */
export interface DeviceQueuePoint {
  device: number | null;
  at_ns: number;
  /** How much is launched but not started from then on. */
  queued: number;
}

/** One device's allocator. */
export interface DeviceRow {
  /** The device; pinned memory of the host is -1. */
  device: number;
  /** In use now. */
  allocated_bytes_now: number;
  /** In use at most. */
  allocated_bytes_peak: number;
  /** Taken from the device now. */
  reserved_bytes_now: number;
  /** Taken at most. */
  reserved_bytes_peak: number;
  /** Given back, but not yet free. */
  pending_bytes: number;
  /** Reserved and free. */
  free_bytes: number;
  /** In one piece. */
  largest_free_bytes: number;
  /** Segments taken during the history. */
  segments_taken: number;
  /** Segments given back. */
  segments_returned: number;
  /** Entries that do not fit. */
  unmatched: number;
}

/** A step on one device. */
export interface DeviceStep {
  step: number;
  name: string;
  /** The device; `None` for all together. */
  device: number | null;
  /** Where the total begins, since the trace's first event. */
  start_ns: number;
  /** Kernels that compute, and fills. */
  computation_ns: number;
  /** Communication that no computation hides. */
  exposed_comm_ns: number;
  /** Copies that nothing hides. */
  exposed_memcpy_ns: number;
  busy_ns: number;
  idle_ns: number;
  total_ns: number;
  /** Communication, hidden or not. */
  total_comm_ns: number;
  /** Copies, hidden or not. */
  total_memcpy_ns: number;
  slices: number;
  /** Slices without a recorded launching call, counted or not. */
  unlinked: number;
}

export type Direction = "host_to_device" | "device_to_host" | "device_to_device" | "other" | "peer";

/** The run's place in a distributed job. */
export interface Distributed {
  /** The communication library (`nccl`, `gloo`). */
  backend: string | null;
  /** This process's rank. */
  rank: number | null;
  /** How many ranks there are. */
  world_size: number | null;
  /** The NCCL version. */
  nccl_version: string | null;
}

/** What of the file is drawn. */
export interface DrawnLedger {
  /** Slices of the trace. */
  slices: number;
  /** Points of the trace. */
  points: number;
  /** Ends of arrows of the trace. */
  flows: number;
  /** Slices on rows, each once. */
  drawn_slices: number;
  /** Points on rows, as instants. */
  drawn_points: number;
  /** Points that name processes and threads. */
  metadata_points: number;
  /** Points that are values of counters. */
  counter_points: number;
  /** Events found in the file. */
  events_in_file: number;
}

/** A line of the program in a picture. */
export interface DrawnPlace {
  place: MemoryPlace;
  /** Its share of the pixels that show something. */
  share: number;
}

/** An operator that ran without being compiled between compiled parts. */
export interface EagerRow {
  name: string;
  calls: number;
  /** How often in a step. */
  calls_per_step: number;
  /** Of the calls, inside of a region: where its graph breaks. */
  in_regions: number;
  /** Its time on the host. */
  host_ns: number;
  /** Device time of what it launched. */
  device_ns: number;
}

/** One function's calls of another. */
export interface EdgeRow {
  /** The function that called. */
  caller: string;
  caller_place: string;
  /** The function that was called. */
  callee: string;
  callee_place: string;
  /** How often, where calls were counted. */
  calls: number | null;
  /** The same without calls that recursion made. */
  primitive_calls: number | null;
  /** Time of the called function's own in these calls. */
  self_ns: number | null;
  /** Samples of its own. */
  self_samples: number | null;
  /** Memory of its own. */
  self_bytes: number | null;
  /** Its time with all that it called. */
  total_ns: number | null;
  /** Its samples with all that it called. */
  total_samples: number | null;
  /** Its memory with all that it called. */
  total_bytes: number | null;
}

/** Where the saving comes from. */
export type Estimate = "model" | "none" | "replay" | "upper_bound";

/** One stretch of memory in use. */
export interface Event {
  device: string;
  /** Innermost operator at the allocation; `None` outside any, or when the allocation is not in the file. */
  operator: string | null;
  bytes: number;
  /** Its address, if given. */
  address: number | null;
  /** When it was allocated; `None` before the recording. */
  allocated_at_ns: number | null;
  /** When it was released; `None` if not in the file. */
  released_at_ns: number | null;
  /** How long it lived, if both are known. */
  duration_ns: number | null;
}

/** Whether everything in the file is accounted for. */
export interface EventsLedger {
  /** Events found in the file. */
  events_in_file: number;
  /** Kept with a length. */
  slices: number;
  /** Begin and end events joined into one slice each: one event more than slices per pair. */
  joined_pairs: number;
  /** Kept without a length. */
  points: number;
  /** Ends of arrows kept. */
  flows: number;
  /** Not kept; the notes say why. */
  set_aside: number;
  /** Bytes between events that belong to no event. */
  skipped_bytes: number;
  /** Whether the parts add up to the events in the file. */
  closes: boolean;
}

/** A metric that a finding rests on. */
export interface Evidence {
  label: string;
  value: Metric;
  /** What it means, so that a reader can recompute it. */
  definition: string;
}

/** One request. */
export interface Exemplar {
  /** Its route. */
  route: string;
  /** What the service calls it. */
  id: string;
  /** When it ended, in nanoseconds since 1970. */
  ended_ns: number;
  /** How long it took. */
  latency_ns: number;
  /** Whether it failed. */
  failed: boolean;
  /** Samples in it. */
  samples: number;
  /** The process that answered it. */
  process: number;
  /** Its regions; each stands behind the one it lies in. */
  spans: KeptSpan[];
  /** Where it was most of the time, if somebody looked: frames of Python, the innermost last. */
  stack: string[];
  /** The file with its profile in the directory's `profiles`, if there is one. */
  profile: string | null;
  /** Whether it was among the slowest of its hour. */
  slow: boolean;
  /** Its random key: the least are a sample of all requests. */
  key: number;
}

/** What kind of work an operator does. */
export type Family = "attention" | "compiled" | "convolution" | "copy" | "elementwise" | "gemm" | "loss" | "pooling" | "indexing" | "normalization" | "optimizer" | "reduction" | "softmax";

/** What one rule found. */
export interface Finding {
  rule: string;
  /** One line: what, and how much. */
  title: string;
  /** How much it matters. */
  severity: Severity;
  /** How sure the rule is. */
  confidence: Confidence;
  /** What a fix would save of a mean step. */
  saves_ns: number | null;
  /** The same as a part of the mean step. */
  saves_share: number | null;
  /** What it would save of a mean step without the profiler. */
  saves_unprofiled_ns: number | null;
  /** The same as a part of that step. */
  saves_unprofiled_share: number | null;
  /** Where that comes from. */
  estimate: Estimate;
  /** The best of its changes that was measured. */
  measured: TriedFix | null;
  /** The same in words. */
  measured_text: string | null;
  /** What it rests on. */
  evidence: Evidence[];
  why: string;
  fix: string;
  /** The change as code. */
  code: string | null;
  /** How to see whether it helped. */
  verify: string;
  /** The line of the program, if stacks were recorded. */
  source: string | null;
  /** Slices that show it. */
  slices: ShownSlice[];
  /** From where to where in the trace, if it has a place. */
  range_ns: [number, number] | null;
}

/** A finding that only one of the runs has, or both. */
export interface FindingChange {
  /** `new`, `gone` or `both`. */
  change: FindingState;
  rule: string;
  /** What it says, of the later run where both have it. */
  title: string;
  /** What a fix was worth before, per step. */
  before_saves_ns: number | null;
  /** What a fix is worth after, per step. */
  after_saves_ns: number | null;
}

/** Which of the runs has a finding. */
export type FindingState = "both" | "gone" | "new";

/** A peak as a fixed part and one per sample. */
export interface FitRow {
  /** `in use` or `reserved`. */
  of: string;
  /** Whatever the batch. */
  fixed_bytes: number;
  /** Per sample. */
  bytes_per_sample: number;
  /** How far runs are off; none for two. */
  residual_bytes: number | null;
}

/** The answer: a tree in columns, one entry a node. Parents stand before their children; siblings are ordered by falling total, with what is put together last. */
export interface Flame {
  /** What it is about. */
  weight: FlameWeight;
  /** Whose time it is. */
  clock: Clock;
  /** What times are: a profile may count samples or memory instead. */
  unit: AmountUnit;
  /** Sum of the own time of all nodes. */
  total_ns: number;
  /** The names, each once. */
  names: string[];
  /** By node: its name's place in `names`. */
  name: number[];
  /** By node: the node around it, or -1. */
  parent: number[];
  /** By node: its own time. */
  self_ns: number[];
  /** By node: its own time and that of all nodes below it. */
  total_ns_of: number[];
  /** By node: host: its calls; device: kernels, copies and memsets at or below it; module: its calls, 0 if not known. */
  count: number[];
  /** By node: what it is, as a number of the list that timelines use. */
  category: number[];
  /** Nodes that were put together with others. */
  pruned_nodes: number;
  /** Their own time, part of the total. */
  pruned_ns: number;
  /** Slices too deep for a node of their own; their time counts in the last frame that was not. */
  deeper_slices: number;
}

/** What the flame graph is about. */
export type FlameWeight = "device" | "host" | "module";

export interface FoldedRow {
  /** Frames from the outermost to the leaf, joined by `;`. */
  stack: string;
  /** Its amount, in the profile's unit. */
  amount: number;
}

/** How the iterations were found. */
export type FoundBy = "copies_to_host" | "device_range" | "forward_pass" | "graph_launch" | "nothing" | "python_call" | "range";

/** How steps were found that are not marked. */
export interface FoundSteps {
  by: StepsFoundBy;
  /** What repeats. */
  name: string;
  /** Repeats of another kind, as the prefill of a generation is: they are no steps. */
  apart: number;
  /** All of it: `12 iterations found by the repeating range decode_step`. */
  sentence: string;
}

/** A frame of a stack. */
export interface FrameText {
  function: string;
  /** Its file, or empty. */
  file: string;
  /** The line, or 0. */
  line: number;
  /** Whether it is of Python; the others are of C++. */
  python: boolean;
}

/** When a device is full. */
export interface FullRow {
  device: number;
  limit_bytes: number;
  /** Whether the device is known to have it; otherwise it is a common size. */
  known: boolean;
  /** How many more iterations, or seconds. */
  iterations_left: number;
  /** The same as time. */
  left_ns: number | null;
  /** `iteration` or `second`. */
  per: string;
}

/** What a run says about one function. */
export interface FunctionOfSource {
  name: string;
  line: number | null;
  calls: number | null;
  own: number;
  with_callees: number;
  with_callees_share: number;
  /** Waiting for a device under it. */
  device_wait_ns: number | null;
  /** Device time that it launched. */
  device_ns: number | null;
}

export interface FunctionRow {
  name: string;
  /** The file it is in; none for functions that are not Python's. */
  file: string | null;
  /** The line it starts at, where that is known. */
  line: number | null;
  /** How often it was called. */
  calls: number | null;
  /** The same without calls that recursion made. */
  primitive_calls: number | null;
  /** Time of its own. */
  self_ns: number | null;
  /** Samples of its own. */
  self_samples: number | null;
  /** Memory of its own. */
  self_bytes: number | null;
  /** Its own share of the profile. */
  self_share: number;
  /** Its own time per call. */
  self_per_call_ns: number | null;
  /** Its time with all that it called. */
  total_ns: number | null;
  /** Its samples with all that it called. */
  total_samples: number | null;
  /** Its memory with all that it called. */
  total_bytes: number | null;
  /** Its share of the profile with all that it called. */
  total_share: number;
  /** Its time with all that it called, per call. */
  total_per_call_ns: number | null;
  /** Time in which it waited, apart from its own. */
  waiting_ns: number | null;
}

/** An instruction that is fused into the one asked for. */
export interface FusedRow {
  /** Its name. */
  name: string;
  /** The compiler's word for it. */
  opcode: string;
  /** The shape of its result. */
  shape: string;
  /** Names of what it takes. */
  operands: string[];
  /** Where the framework says it comes from. */
  op_path: string | null;
  /** The file of its line. */
  file: string | null;
  /** Its line of source code. */
  line: number | null;
}

/** The class of a gap as a whole. */
export type GapKind = "dependency" | "end_of_step" | "host_late" | "launch_latency" | "queued_gap" | "unknown" | "unlinked";

/** Idle time of one kind on one device. */
export interface GapKindRow {
  device: number | null;
  kind: GapKind;
  gaps: number;
  idle_ns: number;
  max_ns: number;
  /** Part of the steps' time. */
  share_of_steps: number;
}

export interface GapRow {
  device: number | null;
  /** The step it lies in. */
  step: number;
  /** Where the device ran dry. */
  start_ns: number;
  idle_ns: number;
  kind: GapKind;
  cause: Cause;
  /** What the host was in. */
  culprit: string | null;
  next: string | null;
  /** Python frames from the innermost; empty unless stacks were recorded. */
  stack: string[];
}

/** All gaps together. */
export interface GapsTotals {
  gaps: number;
  idle_ns: number;
  wall_ns: number;
}

/** A kernel that the compiler generated. */
export interface GeneratedRow {
  kernel: string;
  /** The region that runs it, where known; with `backward` behind it in the backward pass. */
  region: string | null;
  backend: string | null;
  /** Sizes chosen for it. */
  config: string | null;
  /** The file with its source. */
  file: string | null;
  /** How often it ran. */
  calls: number;
  total_ns: number;
  /** That of a call on average. */
  mean_ns: number;
  /** Its share of all device time. */
  share: number;
}

export interface GpuRow {
  device: number | null;
  /** Its product name, if the file says. */
  name: string | null;
  /** The length of the window. */
  window_ns: number;
  busy_ns: number;
  kernel_busy_ns: number;
  /** Kernel busy / window. */
  utilization: number | null;
  /** Estimated share of multiprocessors at work; `None` if kernels do not say their blocks per SM. */
  sm_efficiency: number | null;
  /** Estimated achieved occupancy; `None` if kernels do not say. */
  occupancy: number | null;
  /** Tensor core time / kernel time, at the least; `None` without kernels. */
  tensor_core_share: number | null;
  /** The share of kernel time in kernels that may use tensor cores or not. */
  tensor_core_unknown_share: number | null;
  /** Eligible time / kernel time; `None` without kernels. */
  eligible_share: number | null;
  /** The share of its memory's bandwidth in use; `None` if no counter of it was recorded. */
  memory_bandwidth_share: number | null;
  /** The lowest clock of the multiprocessors; `None` where no monitor recorded it. */
  sm_clock_min_mhz: number | null;
  /** Their mean clock; `None` where no monitor recorded it. */
  sm_clock_mean_mhz: number | null;
  /** Sum of kernel durations. */
  kernel_ns: number;
  /** The part of it in tensor core kernels. */
  tensor_core_ns: number;
  /** The part of it in kernels whose names do not say. */
  tensor_core_unknown_ns: number;
  /** The part of it launched by operators that could use tensor cores. */
  eligible_ns: number;
  /** The part of it in kernels that say their blocks per SM: what the SM efficiency rests on. */
  sm_known_ns: number;
  /** The part of it in kernels that say their occupancy: what the occupancy rests on. */
  occupancy_known_ns: number;
  /** Its streams, by number. */
  streams: StreamUse[];
}

/** How well a device is used. */
export type Grade = "fair" | "good" | "poor";

export interface GraphRow {
  /** Its id, or a letter if the trace has none. */
  graph: string;
  /** Whether that is the producer's id. */
  recorded: boolean;
  /** How often it was replayed. */
  replays: number;
  /** Kernels, copies and memsets of a replay, on average. */
  nodes: number;
  /** From the first node's start to the last one's end: the median. */
  device_p50_ns: number;
  /** The 95th percentile. */
  device_p95_ns: number;
  /** Time of all replays in which a node ran. */
  busy_ns: number;
  /** Its share of the steps. */
  share: number;
  /** Time of all replays in which no node ran. */
  gap_ns: number;
  /** Its share of all replays' time. */
  gap_share: number;
  /** The launching call on the host: the median. */
  call_p50_ns: number;
  call_ns: number;
  /** The kernel that takes most of its time. */
  longest: string;
}

/** A thread, a stream, or something derived from them. */
export interface GroupInfo {
  id: number;
  label: string;
  /** Its device or process. */
  detail: string;
  kind: GroupKind;
  rows: number[];
  /** How many slices are on them; steps count as slices. */
  slices: number;
  /** Whether its slices also stand elsewhere; they are no part of the ledger. */
  derived: boolean;
}

/** What a group shows. */
export type GroupKind = "device" | "host" | "other" | "modules" | "steps";

/** A region that takes more time than before. */
export interface Grown {
  /** Its name. */
  region: string;
  /** Time per request before. */
  before_ns: number;
  /** Time per request now. */
  after_ns: number;
}

/** What happened. */
export type Happened = "alert" | "better" | "worse";

/** Something that happened. */
export interface Happening {
  /** When, in minutes since 1970. */
  minute: number;
  /** What it was. */
  kind: Happened;
  /** In a sentence without its time. */
  text: string;
}

/** One device's peaks. Rates in TFLOP/s (for `int8`: tera-operations) and GB/s, both decimal. */
export interface Hardware {
  /** What it is called here. */
  name: string;
  /** `double`. */
  fp64: number | null;
  /** `double` in matrix products, where that is faster. */
  fp64_matrix: number | null;
  /** `float`. */
  fp32: number;
  /** `float` in matrix products without rounding, where that is faster. */
  fp32_matrix: number | null;
  /** `float` in matrix products, rounded. */
  tf32: number | null;
  /** `half` in matrix products that are summed in `float`, as PyTorch asks for. */
  fp16: number | null;
  /** The same for `bfloat16`. */
  bf16: number | null;
  /** The same for 8-bit floats. */
  fp8: number | null;
  /** 8-bit integers. */
  int8: number | null;
  /** 4-bit floats. */
  fp4: number | null;
  memory_gbs: number;
  /** Memory in GB (decimal, as sold). */
  memory_gb: number;
  /** Streaming multiprocessors or compute units. */
  units: number;
  /** The bus to the host, one direction. */
  host_bus_gbs: number;
  /** All links to other devices together, one direction. */
  link_gbs: number | null;
}

/** How torch.compile does as a whole. */
export interface Health {
  /** Steps that were looked at. */
  steps: number;
  /** Different regions that were entered. */
  regions: number;
  /** How often one was entered in a step. */
  calls_per_step: number;
  /** How often inside of another in a step. */
  breaks_per_step: number;
  /** Operators between compiled parts in a step. */
  eager_per_step: number;
  /** Host time in regions and compiled backward passes. */
  host_ns: number;
  /** Device time of what they launched. */
  device_ns: number;
  /** Its share of all device time; none without any. */
  device_share: number | null;
  /** How often compiled code was looked for. */
  lookups: number;
  /** How long that took. */
  lookup_ns: number;
  /** Frames compiled within the trace. */
  compiles: number;
  /** Of those, frames that had been compiled before. */
  recompiles: number;
  /** How long compiling took. */
  compile_ns: number;
}

/** Bytes and allocations of one line. */
export interface HeapLineRow {
  function: string;
  file: string;
  line: number;
  /** Bytes alive at the peak. */
  peak_bytes: number;
  /** Its share of the peak. */
  peak_share: number;
  /** Allocations alive at the peak. */
  peak_count: number;
  /** Bytes alive at the end. */
  live_bytes: number;
  /** Allocations alive at the end. */
  live_count: number;
  /** What was added to them in the later part of the run; none in one too short to say. */
  growth_bytes: number | null;
  allocated_bytes: number;
  allocations: number;
}

/** Bytes and allocations of one stack. */
export interface HeapStackRow {
  /** Its frames, innermost first, as `file(line): name`. */
  stack: string[];
  /** Bytes alive at the peak. */
  peak_bytes: number;
  /** Its share of the peak. */
  peak_share: number;
  /** Allocations alive at the peak. */
  peak_count: number;
  /** Bytes alive at the end. */
  live_bytes: number;
  allocated_bytes: number;
  allocations: number;
}

/** How latencies are spread, over time. */
export interface HeatMap {
  /** Where buckets begin and end: one more than there are buckets. */
  bounds_ns: number[];
  /** Requests by point and bucket. */
  counts: number[][];
}

/** A change of level. */
export interface HistoryChange {
  /** The first measurement of the new level, counted from 0. */
  at: number;
  /** The median of the stretch before. */
  before: number;
  /** The median of the stretch after. */
  after: number;
  /** How likely such a change would be if the order meant nothing. */
  p: number;
  /** It in words. */
  sentence: string;
}

/** One measurement. */
export interface HistoryPoint {
  /** When, in UTC. */
  measured_at: string;
  /** The commit, shortened. */
  commit: string | null;
  /** What the commit says it does. */
  subject: string | null;
  /** The median over its runs. */
  value: number;
  /** The lowest of its runs. */
  low: number;
  /** The highest. */
  high: number;
  /** How many runs there are. */
  runs: number;
}

/** All hits of one name. */
export interface HitName {
  id: number;
  name: string;
  count: number;
  total_ns: number;
}

export interface Hits {
  /** What was looked for. */
  query: string;
  /** Slices and instants found. */
  total: number;
  total_ns: number;
  /** By name, the most time first. */
  names: HitName[];
  names_more: number;
  /** The first of them, in order. */
  hits: Ref[];
  /** How many start in each of 256 equal parts of the trace. */
  density: number[];
}

/** A line that held memory when a request was refused. */
export interface HolderRow {
  device: number;
  /** The request, counted from 1. */
  refusal: number;
  function: string;
  file: string;
  line: number;
  held_bytes: number;
  /** In so many allocations. */
  held_count: number;
  /** Of all in use. */
  held_share: number;
  /** What most of it was for; a guess. */
  category: string;
}

/** The host side of a copy. */
export type HostMemory = "pageable" | "pinned" | "unknown";

/** A function with much time of its own. */
export interface HotFunction {
  name: string;
  place: string;
  own: number;
  own_share: number;
  with_callees: number;
  with_callees_share: number;
  /** Time in which it waited. */
  waited_ns: number | null;
}

/** A line with much time. */
export interface HotLine {
  function: string;
  place: string;
  on_line: number;
  on_line_share: number;
}

/** What the time of an edge is spent on. The names in machine output are HTA's. */
export type HtaBound = "cpu_bound" | "data_loading" | "dependency" | "gpu_communication_bound" | "gpu_compute_bound" | "gpu_kernel_kernel_overhead" | "gpu_kernel_launch_overhead";

/** The gaps of one stream by HTA's three kinds. */
export interface HtaIdleRow {
  device: number | null;
  stream: number | null;
  slices: number;
  host_wait_ns: number;
  kernel_wait_ns: number;
  other_ns: number;
  idle_ns: number;
}

/** All launches together. */
export interface HtaLaunchesRow {
  launches: number;
  short: number;
  cpu_outliers: number;
  delay_outliers: number;
  uncounted: number;
}

/** The time of the critical path that goes to one sort of work. */
export interface HtaPathRow {
  bound: HtaBound;
  edges: number;
  time_ns: number;
  share: number | null;
}

/** The queue of one stream. */
export interface HtaQueueRow {
  device: number | null;
  stream: number | null;
  count: number;
  mean: number | null;
  p50: number | null;
  max: number | null;
  full_ns: number;
  full_share: number | null;
}

/** How far input is the problem. */
export type InputBound = "highly" | "moderately" | "not" | "potentially" | "unknown";

/** One state of a device's memory. */
export interface Instant {
  state: number;
  /** When it began, since the first entry; none where the history has no times. */
  at_ns: number | null;
  /** In use by the program. */
  allocated_bytes: number;
  /** Asked for by it. */
  requested_bytes: number;
  /** Given back, but not yet free. */
  pending_bytes: number;
  /** Taken from the device. */
  reserved_bytes: number;
  free_bytes: number;
  allocations: number;
  /** Lines by what they held, the largest first. */
  lines: LiveLine[];
  /** How many lines held something. */
  line_count: number;
  map: AllocatorMap;
}

/** One instruction, or all of a category, line, path or program. */
export interface InstructionRow {
  /** The instruction, category, line, path or program. */
  name: string;
  program: string | null;
  program_id: number | null;
  /** The compiler's word for it. */
  opcode: string | null;
  /** What it is for the most part. */
  category: string | null;
  /** Whether it ran on a device; otherwise on threads of the host. */
  on_device: boolean;
  /** How often it ran. */
  calls: number;
  /** Kernels, copies and memsets that ran it. */
  kernels: number;
  total_ns: number;
  /** Its time without what ran inside it. */
  self_ns: number;
  /** Of all time of the device or the workers. */
  share: number;
  /** Its own time per call. */
  mean_ns: number;
  /** Floating-point operations, all calls together. */
  flops: number | null;
  /** Bytes read and written, all calls together. */
  bytes: number | null;
  tflops: number | null;
  gbs: number | null;
  /** That rate of operations / the device's peak. */
  of_peak_flops: number | null;
  /** That rate of bytes / the device's peak. */
  of_peak_bandwidth: number | null;
  /** Why it is above a peak. */
  note: OverPeak | null;
  /** The shape of its result. */
  shape: string | null;
  /** Where the framework says it comes from. */
  op_path: string | null;
  /** Its line of source code, short. */
  source: string | null;
  /** The file of that line. */
  file: string | null;
  /** The line in that file. */
  line: number | null;
  /** What is fused into it. */
  fused: string | null;
  /** How many instructions the row stands for. */
  instructions: number;
  /** Its own time that only the order of a captured graph ties to it. */
  by_order_ns: number;
  /** When it first ran. */
  first_ns: number;
  first_end_ns: number;
}

export interface InstructionsTotals {
  /** Device time that names an instruction. */
  device_named_ns: number;
  /** Device time that names none. */
  device_unnamed_ns: number;
  /** Of what names one, what only the order of captured graphs tells. */
  device_by_order_ns: number;
  /** Time of worker threads that names an instruction. */
  host_named_ns: number;
  /** Time of operators on those threads that name none. */
  host_unnamed_ns: number;
  /** How many programs the file describes. */
  programs: number;
}

export interface Iteration {
  /** What stands for it in the trace. */
  name: string;
  /** What it works on. */
  kind: IterationKind;
  start_ns: number;
  /** How long it takes, its device work included. */
  wall_ns: number;
  /** How long it takes on the host; none without a range there. */
  host_ns: number | null;
  /** How long a device is busy meanwhile. */
  busy_ns: number;
  /** Until the next begins; none for the last. */
  gap_ns: number | null;
  /** Requests in the batch. */
  requests: number | null;
  tokens: number | null;
  /** Of those, tokens of prompts. */
  context_tokens: number | null;
  /** Of those, tokens of requests past their prompt. */
  generation_tokens: number | null;
}

/** What an iteration works on. */
export type IterationKind = "decode" | "prefill" | "mixed" | "unknown";

/** The verdict for programs. */
export interface Judged {
  verdict: ComparisonVerdict;
  /** The sentence. */
  sentence: string;
  /** What made most of the difference; none where there is no difference. */
  because: string | null;
  /** What the interval rests on, in words. */
  rests_on: string;
  /** The baseline's number: the median over its repeats. */
  baseline: number | null;
  current: number | null;
  /** Current over baseline, the best estimate; unknown if a side is empty or the baseline is 0. */
  ratio: number | null;
  /** The lowest ratio that the confidence allows; unknown if nothing is known about the noise. */
  low: number | null;
  /** The highest ratio that the confidence allows. */
  high: number | null;
  /** How likely such a difference, or a larger one, would be if there were none. */
  p: number | null;
  /** Where the interval comes from. */
  method: Method;
  /** How much was measured. */
  n: Counts;
  /** About how many repeats per side would decide, if nothing was decided and the noise stays as it is. Unknown if that cannot be estimated or no reasonable number would. */
  repeats_to_decide: number | null;
}

/** One region of a request. */
export interface KeptSpan {
  /** Its name. */
  name: string;
  /** The place in the list of the region it lies in. */
  parent: number | null;
  /** When it was entered, counted from the request's start. */
  start_ns: number;
  /** How long it was open. */
  duration_ns: number;
}

export interface KernelRow {
  /** The name as the file has it; [`crate::names::kernel_name::short`] makes it readable. */
  name: string;
  /** The operator, if asked for and known. */
  op: string | null;
  /** Where the framework says it comes from (`jit(step)/mlp/dot_general`), if the file has its compiled program. */
  op_path: string | null;
  /** The line of source code it comes from (`train.py:12`), if the file has its compiled program. */
  source: string | null;
  /** Blocks of the grid, if asked for and known. */
  grid: string | null;
  /** Threads of a block, if asked for and known. */
  block: string | null;
  /** Registers of a thread, if asked for and known. */
  registers: number | null;
  /** Shared memory of a block, if asked for and known. */
  shared_memory_bytes: number | null;
  /** Devices it ran on, by number. */
  devices: number[];
  /** Streams it ran on, by number. */
  streams: number[];
  /** How often it ran. */
  calls: number;
  /** Time of all calls. */
  total_ns: number;
  /** Time of a call on average. */
  mean_ns: number;
  /** Time of the shortest call. */
  min_ns: number;
  /** Time of the longest call. */
  max_ns: number;
  /** Half of the calls take no longer. */
  p50_ns: number;
  /** 95% of the calls take no longer. */
  p95_ns: number;
  /** 99% of the calls take no longer. */
  p99_ns: number;
  /** Standard deviation of the calls' times / their mean; none if that is zero. */
  cv: number | null;
  /** The part of all selected kernels' time. */
  share: number;
  /** Blocks per multiprocessor, a mean weighted by duration. */
  blocks_per_sm: number | null;
  /** Estimated achieved occupancy in percent, a mean weighted by duration. */
  occupancy_percent: number | null;
  /** Whether it uses tensor cores, told by its name. */
  tensor_core: TensorCores;
}

/** The time of all rows together. */
export interface KernelsTotals {
  kernel_calls: number;
  kernel_ns: number;
  unlinked_ns: number;
  memcpy_ns: number;
  memset_ns: number;
  tensor_core_ns: number;
  tensor_core_unknown_ns: number;
}

/** All iterations of a kind. */
export interface KindRow {
  kind: IterationKind;
  iterations: number;
  total_ns: number;
  /** Its share of the time from the first iteration to the last. */
  share: number;
  wall_p50_ns: number;
  /** The 95th percentile. */
  wall_p95_ns: number;
  /** The 99th percentile. */
  wall_p99_ns: number;
  /** The share of their time in which a device is busy. */
  busy_share: number;
  /** Tokens of those whose name says so. */
  tokens: number | null;
  /** These tokens by the time of their iterations. */
  tokens_per_second: number | null;
}

/** A thread or a stream. */
export interface LaneInfo {
  /** Whether it is a device's stream. */
  device: boolean;
  /** Process, or device, as the file names it. */
  process: string;
  process_name: string;
  /** Thread, or stream, as the file names it. */
  thread: string;
  thread_name: string;
  /** Slices on it that belong there: a thread's calls, or a stream's work. */
  slices: number;
  /** Slices of other meanings (recording windows, unknown categories). */
  other_slices: number;
  points: number;
  /** Earliest start of a slice. */
  first_ns: number | null;
  /** Latest end of a slice. */
  last_ns: number | null;
}

/** The largest batch within a limit. */
export interface LargestRow {
  /** The limit. */
  limit_bytes: number;
  /** Whether the process is known to have it; otherwise it is a common size. */
  known: boolean;
  /** The largest batch; none if memory does not grow with the batch. */
  largest_batch: number | null;
  /** At least. */
  largest_batch_low: number | null;
  /** At most. */
  largest_batch_high: number | null;
}

export interface LaunchRow {
  device: number | null;
  /** Work with a known launch. */
  launches: number;
  /** Median delay from launch to start. */
  delay_p50_ns: number;
  /** Delay that 95% stay under. */
  delay_p95_ns: number;
  delay_max_ns: number;
  /** What a launch costs at least. */
  latency_ns: number;
  /** Median time of the launching calls. */
  call_p50_ns: number;
  /** Time of all launching calls on the host. */
  calls_ns: number;
  kernels: number;
  /** Kernels shorter than their launching call. */
  short_kernels: number;
  short_kernels_ns: number;
  /** Median time of a kernel. */
  kernel_p50_ns: number;
  queue_mean: number;
  queue_max: number;
  /** Part of the work that found its stream empty. */
  dry_share: number;
  /** Part of the steps' time lost to launching. */
  launch_bound_share: number;
}

/** Everything a picture needs before its first tile. */
export interface Layout {
  /** From the first event to the last end. */
  extent_ns: number;
  /** From the first slice to the last end of one: instants alone may lie far outside. */
  work_ns: [number, number];
  /** Groups in the order of the picture. */
  groups: GroupInfo[];
  /** Rows, group by group. */
  rows: RowInfo[];
  /** What the categories are called, by number. */
  categories: string[];
  /** Whether everything in the file is drawn. */
  ledger: DrawnLedger;
  steps: StepInfo[];
}

export interface LeakRow {
  device: number;
  function: string;
  file: string;
  line: number;
  /** Growth per iteration, or per second. */
  growth_bytes_each: number;
  growth_low: number;
  growth_high: number;
  /** `iteration` or `second`. */
  per: string;
  /** From the first to the last moment compared. */
  grown_bytes: number;
  /** At the last moment compared. */
  held_bytes: number;
  /** In so many allocations. */
  held_count: number;
  compared: number;
  /** One stack that it comes from, innermost first. */
  stack: string[];
}

/** A change of level. */
export interface LevelChange {
  /** The route. */
  route: string;
  /** `p50` or `p95`. */
  metric: "p50" | "p95";
  /** The first minute of the new level, in minutes since 1970. */
  minute: number;
  /** The level before. */
  before_ns: number;
  /** The level after. */
  after_ns: number;
  /** How it compares with the level before. */
  pace: Pace;
  /** How likely such a cut would be if the order of the points meant nothing. */
  p: number;
  /** The region that grew most, if the level rose. */
  grew: Grown | null;
}

/** What a run says about one line. */
export interface LineOfSource {
  line: number;
  hits: number | null;
  amount: number;
  per_hit_ns: number | null;
  /** Of the whole profile. */
  share: number;
}

/** A slice that belongs to another. */
export interface Link {
  relation: Relation;
  to: Ref;
}

/** A run as the page lists it. */
export interface Listed {
  id: number;
  /** For people: a path that is not Unicode is shown as well as it can be, and asked for by its number. */
  path: string;
  label: string;
  /** Stored bytes; a report does not tell. */
  bytes: number | null;
  modified_ms: number | null;
  state: RunState;
  read_bytes: number;
  total_bytes: number;
  error: Problem | null;
  /** Still being recorded: asking for fresh runs gives a newer one. */
  recording: boolean;
}

/** A buffer that is live when its program needs most memory. */
export interface LiveBufferRow {
  /** The program. */
  program: string;
  /** Its number. */
  program_id: number;
  /** The instruction that fills it. */
  instruction: string;
  /** The compiler's word for that. */
  opcode: string;
  /** Its shape. */
  shape: string;
  buffer_bytes: number;
  buffer_share: number | null;
  /** What it is for. */
  kind: string;
  /** Where the framework says the instruction comes from. */
  op_path: string | null;
  /** The file of its line. */
  buffer_file: string | null;
  buffer_line: number | null;
}

/** What a line held. */
export interface LiveLine {
  place: MemoryPlace;
  /** Bytes that it held. */
  bytes: number;
  /** Their share of all that were in use. */
  share: number;
  /** In how many allocations. */
  allocations: number;
  /** The largest of them, to be shown. */
  largest: number;
}

/** Bytes alive at the peak that one kind of operator had allocated. */
export interface LiveOperator {
  operator: string;
  bytes: number;
  /** In how many allocations; `None` for the part of unknown origin. */
  count: number | null;
}

/** What was in use. */
export interface LiveRow {
  device: number;
  /** The line, stack, module, size or category. */
  name: string;
  live_bytes_then: number;
  requested_bytes: number;
  live_count_then: number;
  /** Of all in use. */
  live_share: number;
}

/** Bytes alive at the peak that one operator had allocated from one place in the program. */
export interface LiveStack {
  operator: string;
  /** Python calls around it on its thread, innermost first. */
  frames: string[];
  bytes: number;
  /** In how many allocations; `None` for the part of unknown origin. */
  count: number | null;
}

/** What the main thread does while a batch is loaded. */
export interface LoaderOp {
  name: string;
  self_ns: number;
}

/** One step's data loading. */
export interface LoadingRow {
  step: number;
  wall_ns: number;
  /** Time in data loading. */
  loading_ns: number;
  /** Time in data loading while no device worked. */
  exposed_ns: number;
}

/** All steps together. */
export interface LoadingTotals {
  loading_ns: number;
  exposed_ns: number;
  wall_ns: number;
}

/** One process and its lock. */
export interface LockRow {
  process: string;
  /** Threads that were sampled. */
  threads: number;
  /** From the first look to the last. */
  span_ns: number;
  /** Time in which a thread held the lock. */
  held_ns: number;
  /** The same as a share. */
  held_share: number;
  /** Time in which threads waited for it. */
  waiting_ns: number;
}

/** What was compared on a device. */
export interface LookedAtRow {
  /** The device. */
  device: number;
  /** Iterations in the history; none where nothing repeats. */
  iterations: number | null;
  /** How long one takes. */
  iteration_ns: number | null;
  /** Whether there was enough to compare. */
  enough: boolean;
  /** All of it, in words. */
  told: string;
}

/** A stretch of a segment. */
export interface MapBlock {
  /** What it is used for. */
  state: BlockUse;
  /** How long it is. */
  bytes: number;
  /** The allocation in it; none where it is free or mixed. */
  allocation: number | null;
  /** How many blocks it stands for. */
  blocks: number;
  /** Of a mixed one: bytes that are not free. */
  used_bytes: number;
}

export interface MapSegment {
  /** Where it begins, in hexadecimal. */
  address: string;
  /** How long it is. */
  bytes: number;
  /** In use by the program. */
  allocated_bytes: number;
  /** Given back, but not yet free. */
  pending_bytes: number;
  /** Its longest free stretch. */
  largest_free_bytes: number;
  /** Blocks that are not free. */
  blocks_in_use: number;
  /** The stream it is for; none if that was not recorded. */
  stream: number | null;
  /** Whether it can grow. */
  expandable: boolean;
  /** Whether it is for small blocks; none if it was gone when the snapshot was taken. */
  small: boolean | null;
  /** The pool it belongs to, as `a.b`; none if it was gone when the snapshot was taken. */
  pool: string | null;
  /** What it is made of, by rising address. */
  blocks: MapBlock[];
}

/** What two pieces were matched by. */
export type Matched = "alone" | "fused" | "kernel" | "module" | "moved" | "name" | "operator" | "operator_elsewhere" | "place";

/** What there is to draw. */
export interface MemoryAbout {
  /** Devices, the one with the highest peak first. */
  devices: MemoryDevice[];
  /** How many there are. */
  device_count: number;
  /** What the numbers mean. */
  definitions: Definition[];
}

/** What the horizontal axis counts. */
export type MemoryAxis = "entry" | "time";

/** A device with memory. */
export interface MemoryDevice {
  /** Its number; pinned memory of the host is -1. */
  device: number;
  /** Entries of its history and the state before the first. */
  states: number;
  /** From the first entry to the last; none where the history has no times. */
  duration_ns: number | null;
  /** The state in which most was in use. */
  peak_state: number;
  /** How much that was. */
  peak_bytes: number;
  /** The most that was reserved. */
  peak_reserved_bytes: number;
  /** Allocations of the history, and those that were there before it. */
  allocations: number;
  /** Those that were there before it. */
  before: number;
  /** Segments of the history. */
  segments: number;
  /** Entries that do not fit the others. */
  unmatched: number;
  /** Pools other than the one everything shares, as `a.b`, the largest first. */
  pools: string[];
  /** How many there are. */
  pool_count: number;
  /** Requests that could not be met. */
  refusals: RefusalAt[];
  /** How many there are. */
  refusal_count: number;
}

/** A line of a program. */
export interface MemoryPlace {
  function: string;
  /** Its file; empty where there is none. */
  file: string;
  /** The line, or 0. */
  line: number;
  /** A number from the text of all that: the same in every file. */
  hash: number;
}

/** How much memory there was at one time. */
export interface MemoryPoint {
  /** When, since the start. */
  at_ns: number;
  /** The most bytes allocated since the point before. */
  live_bytes: number | null;
  /** How much of the process was in memory. */
  rss_bytes: number | null;
}

/** Where an interval comes from. */
export type Method = {
  kind: "blocks";
  /** How many neighboring steps were drawn together. */
  length: number;
} | {
  kind: "counted";
} | {
  kind: "few_pairs";
} | {
  kind: "few_steps";
} | {
  kind: "nothing";
} | {
  kind: "pairs";
} | {
  kind: "ranks";
} | {
  kind: "student";
};

/** A value with its unit. */
export type Metric = {
  unit: "bytes";
  value: number;
} | {
  unit: "bytes_per_second";
  value: number;
} | {
  unit: "count";
  value: number;
} | {
  unit: "ns";
  value: number;
} | {
  unit: "number";
  value: number;
} | {
  unit: "share";
  value: number;
} | {
  unit: "text";
  value: string;
};

/** One metric of a baseline over its measurements. */
export interface MetricHistory {
  /** The baseline. */
  baseline: string;
  /** The metric. */
  metric: string;
  /** What it counts. */
  unit: MetricUnit;
  /** The measurements, the oldest first. */
  points: HistoryPoint[];
  /** Where the level changed. */
  changes: HistoryChange[];
  /** Measurements of another machine, taken in another way, or without the metric. */
  left_out: number;
}

/** One metric of both runs. */
export interface MetricRow {
  figure: string;
  unit: MetricUnit;
  /** Before: the mean of the recordings that say. */
  before: number | null;
  after: number | null;
  delta: number | null;
  /** Whether less of it is better; none where neither is. */
  less_is_better: boolean | null;
}

/** What a metric counts. */
export type MetricUnit = "count" | "nanoseconds" | "bytes" | "joules" | "per_second" | "share";

/** One module at one place of the model. */
export interface Module {
  /** The instance (`Linear_3`). */
  name: string;
  /** Its class (`Linear`). */
  class: string;
  /** The instances around it and itself, joined by `/`. */
  path: string;
  /** How many modules are around it. */
  depth: number;
  /** Position of the module around it in the list. */
  parent: number | null;
  /** How often it was called; `None` where the file only gives hierarchy texts. */
  occurrences: number | null;
  /** Outermost operators run by itself. */
  operators: number;
  /** Outermost operators run by itself and its child modules. */
  operators_total: number;
  /** Floating-point operations of its operators and those of its child modules, forward only. */
  flops_total: number;
  /** The same less its child modules. */
  flops_self: number;
  /** Host time of its calls. */
  host_total_ns: number;
  /** The same less its child modules. */
  host_self_ns: number;
  /** Device time launched by it. */
  device_total_ns: number;
  /** The same less its child modules. */
  device_self_ns: number;
  /** Host time of the backward operators of its forward operators, child modules included. */
  backward_host_ns: number;
  /** The same less its child modules. */
  backward_host_self_ns: number;
  /** Device time launched by those backward operators, child modules included. */
  backward_device_ns: number;
  /** The same less its child modules. */
  backward_device_self_ns: number;
}

/** The modules of one class together. */
export interface ModuleClassRow {
  name: string;
  modules: number;
  occurrences: number;
  host_self_ns: number;
  device_self_ns: number;
  backward_device_self_ns: number;
}

/** Where all device time went; the four parts add up to `device_ns`. */
export interface ModulesLedger {
  /** Sum of the durations of all device work. */
  device_ns: number;
  forward_device_ns: number;
  /** Under the backward operator of a module's operator. */
  backward_device_ns: number;
  /** Launched outside of every module (optimizer, loss, gradients without a forward link). */
  outside_device_ns: number;
  /** Without a known launch. */
  unlinked_device_ns: number;
  /** Host calls and operators that overlap their neighbor without nesting: their module may be wrong. */
  misnested: number;
}

/** A counter that changed its level. */
export interface Mover {
  /** What it counts. */
  name: string;
  /** The device, if it is one of several. */
  device: string | null;
  /** Its unit, as the counter has it. */
  unit: "percent" | "bytes" | "bytes_per_second" | "watts" | "celsius" | "megahertz" | "joules" | "count";
  /** Its median before. */
  before: number;
  /** Its median after. */
  after: number;
  /** The change by how much the counter wanders. */
  score: number;
}

/** Names of slices, in the order they were asked for. */
export interface Names {
  names: string[];
}

/** Who takes whose result. */
export interface NeighborEdge {
  /** The node whose result is taken. */
  from: number;
  /** The node that takes it. */
  to: number;
}

/** An instruction near the one asked for. */
export interface NeighborRow {
  /** Its number. */
  node: number;
  /** Its name. */
  name: string;
  /** The compiler's word for it. */
  opcode: string;
  /** How far, and on which side. */
  hop: number;
  /** The shape of its result. */
  shape: string;
  /** Where the framework says it comes from. */
  op_path: string | null;
  /** The file of its line. */
  file: string | null;
  /** Its line of source code. */
  line: number | null;
  /** What it is for the most part, if it ran. */
  category: string | null;
  /** Its own time, if it ran. */
  self_ns: number | null;
  /** How often it ran. */
  calls: number | null;
  /** Of all time. */
  share: number | null;
  /** What is fused into it. */
  fused: string | null;
  /** How many instructions are. */
  inside: number;
  /** What it takes that is not here. */
  more_operands: number;
  /** Who takes its result and is not here. */
  more_users: number;
}

/** Why device work has no cost. */
export type NoCost = "communication" | "no_model" | "no_operator" | "not_recorded";

/** A node of a graph, over all replays. */
export interface NodeRow {
  graph: string;
  /** Its place in the order of the first replay, from 1. */
  node: number;
  name: string;
  /** In how many replays. */
  replays: number;
  total_ns: number;
  /** Its share of all nodes' time in its graph. */
  share: number;
  mean_ns: number;
  p50_ns: number;
  /** The 95th percentile. */
  p95_ns: number;
  max_ns: number;
  /** How long nothing of the replay ran before it, on average. */
  before_ns: number;
}

export interface NoteInfo {
  code: string;
  /** `lost`, `repaired` or `info`. */
  severity: string;
  count: number;
  sentence: string;
  /** Byte offsets in the text of the first few. */
  offsets: number[];
  /** What was seen at the first of them. */
  detail: string;
}

/** Why a request could not be met. */
export type Obstacle = "fragmentation" | "set apart" | "shortage";

/** One refused request. */
export interface OomRow {
  /** Which, counted from 1. */
  refusal: number;
  /** The device. */
  device: number;
  /** When. */
  at_ns_refused: number | null;
  /** Asked for. */
  asked_bytes: number;
  /** In use then. */
  allocated_bytes: number;
  /** Taken from the device then. */
  reserved_bytes: number;
  /** Reserved and free then. */
  free_bytes: number;
  /** In one piece. */
  largest_free_bytes: number;
  /** What the device had left. */
  device_free_bytes: number;
  /** What was missing. */
  missing_bytes: number;
  why: Obstacle;
  /** Whether the device had room, so that a limit on the process refused. */
  limited: boolean;
  /** Whether segments could grow. */
  expandable_segments: boolean;
  /** Whether segments that grow would have served it. */
  expandable_segments_help: boolean;
  /** Who asked. */
  function: string;
  /** The file. */
  file: string;
  /** The line. */
  line: number;
  /** All of it, as a colleague would tell it. */
  told: string;
}

/** What a row is about. */
export type OpKind = "memory" | "op" | "annotation" | "runtime" | "driver" | "kernel" | "memcpy" | "memset" | "overhead";

export interface OpRow {
  /** The name; steps share `ProfilerStep*`. */
  name: string;
  /** The shapes of the inputs, if asked for. */
  input_shapes: string | null;
  /** Python frames from the innermost, if asked for. */
  stack: string[] | null;
  /** The overload, if asked for and known. */
  overload: string | null;
  /** What the row is about. */
  kind: OpKind;
  /** Calls, with those folded into their caller of the same name left out. */
  calls: number;
  /** Host time from start to end, over all calls. */
  host_total_ns: number;
  /** Host time less that of everything called directly. */
  host_self_ns: number;
  /** Device time of the calls and of all they called. */
  device_total_ns: number;
  /** Device time of the calls themselves. */
  device_self_ns: number;
  /** Host total of one call, on average. */
  host_mean_ns: number;
  /** Device total of one call, on average. */
  device_mean_ns: number;
  /** Half of the calls take no longer on the host; none for rows of device work. */
  host_p50_ns: number | null;
  /** 95% of the calls take no longer. */
  host_p95_ns: number | null;
  /** 99% of the calls take no longer. */
  host_p99_ns: number | null;
  /** The longest call on the host. */
  host_max_ns: number | null;
  /** Standard deviation of the calls' host times / their mean. */
  host_cv: number | null;
  /** Host bytes allocated less those freed while the calls ran, on any thread. */
  host_memory_bytes: number;
  /** The same less that of everything called directly. */
  host_self_memory_bytes: number;
  /** Device bytes allocated less those freed while the calls ran, on any thread. */
  device_memory_bytes: number;
  /** The same less that of everything called directly. */
  device_self_memory_bytes: number;
  /** Floating-point operations, where a formula is known. */
  flops: number;
  /** Can use tensor cores, or called something that can. */
  tc_eligible: boolean;
  /** The part of `device_self_ns` on tensor cores; none without device time. */
  tc_self_share: number | null;
  /** The part of `device_total_ns` on tensor cores; none without device time. */
  tc_total_share: number | null;
}

/** What is open. The page asks for it first, and every report holds it. */
export interface Opened {
  /** The version of this program. */
  version: string;
  /** Whether new traces appear by themselves. */
  watching: boolean;
  runs: Listed[];
  /** Whether baselines are open beside the runs, or instead of them. */
  history: boolean;
  /** Set if what is open was written by a service that is watched. */
  service: ServiceOpened | null;
  /** Why the last look for traces failed, if it did. */
  problem: Problem | null;
  /** Set in a report: what it is, and what was left out of it. */
  report?: ReportMade;
}

/** What ranks do together. */
export type Operation = "all_gather" | "all_reduce" | "all_to_all" | "barrier" | "broadcast" | "gather" | "other" | "reduce" | "reduce_scatter" | "scatter" | "send_receive";

/** One kind of operator on one device. */
export interface OperatorMemory {
  name: string;
  device: string;
  /** How often it ran, with or without allocating. */
  calls: number;
  /** Allocations by it and everything it called. */
  allocation_count: number;
  allocated_bytes: number;
  /** Bytes released by it and everything it called. */
  freed_bytes: number;
  increase_bytes: number;
  self_allocation_count: number;
  self_allocated_bytes: number;
  /** Bytes released by itself. */
  self_freed_bytes: number;
  /** Allocated less freed by itself. */
  self_increase_bytes: number;
}

/** Where the time of a table went, in and out of its rows. */
export interface OpsTotals {
  total_host_self_ns: number;
  total_device_self_ns: number;
  device_time_in_ops_ns: number;
  device_time_in_annotations_ns: number;
  device_time_unlinked_ns: number;
  device_time_elsewhere_ns: number;
  device_time_overlap_ns: number;
  device_time_by_launch_ns: number;
}

/** What a module is known by. */
export type Origin = "hierarchy-text" | "none" | "python-calls";

/** Why a row is faster than its roofline. */
export type OverPeak = "arithmetic" | "cache" | "host_bus";

/** How a latency compares with the one before it. */
export type Pace = "faster" | "same" | "slow" | "slower";

/** The import of a package. */
export interface PackageImport {
  package: string;
  import_ns: number;
}

/** Two of several runs compared. */
export interface PairRow {
  /** The one named first. */
  before: string;
  after: string;
  /** Whether the other is faster. */
  verdict: ComparisonVerdict;
  /** Its time as a multiple of the first's. */
  ratio: number | null;
  /** The lowest ratio that 95% confidence allows. */
  low: number | null;
  high: number | null;
  /** What the interval rests on, in words. */
  rests_on: string;
}

/** Why a step is flagged as partial. */
export type Partial = "cut" | "little_device_work" | "no_device_work" | "pause";

/** The parts of some time. All but `wall_ns` and `gpu_busy_ns` exclude each other and add up to `wall_ns`. */
export interface Parts {
  /** The time that is shared out. */
  wall_ns: number;
  kernel_ns: number;
  memcpy_ns: number;
  memset_ns: number;
  communication_ns: number;
  /** The host was in a runtime or driver call. */
  runtime_ns: number;
  /** The host waited for its next batch. */
  data_loading_ns: number;
  /** The host was in an operator or a named range. */
  host_ns: number;
  /** None of it: nothing recorded, Python calls, profiler overhead, categories unknown here. */
  other_ns: number;
  /** Any device work ran. */
  gpu_busy_ns: number;
}

/** Where time on the path was spent. */
export type PathClass = "communication" | "copy" | "data_loading" | "host" | "kernel" | "allocation" | "idle" | "launch" | "synchronization";

/** Time of a class. */
export interface PathClassRow {
  class: PathClass;
  /** Its time on the path. */
  on_path_ns: number;
  /** Its part of the path. */
  share: number;
}

/** The critical path between two moments. */
export interface PathPieces {
  pieces: Stretch[];
}

/** Time of one name on the path. */
export interface PathRow {
  /** A kernel, operator, range or call; what kind of gap, where there is no slice. */
  name: string;
  /** Where it was spent. */
  class: PathClass;
  /** How many pieces of the path. */
  pieces: number;
  /** Its time on the path. */
  on_path_ns: number;
  /** Its part of the path. */
  share: number;
}

/** What lived at the peak, by the operator that allocated it. */
export interface PeakRow {
  device: string;
  operator: string;
  bytes: number;
  count: number | null;
  share: number;
}

/** What lived at the peak, by operator and Python stack. */
export interface PeakStackRow {
  device: string;
  operator: string;
  stack: string[];
  bytes: number;
  count: number | null;
}

/** How a device's peaks were found. */
export type PeaksBy = "capability" | "name";

/** One kind of work in every phase. */
export interface PhaseRow {
  category: Category;
  /** Kernels, copies and memsets. */
  calls: number;
  /** Device time in the forward pass. */
  forward_ns: number;
  /** In the backward pass. */
  backward_ns: number;
  /** In forward operators that the backward pass runs again. */
  recompute_ns: number;
  /** In the optimizer's update. */
  update_ns: number;
  /** In none of these. */
  other_ns: number;
  /** All of it: the five phases add up to it. */
  total_ns: number;
  /** The same per step. */
  step_ns: number;
  /** `total_ns` of all device time; none without any. */
  share: number | null;
}

/** All device time of the selection, and the steps it is divided by. */
export interface PhaseTotals {
  /** Summed over the rows. */
  total_device_ns: number;
  /** Launched outside of the steps; in no row. */
  outside_steps_ns: number;
  /** How many steps `step_ns` is per. */
  steps: number;
}

/** What a picture is about. */
export interface PictureHead {
  /** What the horizontal axis counts. */
  axis: MemoryAxis;
  from: number;
  to: number;
  /** Bytes at the lower edge. */
  low: number;
  /** Bytes at the upper edge. */
  high: number;
  columns: number;
  rows: number;
  /** States that are shown. */
  states: number;
  runs: number;
  /** Allocations in at least one pixel. */
  drawn: number;
  /** Allocations alive in some state of the window. */
  alive: number;
  /** Lines by their pixels, the most first. Those beyond the last share the number after it. */
  places: DrawnPlace[];
  /** How many lines are not named. */
  other_places: number;
}

/** One piece of the path. */
export interface PieceRow {
  /** A kernel, operator, range or call; what kind of gap, where there is no slice. */
  name: string;
  /** Where it was spent. */
  class: PathClass;
  start_ns: number;
  /** How long it is. */
  dur_ns: number;
  /** The thread or stream of the slice. */
  lane: string | null;
  /** The slice's number in this file. */
  slice: number | null;
}

/** A format that hardware has a peak rate for. */
export type Precision = "bf16" | "fp16" | "fp32" | "fp4" | "fp64" | "fp8" | "int8" | "tf32";

/** An error for people: a sentence on what is wrong, and one on what to do. */
export interface Problem {
  /** What is wrong, without a period. */
  message: string;
  /** What to do; empty if nothing can be done. */
  hint: string;
}

/** The memory of a process over time. */
export interface ProcessMemory {
  process: number | null;
  /** `RSS` or `PSS`. */
  measure: string;
  process_first_bytes: number;
  process_peak_bytes: number;
  process_peak_at_ns: number;
  process_last_bytes: number;
  /** Over time, the highest of every few looks. */
  points: ProcessPoint[];
}

/** A look at a process. */
export interface ProcessPoint {
  at_ns: number;
  /** How much memory it had. */
  process_bytes: number;
}

/** What a profile holds. */
export interface ProfileInfo {
  sampled_stacks: number;
  different_stacks: number;
  /** Functions that are named. */
  named_functions: number;
  /** Functions whose calls were counted. */
  counted_functions: number;
  /** Lines that were timed. */
  timed_lines: number;
  /** What its samples count, in words. */
  values: string[];
  /** Its threads, processes or recordings. */
  parts: string[];
}

/** What the profiler was asked to record. `None`: the file does not say. */
export interface ProfilerOptions {
  /** Input shapes. */
  record_shapes: boolean | null;
  /** Python stacks. */
  with_stack: boolean | null;
  /** Allocations. */
  profile_memory: boolean | null;
  /** FLOP counts. */
  with_flops: boolean | null;
  /** Module hierarchy. */
  with_modules: boolean | null;
}

/** By the clock of the program's host. */
export interface ProgramPhases {
  /** From its first line to the end of its first iteration, without the recorder's own time. */
  start_up_ns: number;
  /** What it did meanwhile; `None` if its stacks were not sampled. */
  start_up: StartUpParts | null;
  /** Iterations after the first that were not steady yet, or were recorded as the beginning of the program. */
  warm_up_iterations: number;
  warm_up_ns: number;
  /** Iterations after that; more than one entry where they changed for long. */
  steady: SteadyIterations[];
  /** Iterations that took several times as long as their neighbors: a validation, a checkpoint. */
  pauses: number;
  pauses_ns: number;
  /** From the last iteration to the program's end; `None` if it had not ended when this was written. */
  after_last_ns: number | null;
}

/** The program and computation that the instruction is in. */
export interface ProgramPlace {
  program: string;
  program_id: number;
  computation: string;
  /** The instruction that holds or calls that computation. */
  caller: string | null;
}

/** What a program was given. */
export interface ProgramPlanRow {
  /** The program. */
  program: string;
  /** Its number. */
  program_id: number;
  /** Whether it ran while the profile was recorded. */
  ran: boolean;
  argument_bytes: number;
  result_bytes: number;
  aliased_bytes: number;
  constant_bytes: number;
  temporary_bytes: number;
  planned_bytes: number;
  program_peak_bytes: number | null;
  /** The instruction at which that is. */
  peak_at: string | null;
  live_buffers: number;
}

export interface RecordingInfo {
  name: string;
  start_ns: number;
  /** How long it took. */
  dur_ns: number;
}

/** Enough to show a slice and to go to it. */
export interface Ref {
  /** Its number; an instant's has [`INSTANT`] set. */
  id: number;
  name: string;
  category: number;
  row: number;
  start_ns: number;
  /** How long it takes. */
  dur_ns: number;
}

/** A request that could not be met. */
export interface RefusalAt {
  /** The state that it left. */
  state: number;
  /** When, since the first entry. */
  at_ns: number | null;
  /** Bytes that were asked for. */
  asked_bytes: number;
}

/** A request that was refused. */
export interface RefusalRow {
  /** The device. */
  device: number;
  /** Asked for. */
  asked_bytes: number;
  /** What the device had left. */
  device_free_bytes: number;
  /** In use then. */
  allocated_bytes: number;
  /** Taken from the device then. */
  reserved_bytes: number;
  /** Reserved and free then. */
  free_bytes: number;
  /** In one piece. */
  largest_free_bytes: number;
  why: Obstacle;
}

/** A question without an answer. */
export interface Refused {
  error: Problem;
}

/** All ranges of one name. */
export interface RegionRow {
  name: string;
  /** Calls that began in the selection. */
  calls: number;
  /** Host time from start to end; a range inside one of its own name counts once. */
  host_ns: number;
  /** Of that, what began in the steps, per step. */
  host_step_ns: number;
  /** Device work that it owns, with that of the ranges inside. */
  device_ns: number;
  /** The same without the ranges inside. */
  device_self_ns: number;
  /** Of `device_ns`, what the steps launched, per step. */
  device_step_ns: number;
  /** Device time by PyTorch's rule. */
  pytorch_device_ns: number;
  /** Device time of the backward operators of its forward operators. */
  backward_device_ns: number;
  /** `device_ns` of all device time; none without any. */
  share: number | null;
}

/** A region over time. */
export interface RegionSeries {
  /** Its name. */
  name: string;
  /** Time in it without regions inside, all requests of the point together. */
  time_ns: number[];
  /** Its share of the time of all requests. */
  share: number;
  /** Half of them took no longer. */
  p50_ns: number | null;
  /** 95%. */
  p95_ns: number | null;
}

/** Where all device time went; the three parts add up to it. */
export interface RegionsLedger {
  total_device_ns: number;
  /** Owned by a range. */
  in_regions_ns: number;
  /** Of that, launched by threads of the backward pass while the main thread waited in the range. */
  handed_over_ns: number;
  /** Launched outside of every range. */
  outside_ns: number;
  /** Without a known launch. */
  unlinked_ns: number;
}

/** How a slice belongs to another. */
export type Relation = "backward" | "device work" | "forward" | "launched by" | "launches" | "operator";

/** One replay. */
export interface ReplayRow {
  change: string;
  measured_ns: number;
  predicted_ns: number;
  saves_ns: number;
  saves_share: number;
  saves_unprofiled_ns: number;
  saves_unprofiled_share: number;
  speedup: number;
  replay_error: number;
  device_slices_changed: number;
}

export interface ReplayedStep {
  step: number;
  /** How long it took. */
  measured_ns: number;
  /** How long it takes in the replay. */
  replayed_ns: number;
  /** Whether the recording probably lacks device work of it. */
  partial: boolean;
}

/** A report in one file. */
export interface ReportMade {
  /** What it was made of. */
  made: string;
  /** What it lacks, in words. */
  left_out: string[];
}

/** A device and its peaks. */
export interface RooflineDevice {
  device: number | null;
  /** Its product name, if the file says. */
  name: string | null;
  /** Its peaks, if the table has it or one like it. */
  hardware: Hardware | null;
  /** How its peaks were found. */
  peaks_by: PeaksBy | null;
}

/** One operator, or one operator with one set of shapes. */
export interface RooflineRow {
  name: string;
  /** What kind of work it does. */
  family: Family;
  /** Sizes of its inputs, if rows are by shape. */
  input_shapes: string | null;
  /** Types of its inputs, if rows are by shape. */
  input_types: string | null;
  /** What products run in; `None` if its calls differ. */
  precision: Precision | null;
  /** What products run in; for other work, the type of its tensors. `None` if its calls differ. */
  dtype: Precision | null;
  calls: number;
  /** Kernels, copies and memsets. */
  kernels: number;
  device_ns: number;
  /** Device time / all device time. */
  share: number | null;
  flops: number;
  /** Bytes read and written. */
  bytes: number;
  /** FLOPs / device time. */
  tflops: number | null;
  /** Bytes / device time. */
  gbs: number | null;
  intensity: number | null;
  /** The roofline time; `None` if the device is not known. */
  ideal_ns: number | null;
  /** What takes most of it. */
  bound: Bound | null;
  /** Ideal / device time. */
  of_roofline: number | null;
  /** Time of the FLOPs at peak / device time. */
  of_compute_peak: number | null;
  /** Time of the bytes at peak / device time. */
  of_bandwidth: number | null;
  /** What to think of it where it is faster than its roofline. */
  note: OverPeak | null;
}

/** All rows together. */
export interface RooflineTotals {
  device_ns: number;
  modelled_ns: number;
  modelled_share: number | null;
  flops: number;
  bytes: number;
  ideal_ns: number | null;
  modelled_gbs: number | null;
}

/** A change that makes room, by an estimate. */
export interface RoomRow {
  /** The change. */
  change: string;
  /** How much lower the peak of the run with the largest batch would be. */
  saved_bytes: number;
  /** Whatever the batch. */
  fixed_bytes: number;
  /** Per sample. */
  bytes_per_sample: number;
  /** The limit that the batch is for. */
  limit_bytes: number;
  /** The largest batch with the change. */
  largest_batch: number | null;
  /** How it was worked out, and what it costs. */
  arithmetic: string;
}

/** One route. */
export interface RouteRow {
  /** Its name. */
  route: string;
  /** Its numbers. */
  now: Summary;
  /** Its numbers in the period before. */
  before: Summary | null;
  /** Its p95 over time. */
  p95_ns: (number | null)[];
  /** Its share of the time of all requests. */
  time_share: number;
  /** The region whose time per request grew most. */
  grew: Grown | null;
}

export interface Row {
  /** Frames from the outermost to the leaf, joined by `;`. */
  stack: string;
  value_ns: number;
  /** How many slices gave time to it. */
  count: number;
}

/** One row in an area. */
export interface RowBusy {
  row: number;
  /** Time in which anything stands on it. */
  busy_ns: number;
}

export interface RowInfo {
  id: number;
  group: number;
  /** Its name in the group. */
  label: string;
  /** Its place in the group, from 0. */
  depth: number;
  /** Slices or instants on it. */
  count: number;
  /** The first start. */
  first_ns: number;
  /** The last end. */
  last_ns: number;
}

export interface RunInfo {
  /** The path as given. */
  path: string;
  /** What the content turned out to be. */
  format: string;
  stored_bytes: number;
  /** Bytes of text after decompression. */
  text_bytes: number;
  /** The worker, from a TensorBoard-style file name. */
  worker: string | null;
  /** The span, from a TensorBoard-style file name. */
  span: string | null;
  /** The framework, if the file shows it. */
  framework: string | null;
  /** Its version, if the file says. */
  framework_version: string | null;
  /** Other versions the file gives (`cuda_runtime_version`, …), in file order. */
  versions: [string, string][];
  /** Devices as the profiler described them. */
  devices: DeviceInfo[];
  /** Place in a distributed job, if any. */
  distributed: Distributed | null;
  /** What the profiler was asked to record. */
  options: ProfilerOptions;
  /** Nanoseconds since the Unix epoch at which the file's clock starts, if the file says. */
  base_ns: number | null;
  /** The trace's first event on the file's clock; all times count from it. */
  origin_ns: number;
  /** Earliest start of any slice but recording windows. */
  first_ns: number | null;
  /** Latest end of any slice but recording windows. */
  last_ns: number | null;
  extent_ns: number;
  recordings: RecordingInfo[];
  /** Names of the profiler's steps in order of time, each once. */
  steps: string[];
  /** Slices and points by category and meaning, sorted. */
  categories: CategoryInfo[];
  /** Host processes with slices. */
  processes: number;
  /** Host threads with slices. */
  threads: number;
  /** Device streams with work. */
  streams: number;
  /** Every lane: host first, in order of process and thread. */
  lanes: LaneInfo[];
  /** What was kept, repaired and set aside, the gravest first. */
  notes: NoteInfo[];
  /** Whether everything in the file is accounted for. */
  ledger: EventsLedger;
  /** Bytes held in memory. */
  heap_bytes: number;
  /** The same by slice, point and flow end; `None` without any. */
  bytes_per_event: number | null;
}

/** A run of some batch. */
export interface RunRow {
  run: string;
  batch: number;
  /** The most in use. */
  peak_allocated_bytes: number;
  /** The most reserved; none where the file does not say. */
  peak_reserved_bytes: number | null;
  /** How far off the line. */
  off_bytes: number;
}

/** How far a run is from being asked about. */
export type RunState = "failed" | "loading" | "ready" | "waiting";

/** A piece of a sentence. */
export type SentencePiece = SentenceTime | string;

/** A moment, or a stretch of time, in minutes since 1970. */
export interface SentenceTime {
  /** The moment, or where the stretch begins. */
  from: number;
  /** Where the stretch ends. */
  until: number | null;
  /** The day of this minute goes without saying. */
  near: number;
}

/** A service over a stretch of time. */
export interface ServiceDashboard {
  /** What the service's directory is called. */
  name: string;
  /** What to know first. */
  verdict: ServiceVerdict;
  /** The first minute, in minutes since 1970. */
  from: number;
  /** The minute after the last one. */
  until: number;
  /** The first minute that the directory may have anything of. */
  first: number | null;
  /** The last one. */
  last: number | null;
  /** When the newest request was written, in nanoseconds since 1970. */
  newest_ns: number | null;
  /** Minutes per point. */
  point_minutes: number;
  /** The first minute of each point, those without requests included. */
  minutes: number[];
  /** The route that all of this is about; none: all. */
  route: string | null;
  /** Processes that answered. */
  processes: number;
  /** What rates divide by: the period without what is before the first count or after now, in seconds. */
  counted_seconds: number;
  /** A latency that differs by less than this share from the one before is the same. */
  changed_share: number;
  /** Numbers of the whole period. */
  total: Summary;
  /** The same in the period before. */
  total_before: Summary | null;
  /** The first minute of the period before. */
  compared_from: number | null;
  /** Each route, whatever is chosen. */
  routes: RouteRow[];
  /** Requests over time. */
  series: ServiceSeries;
  /** Latencies over time. */
  heat: HeatMap;
  /** Where the time went. */
  regions: RegionSeries[];
  /** Each target. */
  targets: TargetSeries[];
  /** Machine, GPUs and processes. */
  counters: CounterSeries[];
  /** Where a level changed. */
  changes: LevelChange[];
  /** Some requests, the slowest first. */
  exemplars: Exemplar[];
  /** Levels that changed and rules that fired, the oldest first. */
  happened: Happening[];
  /** What was left out, or could not be read. */
  notes: string[];
  /** What the numbers mean. */
  definitions: Definition[];
}

/** Something worth a sentence. */
export interface ServiceMatter {
  /** What it is about. */
  kind: ServiceMatterKind;
  /** How bad it is. */
  tone: ServiceTone;
  /** In two or three words. */
  word: string;
  /** The sentence, with times in UTC. */
  sentence: string;
  /** The same sentence in pieces, with times apart. */
  pieces: SentencePiece[];
  /** Since when, in minutes since 1970. */
  since: number | null;
  /** Until when, if it is over. */
  until: number | null;
  /** How many minutes of the period that is; unknown where it began earlier. */
  minutes: number | null;
  /** The route; none: several. */
  route: string | null;
  /** The region that grew most. */
  grew: Grown | null;
}

/** What a sentence is about. */
export type ServiceMatterKind = "errors" | "fine" | "silence" | "slow" | "target";

/** A watched service. */
export interface ServiceOpened {
  name: string;
}

/** Requests over time. */
export interface ServiceSeries {
  /** How many ended. */
  requests: number[];
  /** How many failed. */
  errors: number[];
  /** Half of them took no longer. */
  p50_ns: (number | null)[];
  /** 90%. */
  p90_ns: (number | null)[];
  /** 95%. */
  p95_ns: (number | null)[];
  /** 99%. */
  p99_ns: (number | null)[];
  /** The slowest. */
  max_ns: (number | null)[];
}

/** How bad something is. */
export type ServiceTone = "bad" | "good" | "none" | "warn";

/** What there is to say about a service, the worst first. */
export interface ServiceVerdict {
  /** What it is about. */
  kind: ServiceMatterKind;
  /** How bad it is. */
  tone: ServiceTone;
  /** In two or three words. */
  word: string;
  /** The sentence, with times in UTC. */
  sentence: string;
  /** The same sentence in pieces, with times apart. */
  pieces: SentencePiece[];
  /** Since when, in minutes since 1970. */
  since: number | null;
  /** Until when, if it is over. */
  until: number | null;
  /** How many minutes of the period that is; unknown where it began earlier. */
  minutes: number | null;
  /** The route; none: several. */
  route: string | null;
  /** The region that grew most. */
  grew: Grown | null;
  /** The target that is missed because of it. */
  detail: string | null;
  /** Counters that changed their level with it, the clearest first; unknown where there are too few points. */
  movers: Mover[] | null;
  /** Which of the examples shows it, counted from 0. */
  example: number | null;
  /** What else there is to say, the worst first. */
  also: ServiceMatter[];
}

/** How much a finding matters, by the part of a step it could save. */
export type Severity = "high" | "info" | "low" | "medium";

/** The pages with something to show about a run. */
export interface ShownPages {
  pages: string[];
}

/** A slice of the trace that shows it. */
export interface ShownSlice {
  name: string;
  start_ns: number;
  /** How long it is. */
  dur_ns: number;
  /** The slice; in machine output its number in this file. */
  slice: number;
}

/** Where a collective runs. */
export type Side = "device" | "host";

/** One of several runs. */
export interface SideRow {
  /** What it is called. */
  run: string;
  recordings: number;
  steps: number;
  mean_ns: number;
  /** The shortest step that at least half of the steps do not exceed. */
  p50_ns: number;
  /** The shortest step that at least 95% of the steps do not exceed. */
  p95_ns: number;
  /** The mean step's samples; unknown where the program did not say. */
  samples_per_step: number | null;
  samples_per_s: number | null;
  /** The share of the steps in which devices were busy. */
  gpu_utilization: number | null;
  /** The share of the devices' peak arithmetic that the steps use. */
  mfu: number | null;
  /** The most memory that was allocated on a device. */
  peak_allocated_bytes: number | null;
  /** The most memory that was reserved on a device. */
  peak_reserved_bytes: number | null;
  /** The energy of all devices per step, in joules. */
  energy_j_per_step: number | null;
  /** Whether it is faster than the first; none for the first. */
  verdict: ComparisonVerdict | null;
  /** Its time as a multiple of the first's. */
  ratio: number | null;
  /** The lowest ratio that 95% confidence allows. */
  low: number | null;
  high: number | null;
}

/** A file of the program. */
export interface SourceFile {
  file: string;
  /** Its text; none where it cannot be read here. */
  text: string | null;
  /** Whether it was written after the run was recorded. */
  changed: boolean;
  /** What amounts are. */
  unit: AmountUnit;
  /** Lines that ran, or were seen. */
  lines: LineOfSource[];
  /** Functions that start in it. */
  functions: FunctionOfSource[];
}

/** One line and its text. */
export interface SourceLine {
  /** The function it is in. */
  function: string;
  file: string | null;
  /** The line the function starts at, where that is known. */
  function_line: number | null;
  line: number;
  /** How often it ran. */
  hits: number | null;
  time_ns: number | null;
  samples: number | null;
  bytes: number | null;
  per_hit_ns: number | null;
  /** Its share of its function. */
  share: number;
  /** Its share of the profile. */
  profile_share: number;
  /** The line's text, where the file could be read. */
  source: string | null;
}

/** One line and its text. */
export interface SourceMemory {
  function: string;
  file: string;
  /** The line it starts at. */
  function_line: number;
  /** The line; 0 where the whole function is meant. */
  line: number;
  /** How often it ran. */
  occurrences: number;
  /** The most of the process that was in memory after it. */
  memory_bytes: number;
  /** What was in memory after it and not before, over all its runs. */
  increment_bytes: number;
  /** Bytes that the line itself allocated, or what it called outside the user's code. */
  allocated_bytes: number;
  /** The line's text, where the file could be read. */
  source: string | null;
}

/** How the durations of a row are spread. */
export interface Spread {
  /** Half of them take no longer. */
  p50_ns: number;
  /** 95% of them take no longer. */
  p95_ns: number;
  /** 99% of them take no longer. */
  p99_ns: number;
  max_ns: number;
  /** Standard deviation / mean; none if the mean is zero. */
  cv: number | null;
}

/** What a program did before its first iteration ended: what of this its main thread was in. */
export interface StartUpParts {
  imports_ns: number;
  /** The packages that the program imports itself and that take longest, each with all that it imports in turn. */
  longest_imports: PackageImport[];
  /** Making a model and loading its weights. */
  weights_ns: number;
  /** Getting a device ready. */
  device_start_ns: number;
  compilation_ns: number;
}

/** Iterations that took about the same time. */
export interface SteadyIterations {
  iterations: number;
  /** What one took on average without a profiler; `None` if all of them were recorded. */
  iteration_ns: number | null;
}

export interface StepInfo {
  /** Its number; -1 for a whole trace. */
  step: number;
  name: string;
  start_ns: number;
  end_ns: number;
}

/** The step of one side. */
export interface StepSide {
  recordings: number;
  steps: number;
  mean_ns: number;
  /** The shortest step that at least half of the steps do not exceed. */
  p50_ns: number;
  /** The shortest step that at least 95% of the steps do not exceed. */
  p95_ns: number;
  /** The device whose time is divided among the rows; none where the main thread's is. */
  device: number | null;
}

/** One step's use of the devices' arithmetic. */
export interface StepUse {
  step: number;
  /** Its wall time, device work included. */
  wall_ns: number;
  /** Whether the recording probably lacks device work of it. */
  partial: boolean;
  /** FLOPs of products, convolutions and attention, less what is recomputed. */
  model_flops: number;
  /** What fused attention and activation checkpointing compute again. */
  recomputed_flops: number;
  /** The arithmetic that has most of them. */
  precision: Precision | null;
  /** Its peak on one device. */
  peak_tflops: number | null;
  /** Devices that ran any. */
  devices: number;
  /** Model FLOPs / what the devices could do in the wall time. */
  mfu: number | null;
  /** The same with the recomputed ones. */
  hfu: number | null;
  /** The share of kernel time whose FLOPs are known; `None` without kernels. */
  coverage: number | null;
  /** Whether so little is covered that both utilizations are lower bounds. */
  lower_bound: boolean;
}

/** What stands for a step where none are marked. */
export type StepsFoundBy = "compiled_function" | "data_loader" | "device_program" | "engine" | "graph" | "kernel" | "module" | "optimizer" | "range";

/** A run that is being read: ask again. */
export interface StillLoading {
  run: number;
  state: RunState;
  read_bytes: number;
  /** 0 if unknown. */
  total_bytes: number;
}

/** One stream's gaps by HTA's classes. */
export interface StreamGapsRow {
  device: number | null;
  stream: number | null;
  /** Kernels, copies and memsets. */
  slices: number;
  /** Their time, overlaps counted once. */
  busy_ns: number;
  /** Launched after the work before had ended. */
  host_wait_ns: number;
  /** Launched before, and a gap under 30 µs. */
  kernel_wait_ns: number;
  /** Launched before, and a longer gap; or no launch recorded. */
  other_ns: number;
}

/** A stream with its device. */
export interface StreamRow {
  device: number | null;
  stream: number | null;
  busy_ns: number;
  kernel_busy_ns: number;
  /** Kernel busy / window. */
  utilization: number | null;
  /** How many kernels, in the whole trace. */
  kernels: number;
  /** How many copies, in the whole trace. */
  memcpy: number;
  /** How many fills, in the whole trace. */
  memset: number;
}

export interface StreamUse {
  stream: number | null;
  busy_ns: number;
  kernel_busy_ns: number;
  /** Kernel busy / window. */
  utilization: number | null;
  /** How many kernels, in the whole trace. */
  kernels: number;
  /** How many copies, in the whole trace. */
  memcpy: number;
  /** How many fills, in the whole trace. */
  memset: number;
}

/** One stretch of the path; several pieces where they are too short to be told apart. */
export interface Stretch {
  /** The longest piece's name; empty where no slice stands behind it. */
  name: string;
  class: PathClass;
  start_ns: number;
  /** From the first piece's start to the last one's end. */
  dur_ns: number;
  slice: number | null;
  /** How many pieces. */
  count: number;
}

/** Numbers of some requests. */
export interface Summary {
  /** How many there were. */
  requests: number;
  /** How many per second. */
  per_second: number;
  /** Those that failed. */
  errors: number;
  /** Their share. */
  error_rate: number;
  /** Mean latency. */
  mean_ns: number;
  /** The latency that half of them did not exceed. */
  p50_ns: number;
  /** 90%. */
  p90_ns: number;
  /** 95%. */
  p95_ns: number;
  /** 99%. */
  p99_ns: number;
  /** 99.9%. */
  p999_ns: number;
  /** The longest. */
  max_ns: number;
  /** How far quantiles may be off, as a share. */
  quantile_error: number;
}

/** A target over time. */
export interface TargetSeries {
  /** The route. */
  route: string;
  /** The target: `p95<100ms`. */
  target: string;
  /** The share of requests that may miss it. */
  allowed: number;
  /** Requests that it was held against. */
  requests: number;
  /** Those that missed it. */
  missed: number;
  /** Whether that is fine. */
  kept: boolean;
  /** What is left of the error budget of the period: 1 is all, below 0 it is overdrawn. Unknown where nothing is allowed. */
  budget_left: number | null;
  /** How fast the budget is used up, over stretches that end with the period. */
  burn: Burn[];
  /** `fast` or `slow` where a short and a long stretch agree that the budget will not last. */
  alert: "fast" | "slow" | null;
  /** How fast its budget was used up at each point. */
  burn_over_time: (number | null)[];
}

/** One task of an event loop, or several of the same name. */
export interface TaskRow {
  /** Its name, and its coroutine. */
  task: string;
  /** The thread of its loop. */
  thread: string;
  process: string;
  /** Time in which it ran. */
  running_ns: number;
  /** Its share of the time in which any task ran. */
  share: number;
  /** When it was first seen. */
  first_ns: number;
  /** When it was last seen. */
  last_ns: number;
}

/** One device's time as HTA's temporal breakdown names it. */
export interface TemporalRow {
  device: number | null;
  idle_ns: number;
  compute_ns: number;
  /** Other work that no compute kernel hides. */
  non_compute_ns: number;
  kernel_time_ns: number;
}

/** Whether a kernel uses tensor cores (AMD: matrix cores), told by its name. */
export type TensorCores = "no" | "unknown" | "yes";

export interface ThreadRow {
  /** Its name and number. */
  thread: string;
  process: string;
  /** How long it was sampled. */
  seen_ns: number;
  /** The share of that with the lock. */
  holds_share: number;
  /** The share at work without it. */
  without_share: number;
  /** The share spent waiting for it. */
  waits_share: number;
  /** The share spent waiting for something else. */
  idle_share: number;
  /** Time with the lock. */
  holds_ns: number;
  /** Time at work without it. */
  without_ns: number;
  /** Time spent waiting for it. */
  waits_ns: number;
  /** Time spent waiting for something else. */
  idle_ns: number;
}

/** One row. */
export interface TopRow {
  name: string;
  per_step_ns: number;
  of_step: number;
  kernels_per_step: number | null;
  of_roofline: number | null;
}

/** A change to the program of a trace, whose saving `stepscope try` has measured. */
export interface TriedFix {
  /** Its name, as rules know it. */
  name: string;
  /** The mean iteration without the change. */
  without_ns: number;
  /** The mean iteration with it. */
  with_ns: number;
  /** What it saves as a share of an iteration. */
  saves_share: number;
  /** From where to where that may lie. */
  saves_interval: [number, number] | null;
  /** `faster`, `slower`, `no_difference` or `inconclusive`. */
  verdict: string;
  /** What it does to results: `same`, `within_noise`, `differs`, `not_a_number` or `unknown`. */
  numbers: string;
}

/** What a counter counts. */
export type Unit = "bytes" | "count" | "other" | "share";

/** Device work without a cost, by the operator that launched it (by its own name where none did). */
export interface UnmodelledRow {
  /** The operator, or the kernel. */
  name: string;
  /** Why it has none. */
  reason: NoCost;
  /** Kernels, copies and memsets. */
  kernels: number;
  device_ns: number;
  /** Device time / all device time. */
  share: number | null;
}

/** A sentence on what a run is bound by. */
export interface Verdict {
  text: string;
  /** How bad it is. */
  grade: Grade;
  /** What the run is bound by: `gpu`, `host`, `data_loading`, `communication`, and so on. */
  bound_by: string;
  /** The share of the time for which nobody can say what the device did. */
  unknown_share: number;
}

/** What a call waits for. */
export type WaitKind = "blocking_copy" | "free" | "full_queue" | "result" | "stream" | "device" | "event";

/** Waits that come from the same place. */
export interface WaitRow {
  /** What the program asked for: the outermost operator, or the nearest named range. */
  op: string | null;
  /** The call that waits. */
  call: string;
  /** What it waits for. */
  kind: WaitKind;
  calls: number;
  /** How often in a step, on average over all steps. */
  calls_per_step: number;
  /** Time the device made it wait. */
  wait_ns: number;
  /** Time in the calls. */
  total_ns: number;
  max_wait_ns: number;
  /** Python frames from the innermost, of the longest wait; empty unless stacks were recorded. */
  stack: string[];
  /** The longest wait's call: where it starts. */
  longest_start_ns: number;
}

/** All waits together. */
export interface WaitsTotals {
  calls: number;
  wait_ns: number;
  steps: number;
  wall_ns: number;
}

/** Which time a stack is worth. */
export type Weight = "device-self" | "host-self";

export interface XprofHloRow {
  /** The number of its program; 0 for an operator outside of any. */
  program: number;
  /** What sort of instruction it is. */
  category: string;
  hlo: string;
  framework_op: string;
  /** How many pieces of device work it ran as. */
  occurrences: number;
  total_ns: number;
  /** The same, for one time. */
  mean_ns: number;
  /** Without instructions inside: the same on GPUs. */
  self_ns: number;
  /** Its share of the devices' time, idle time included. */
  share: number;
}

/** One kernel, launched one way. */
export interface XprofKernelRow {
  kernel: string;
  /** Registers of a thread. */
  registers: number | null;
  /** Shared memory of a block. */
  shared_bytes: number | null;
  /** Threads of a block. */
  block: string;
  grid: string;
  /** The most warps that its resources allow, as a share of what the device can hold. */
  occupancy: number | null;
  /** Whether its operator is expected to be able to use tensor cores. */
  tensor_core_eligible: boolean;
  /** Whether it is taken to use them. */
  uses_tensor_cores: boolean;
  op: string;
  /** How often it ran. */
  occurrences: number;
  total_ns: number;
  /** The same, for one time, in whole nanoseconds. */
  mean_ns: number;
  min_ns: number;
  max_ns: number;
}

/** One allocator at its highest level. */
export interface XprofMemoryRow {
  allocator: string;
  changes: number;
  /** The most it ever had in use, before the recording too. */
  lifetime_peak_bytes: number;
  /** The most it had in use or set aside while recording. */
  peak_bytes: number;
  /** When that was, for the last time. */
  peak_at_ns: number;
  /** Bytes in use then. */
  heap_bytes: number;
  /** Bytes set aside then. */
  stack_bytes: number;
  /** Bytes it could still hand out then. */
  free_bytes: number;
  /** How far its free memory was scattered then, from 0 to 1; none if it had no free memory. */
  fragmentation: number | null;
  /** All of these together. */
  capacity_bytes: number;
}

export interface XprofOpRow {
  side: XprofSide;
  type: string;
  operation: string;
  /** How often it ran. */
  occurrences: number;
  /** With what it called. */
  total_ns: number;
  /** The same, for one time. */
  mean_ns: number;
  /** Without what it called. */
  self_ns: number;
  /** Its share of its side's time, idle time included. */
  share: number;
  /** Its share of its side's time without idle time; none for idle time itself. */
  busy_share: number | null;
}

/** Where an operator ran. */
export type XprofSide = "device" | "host";

export interface XprofStepRow {
  /** What XProf calls it. */
  step: string;
  time_ns: number;
  /** None of the others. */
  all_others_ns: number;
  /** Compiling on the host. */
  compilation_ns: number;
  /** Copies from the device. */
  output_ns: number;
  /** Waiting for input, and copies to the device. */
  input_ns: number;
  kernel_launch_ns: number;
  /** Other work of the host. */
  host_compute_ns: number;
  device_collectives_ns: number;
  /** Copies between devices and within one. */
  device_to_device_ns: number;
  /** Kernels whose names do not say that they use 16 bits. */
  device_compute_32_ns: number;
  /** Kernels whose names say so. */
  device_compute_16_ns: number;
}

export interface XprofSummary {
  /** How many steps count. */
  steps: number;
  /** How many were left out at the ends. */
  left_out: number;
  /** The mean of their lengths. */
  mean_ns: number;
  /** The standard deviation of their lengths. */
  sd_ns: number;
  min_ns: number;
  max_ns: number;
  /** The share of input. */
  input_share: number;
  /** The share of other time. */
  all_others_share: number;
  /** The share of compute that is 16-bit. */
  compute_16_share: number;
  input_bound: InputBound;
}

/** An answer to `account`. */
export interface AccountAnswer extends AnswerFrame {
  causes: CauseRow[];
  devices: AccountRow[];
  steps: AccountRow[];
  synthetic: boolean;
  verdict: Verdict | null;
}

/** An answer to `code`. */
export interface CodeAnswer extends AnswerFrame {
  code: CodeRow[];
  device_ns: number;
  wait_ns: number;
  wall_ns: number;
}

/** An answer to `collectives`. */
export interface CollectivesAnswer extends AnswerFrame {
  collectives: CollectiveRow[];
  totals: CollectivesTotals;
}

/** An answer to `compile`. */
export interface CompileAnswer extends AnswerFrame {
  health: Health[];
  regions: CompiledRegion[];
}

/** An answer to `compile`. */
export interface CompileByEager extends AnswerFrame {
  eager: EagerRow[];
}

/** An answer to `compile`. */
export interface CompileByKernel extends AnswerFrame {
  kernels: GeneratedRow[];
}

/** An answer to `compile`. */
export interface CompileByPhase extends AnswerFrame {
  phases: CompilePhase[];
}

/** An answer to `critical-path`. */
export interface CriticalPathAnswer extends AnswerFrame {
  classes: PathClassRow[];
  wall_ns: number;
  path: PathRow[];
}

/** An answer to `critical-path`. */
export interface CriticalPathByPiece extends AnswerFrame {
  classes: PathClassRow[];
  wall_ns: number;
  pieces: PieceRow[];
}

/** An answer to `diff`. */
export interface DiffAnswer extends AnswerFrame {
  causes: CauseChange[];
  rows: ChangeRow[];
  figures: MetricRow[];
  findings: FindingChange[];
  before: StepSide;
  after: StepSide;
  delta_ns: number;
  judged: Judged;
  unlike: string[];
}

/** An answer to `findings`. */
export interface FindingsAnswer extends AnswerFrame {
  findings: Finding[];
  step_ns: number;
  unprofiled_step_ns: number;
  unprofiled_step_low_ns: number;
  unprofiled_step_high_ns: number;
  step_measured: boolean;
  step_text: string;
  steps: number;
  could_not_look: CouldNotLook[];
  worst: Severity | null;
}

/** An answer to `functions`. */
export interface FunctionsAnswer extends AnswerFrame {
  functions: FunctionRow[];
  unit: AmountUnit;
  value: string;
  total: number;
  samples: number | null;
  waiting_ns: number | null;
  calls: number | null;
  primitive_calls: number | null;
}

/** An answer to `functions`. */
export interface FunctionsCallees extends AnswerFrame {
  callees: EdgeRow[];
  unit: AmountUnit;
}

/** An answer to `functions`. */
export interface FunctionsCallers extends AnswerFrame {
  callers: EdgeRow[];
  unit: AmountUnit;
}

/** An answer to `gaps`. */
export interface GapsAnswer extends AnswerFrame {
  kinds: GapKindRow[];
  culprits: CulpritRow[];
  gaps: GapRow[];
  streams: StreamGapsRow[];
  totals: GapsTotals;
}

/** An answer to `gpu`. */
export interface GpuAnswer extends AnswerFrame {
  gpu: GpuRow[];
  streams: StreamRow[];
}

/** An answer to `graphs`. */
export interface GraphsAnswer extends AnswerFrame {
  graphs: GraphRow[];
  calls_without_work: number;
}

/** An answer to `graphs`. */
export interface GraphsByNode extends AnswerFrame {
  nodes: NodeRow[];
  calls_without_work: number;
}

/** An answer to `hlo`. */
export interface HloAnswer extends AnswerFrame {
  instructions: InstructionRow[];
  totals: InstructionsTotals;
}

/** An answer to `hlo`. */
export interface HloAround extends AnswerFrame {
  nodes: NeighborRow[];
  inside: FusedRow[];
  edges: NeighborEdge[];
  within: ProgramPlace;
}

/** An answer to `hta`. */
export interface HtaAnswer extends AnswerFrame {
  breakdown: TemporalRow[];
}

/** An answer to `hta`. */
export interface HtaByCriticalPath extends AnswerFrame {
  critical_path: HtaPathRow[];
}

/** An answer to `hta`. */
export interface HtaByIdle extends AnswerFrame {
  idle: HtaIdleRow[];
}

/** An answer to `hta`. */
export interface HtaByLaunches extends AnswerFrame {
  launches: HtaLaunchesRow[];
}

/** An answer to `hta`. */
export interface HtaByQueue extends AnswerFrame {
  queue: HtaQueueRow[];
}

/** An answer to `info`. */
export interface InfoAnswer extends AnswerFrame {
  info: RunInfo;
  found_steps: FoundSteps | null;
}

/** An answer to `info`. */
export interface InfoOfProfile extends AnswerFrame {
  profile: ProfileInfo;
  info: RunInfo;
}

/** An answer to `kernels`. */
export interface KernelsAnswer extends AnswerFrame {
  kernels: KernelRow[];
  copies: CopyRow[];
  totals: KernelsTotals;
}

/** An answer to `kernels`. */
export interface KernelsByCopies extends AnswerFrame {
  copies: CopyRow[];
  totals: KernelsTotals;
}

/** An answer to `launches`. */
export interface LaunchesAnswer extends AnswerFrame {
  launches: LaunchRow[];
}

/** An answer to `launches`. */
export interface LaunchesByQueue extends AnswerFrame {
  queue: DeviceQueuePoint[];
}

/** An answer to `lines`. */
export interface LinesAnswer extends AnswerFrame {
  lines: SourceLine[];
  unit: AmountUnit;
  total: number;
}

/** An answer to `loading`. */
export interface LoadingAnswer extends AnswerFrame {
  loading: LoadingRow[];
  operators: LoaderOp[];
  workers: boolean | null;
  range: string | null;
  totals: LoadingTotals;
}

/** An answer to `memory`. */
export interface MemoryAcross extends AnswerFrame {
  across: AcrossRow[];
}

/** An answer to `memory`. */
export interface MemoryAnswer extends AnswerFrame {
  devices: DeviceMemory[];
  process: ProcessMemory[];
  programs?: ProgramPlanRow[];
  buffers?: LiveBufferRow[];
  records: number;
  range_ns?: [number, number];
  operators: OperatorMemory[];
}

/** An answer to `memory`. */
export interface MemoryByBuffer extends AnswerFrame {
  buffers: LiveBufferRow[];
}

/** An answer to `memory`. */
export interface MemoryByEvent extends AnswerFrame {
  devices: DeviceMemory[];
  process: ProcessMemory[];
  programs?: ProgramPlanRow[];
  buffers?: LiveBufferRow[];
  records: number;
  range_ns?: [number, number];
  events: Event[];
}

/** An answer to `memory`. */
export interface MemoryByLine extends AnswerFrame {
  line_memory: SourceMemory[];
}

/** An answer to `memory`. */
export interface MemoryByPeak extends AnswerFrame {
  devices: DeviceMemory[];
  process: ProcessMemory[];
  programs?: ProgramPlanRow[];
  buffers?: LiveBufferRow[];
  records: number;
  range_ns?: [number, number];
  peak: PeakRow[];
}

/** An answer to `memory`. */
export interface MemoryByProgram extends AnswerFrame {
  programs: ProgramPlanRow[];
}

/** An answer to `memory`. */
export interface MemoryByStack extends AnswerFrame {
  devices: DeviceMemory[];
  process: ProcessMemory[];
  programs?: ProgramPlanRow[];
  buffers?: LiveBufferRow[];
  records: number;
  range_ns?: [number, number];
  peak: PeakStackRow[];
}

/** An answer to `memory`. */
export interface MemoryFit extends AnswerFrame {
  largest: LargestRow[];
  fit: FitRow[];
  runs: RunRow[];
  changes: RoomRow[];
}

/** An answer to `memory`. */
export interface MemoryLeaks extends AnswerFrame {
  leaks: LeakRow[];
  full: FullRow[];
  left_lines: HeapLineRow[];
  looked_at: LookedAtRow[];
  total_growth_bytes_each: number;
  iterations: number | null;
  iteration_ns: number | null;
}

/** An answer to `memory`. */
export interface MemoryLive extends AnswerFrame {
  live: LiveRow[];
  moment_ns?: number | null;
}

/** An answer to `memory`. */
export interface MemoryOfProfile extends AnswerFrame {
  peak_bytes: number;
  peak_at_ns: number;
  end_bytes: number;
  peak_rss_bytes: number | null;
  sample_bytes: number;
  recorded_ns: number;
  earlier_at_ns: number | null;
  allocators?: DeviceRow[];
  refusals?: RefusalRow[];
  heap_lines: HeapLineRow[];
  curve: MemoryPoint[];
}

/** An answer to `memory`. */
export interface MemoryOfProfileByLine extends AnswerFrame {
  peak_bytes: number;
  peak_at_ns: number;
  end_bytes: number;
  peak_rss_bytes: number | null;
  sample_bytes: number;
  recorded_ns: number;
  earlier_at_ns: number | null;
  allocators?: DeviceRow[];
  refusals?: RefusalRow[];
  line_memory: SourceMemory[];
}

/** An answer to `memory`. */
export interface MemoryOfProfileByStack extends AnswerFrame {
  peak_bytes: number;
  peak_at_ns: number;
  end_bytes: number;
  peak_rss_bytes: number | null;
  sample_bytes: number;
  recorded_ns: number;
  earlier_at_ns: number | null;
  allocators?: DeviceRow[];
  refusals?: RefusalRow[];
  heap_stacks: HeapStackRow[];
  curve: MemoryPoint[];
}

/** An answer to `memory`. */
export interface MemoryOutOfMemory extends AnswerFrame {
  out_of_memory: OomRow[];
  holders: HolderRow[];
}

/** An answer to `modules`. */
export interface ModulesAnswer extends AnswerFrame {
  modules: Module[];
  ledger: ModulesLedger;
  origin: Origin;
}

/** An answer to `modules`. */
export interface ModulesByClass extends AnswerFrame {
  modules: ModuleClassRow[];
  ledger: ModulesLedger;
  origin: Origin;
}

/** An answer to `ops`. */
export interface OpsAnswer extends AnswerFrame {
  ops: OpRow[];
  annotations: OpRow[];
  calls: OpRow[];
  memory_outside: OpRow | null;
  totals: OpsTotals;
}

/** An answer to `phases`. */
export interface PhasesAnswer extends AnswerFrame {
  phases: PhaseRow[];
  totals: PhaseTotals;
}

/** An answer to `regions`. */
export interface RegionsAnswer extends AnswerFrame {
  regions: RegionRow[];
  ledger: RegionsLedger;
}

/** An answer to `roofline`. */
export interface RooflineAnswer extends AnswerFrame {
  roofline: RooflineRow[];
  unmodelled: UnmodelledRow[];
  steps: StepUse[];
  devices: RooflineDevice[];
  mean_mfu: number | null;
  mean_hfu: number | null;
  coverage: number | null;
  lower_bound: boolean;
  totals: RooflineTotals;
}

/** An answer to `serving`. */
export interface ServingAnswer extends AnswerFrame {
  kinds: KindRow[];
  iterations: Iteration[];
  found_by: FoundBy;
  span_ns: number;
  between_ns: number;
  on_other_threads: number;
}

/** An answer to `diff`. */
export interface SideBySide extends AnswerFrame {
  runs: SideRow[];
  pairs: PairRow[];
  by: ComparedBy;
  sentence: string;
  unlike: string[];
}

/** An answer to `stacks`. */
export interface StacksAnswer extends AnswerFrame {
  stacks: Row[];
  weight: Weight;
  total_ns: number;
}

/** An answer to `stacks`. */
export interface StacksOfProfile extends AnswerFrame {
  stacks: FoldedRow[];
  unit: AmountUnit;
  total: number;
}

/** An answer to `steps`. */
export interface StepsAnswer extends AnswerFrame {
  average: Parts | null;
  spread: Spread | null;
  synthetic: boolean;
  found: FoundSteps | null;
  device_slices_outside: number;
  steps: BreakdownRow[];
}

/** An answer to `steps`. */
export interface StepsByDevice extends AnswerFrame {
  average: Parts | null;
  spread: Spread | null;
  synthetic: boolean;
  found: FoundSteps | null;
  device_slices_outside: number;
  steps: DeviceStep[];
}

/** An answer to `summary`. */
export interface SummaryAnswer extends AnswerFrame {
  steps: BreakdownRow[];
  causes: CauseOfStep[];
  top: TopRow[];
  gpu: GpuRow[];
  ops: OpRow[];
  regions: OpRow[];
  kernels: KernelRow[];
  copies: CopyRow[];
  memory: DeviceMemory[];
  findings: Finding[];
  info: RunInfo;
  hot_functions: HotFunction[];
  verdict: Verdict | null;
  uncovered: string | null;
  could_not_look: CouldNotLook[];
  step_ns: number;
  samples_per_step: number | null;
  samples_per_s: number | null;
  unprofiled_step_ns: number | null;
  unprofiled_step_low_ns: number | null;
  unprofiled_step_high_ns: number | null;
  phases: ProgramPhases | null;
  phases_text: string | null;
  notes: NoteInfo[];
  unit: AmountUnit;
}

/** An answer to `summary`. */
export interface SummaryOfHeap extends AnswerFrame {
  heap_lines: HeapLineRow[];
  left_lines: HeapLineRow[];
  advice: Advice[];
  of_device: string | null;
  peak_bytes: number;
  peak_at_ns: number;
  end_bytes: number;
  peak_rss_bytes: number | null;
  notes: NoteInfo[];
}

/** An answer to `summary`. */
export interface SummaryOfProfile extends AnswerFrame {
  hot_functions: HotFunction[];
  hot_lines: HotLine[];
  findings: Finding[];
  verdict: Verdict | null;
  notes: NoteInfo[];
  unit: AmountUnit;
}

/** An answer to `threads`. */
export interface ThreadsAnswer extends AnswerFrame {
  threads: ThreadRow[];
  processes: LockRow[];
  tasks: TaskRow[];
}

/** An answer to `transfers`. */
export interface TransfersAnswer extends AnswerFrame {
  transfers: BusRow[];
}

/** An answer to `waits`. */
export interface WaitsAnswer extends AnswerFrame {
  waits: WaitRow[];
  totals: WaitsTotals;
}

/** An answer to `what-if`. */
export interface WhatIfAnswer extends AnswerFrame {
  what_if: ReplayRow[];
  steps: ReplayedStep[];
}

/** An answer to `xprof`. */
export interface XprofAnswer extends AnswerFrame {
  summary: XprofSummary;
  steps: XprofStepRow[];
}

/** An answer to `xprof`. */
export interface XprofByHlo extends AnswerFrame {
  hlo: XprofHloRow[];
}

/** An answer to `xprof`. */
export interface XprofByKernels extends AnswerFrame {
  kernels: XprofKernelRow[];
}

/** An answer to `xprof`. */
export interface XprofByMemory extends AnswerFrame {
  memory: XprofMemoryRow[];
}

/** An answer to `xprof`. */
export interface XprofByOps extends AnswerFrame {
  ops: XprofOpRow[];
}

/** The forms of answers, by question. */
export interface Answers {
  summary: SummaryAnswer | SummaryOfProfile | SummaryOfHeap;
  findings: FindingsAnswer;
  "what-if": WhatIfAnswer;
  account: AccountAnswer;
  steps: StepsAnswer | StepsByDevice;
  "critical-path": CriticalPathAnswer | CriticalPathByPiece;
  regions: RegionsAnswer;
  phases: PhasesAnswer;
  ops: OpsAnswer;
  kernels: KernelsAnswer | KernelsByCopies;
  hlo: HloAnswer | HloAround;
  modules: ModulesAnswer | ModulesByClass;
  code: CodeAnswer;
  functions: FunctionsAnswer | FunctionsCallers | FunctionsCallees;
  lines: LinesAnswer;
  stacks: StacksAnswer | StacksOfProfile;
  threads: ThreadsAnswer;
  serving: ServingAnswer;
  compile: CompileAnswer | CompileByKernel | CompileByEager | CompileByPhase;
  gaps: GapsAnswer;
  launches: LaunchesAnswer | LaunchesByQueue;
  waits: WaitsAnswer;
  loading: LoadingAnswer;
  transfers: TransfersAnswer;
  gpu: GpuAnswer;
  collectives: CollectivesAnswer;
  graphs: GraphsAnswer | GraphsByNode;
  roofline: RooflineAnswer;
  memory: MemoryAnswer | MemoryByEvent | MemoryByPeak | MemoryByStack | MemoryByProgram | MemoryByBuffer | MemoryOfProfile | MemoryOfProfileByStack | MemoryByLine | MemoryOfProfileByLine | MemoryLive | MemoryLeaks | MemoryOutOfMemory | MemoryAcross | MemoryFit;
  hta: HtaAnswer | HtaByIdle | HtaByQueue | HtaByLaunches | HtaByCriticalPath;
  xprof: XprofAnswer | XprofByOps | XprofByKernels | XprofByHlo | XprofByMemory;
  info: InfoAnswer | InfoOfProfile;
  diff: DiffAnswer | SideBySide;
}

/** How questions group their rows, the default first. */
export const GROUPINGS = {
  account: ["cause", "step"],
  steps: ["breakdown", "device"],
  "critical-path": ["name", "piece"],
  ops: ["name", "shape", "shape-lists", "stack", "overload"],
  kernels: ["name", "op", "launch", "stream", "copies"],
  hlo: ["instruction", "category", "line", "path", "program"],
  modules: ["tree", "class"],
  code: ["function", "call"],
  stacks: ["host", "device"],
  compile: ["region", "kernel", "eager", "phase"],
  gaps: ["kind", "culprit", "gap", "stream"],
  launches: ["device", "queue"],
  graphs: ["graph", "node"],
  roofline: ["shape", "name"],
  memory: ["op", "event", "peak", "stack", "line", "module", "size", "category", "program", "buffer"],
  hta: ["breakdown", "idle", "queue", "launches", "critical-path"],
  xprof: ["steps", "ops", "kernels", "hlo", "memory"],
} as const;

/** Flags whose answers a report may hold beside the plain one. */
export const REPORT_FLAGS: readonly string[] = ["leaks", "oom"];

/** What the categories of slices are called, by number. */
export const CATEGORIES = ["operator", "Python", "annotation", "runtime call", "device wait", "matrix multiply", "attention", "elementwise", "reduction", "communication", "copy", "other kernel", "profiler overhead", "step", "data loading", "other"] as const;

/** An error budget that burns so many times too fast alerts at once, or soon. */
export const FAST_BURN_TIMES = 14.4;
export const SLOW_BURN_TIMES = 6;
