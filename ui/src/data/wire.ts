// What the server sends, written by a test of `crates/serve` from the Rust types: `make wire` writes it anew.
// What a member means is said there. All times are nanoseconds since the trace's first event.

export interface AccountRow {
  step: number;
  device: number | null;
  wall_ns: number;
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

export interface AcrossRow {
  device: number;
  name: string;
  levels: number[];
  grown_bytes_across: number;
  growth_bytes_per_snapshot: number;
}

export interface Advice {
  kind: string;
  place: string;
  function: string;
  bytes: number;
  change: string;
}

export interface AllocationDetails {
  id: number;
  address: string;
  bytes: number;
  requested_bytes: number;
  start_state: number;
  end_state: number | null;
  start_ns: number | null;
  end_ns: number | null;
  lifetime_ns: number | null;
  pending_ns: number | null;
  before: boolean;
  segment: string | null;
  segment_bytes: number | null;
  stream: number | null;
  pool: string | null;
  place: MemoryPlace;
  frames: FrameText[];
  more_frames: number;
}

export interface AllocatorMap {
  segments: MapSegment[];
  segment_count: number;
  largest_free_bytes: number;
  outside: number;
}

export type Amount = {
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

export type AmountUnit = "nanoseconds" | "bytes" | "samples";

export interface AnswerFrame {
  origin_ns: number;
  remarks: string[];
  definitions?: Definition[];
}

export interface Area {
  from_ns: number;
  to_ns: number;
  count: number;
  total_ns: number;
  names: AreaName[];
  names_more: number;
  rows_busy: RowBusy[];
}

export interface AreaName {
  name: string;
  category: number;
  count: number;
  total_ns: number;
  self_ns: number;
  share: number;
  longest: number;
}

export interface BaselineListed {
  name: string;
  measurements: number;
  metrics: string[];
}

export type BlockUse = "active" | "free" | "mixed" | "pending";

export type Bound = "compute" | "host_bus" | "memory";

export interface BreakdownRow {
  step: number;
  name: string;
  start_ns: number;
  wall_ns: number;
  kernel_ns: number;
  memcpy_ns: number;
  memset_ns: number;
  communication_ns: number;
  runtime_ns: number;
  data_loading_ns: number;
  host_ns: number;
  other_ns: number;
  gpu_busy_ns: number;
  partial: boolean;
  partial_reason: Partial | null;
}

export interface Burn {
  minutes: number;
  requests: number;
  missed: number;
  rate: number | null;
}

export interface BusRow {
  device: number | null;
  direction: Direction;
  memory: HostMemory;
  calls: number;
  bytes: number | null;
  total_ns: number;
  exposed_ns: number;
  host_ns: number;
  bytes_per_second: number | null;
  large_bytes_per_second: number | null;
  of_bus: number | null;
}

export type Category = "communication" | "gemm" | "convolution" | "attention" | "copy" | "memset" | "other" | "indexing" | "normalization" | "optimizer" | "pointwise" | "reduction";

export interface CategoryInfo {
  category: string;
  kind: string;
  count: number;
}

export type Cause = "kernel" | "communication" | "copy" | "fill" | "host_data_loading" | "host_operator" | "host_python" | "host_launch" | "host_synchronization" | "host_allocation" | "host_runtime" | "host_communication" | "host_compilation" | "host_first_use" | "host_garbage_collection" | "host_profiler" | "device_unrecorded" | "host_unrecorded" | "launch_latency" | "queued_gap" | "dependency" | "unlinked";

export interface CauseChange {
  cause: Cause;
  label: string;
  definition: string | null;
  before_ns: number;
  after_ns: number;
  delta_ns: number;
}

export interface CauseOfStep {
  device: number | null;
  cause: Cause;
  label: string;
  per_step_ns: number;
  of_step: number;
}

export interface CauseRow {
  device: number | null;
  cause: Cause;
  label: string;
  busy: boolean;
  total_ns: number;
  per_step_ns: number;
  share: number;
}

export type Change = "added" | "decreased" | "increased" | "removed" | "same";

export interface ChangeRow {
  change: Change;
  matched: MatchLevel;
  cause: Cause;
  module: string | null;
  backward: boolean;
  op: string | null;
  name: string;
  before_name: string | null;
  before_ns: number;
  after_ns: number;
  delta_ns: number;
  noise_ns: number | null;
  is_noise: boolean;
  before_count: number;
  after_count: number;
}

export interface Child {
  name: string;
  count: number;
  total_ns: number;
}

export type Clock = "host" | "device";

export interface CodeRow {
  function: string;
  file: string | null;
  line: number | null;
  called: string | null;
  calls: number;
  host_ns: number;
  wait_ns: number;
  wait_share: number;
  device_ns: number;
  backward_device_ns: number;
  device_share: number;
  device_work: number;
}

export interface CollectiveRow {
  operation: Operation;
  side: Side;
  dtype: string | null;
  group: string | null;
  ranks: number | null;
  bytes: number | null;
  calls: number;
  total_ns: number;
  mean_ns: number;
  p50_ns: number;
  algorithm_bytes_per_second: number | null;
  bus_factor: number | null;
  bus_bytes_per_second: number | null;
  exposed_ns: number;
}

export interface CollectivesTotals {
  calls: number;
  total_ns: number;
  exposed_ns: number;
  moved_bytes: number;
}

export type ComparedBy = "sample" | "step";

export interface ComparedDeviceRow {
  device: number;
  iterations: number | null;
  iteration_ns: number | null;
  enough: boolean;
  text: string;
}

export type ComparisonVerdict = "faster" | "inconclusive" | "no_difference" | "slower";

export interface CompilePhase {
  phase: string;
  calls: number;
  total_ns: number;
  self_ns: number;
}

export interface CompiledRegion {
  region: string;
  function: string | null;
  calls: number;
  breaks: number;
  host_ns: number;
  device_ns: number;
  backward_host_ns: number;
  backward_device_ns: number;
  device_slices: number;
  compile_ns: number | null;
}

export type Confidence = "high" | "low" | "medium";

export type CopyKind = "memcpy" | "memset";

export interface CopyRow {
  name: string;
  kind: CopyKind;
  calls: number;
  bytes: number | null;
  calls_with_bytes: number;
  total_ns: number;
  mean_ns: number;
  min_ns: number;
  max_ns: number;
  bytes_per_second: number | null;
}

export interface Counter {
  id: string;
  label: string;
  unit: Unit;
  suffix: string;
  device: number | null;
  definition: string;
  max: number;
  t: number[];
  lo: number[];
  hi: number[];
}

export interface CounterSeries {
  name: string;
  unit: "percent" | "bytes" | "bytes_per_second" | "watts" | "celsius" | "megahertz" | "joules" | "count";
  device: string | null;
  values: (number | null)[];
}

export interface CounterShift {
  name: string;
  device: string | null;
  unit: "percent" | "bytes" | "bytes_per_second" | "watts" | "celsius" | "megahertz" | "joules" | "count";
  before: number;
  after: number;
  score: number;
}

export interface Counters {
  counters: Counter[];
}

export interface Counts {
  baseline_repeats: number;
  current_repeats: number;
  baseline_values: number;
  current_values: number;
}

export interface CulpritRow {
  cause: Cause;
  culprit: string;
  pieces: number;
  idle_ns: number;
  share: number;
}

export interface CurvePoint {
  at_ns: number;
  allocated_bytes: number;
  reserved_bytes: number | null;
}

export interface Definition {
  field: string;
  label: string;
  text: string;
}

export interface Details {
  id: number;
  name: string;
  category: number;
  row: number;
  start_ns: number;
  dur_ns: number;
  kind: string;
  cat: string;
  group: string;
  self_ns: number;
  step: number | null;
  args: [string, string][];
  shapes: string | null;
  types: string | null;
  flops: number | null;
  stack: string[];
  parents: Ref[];
  children: Child[];
  links: Link[];
  links_more: number;
  op: string | null;
  kernel: boolean;
}

export interface DeviceInfo {
  index: number;
  name: string;
  total_memory_bytes: number | null;
  compute_capability: string | null;
  sms: number | null;
  warp_size: number | null;
}

export interface DeviceMemory {
  device: string;
  device_type: number | null;
  device_id: number | null;
  records: number;
  totals_from_file: boolean;
  lifetimes_from_file: boolean;
  opening_allocated_bytes: number;
  closing_allocated_bytes: number;
  peak_allocated_bytes: number;
  peak_at_ns: number;
  peak_reserved_bytes: number | null;
  peak_reserved_at_ns: number | null;
  allocation_count: number;
  allocated_bytes: number;
  free_count: number;
  freed_bytes: number;
  unmatched_frees: number;
  unmatched_free_bytes: number;
  still_live: number;
  still_live_bytes: number;
  unseen_releases: number;
  level_gaps: number;
  peak_known_bytes: number;
  peak_unknown_bytes: number;
  peak_by_operator: LiveOperator[];
  peak_by_stack: LiveStack[];
  curve: CurvePoint[];
  curve_sampled: boolean;
}

export interface DeviceQueuePoint {
  device: number | null;
  at_ns: number;
  queued: number;
}

export interface DeviceRow {
  device: number;
  allocated_bytes_now: number;
  allocated_bytes_peak: number;
  reserved_bytes_now: number;
  reserved_bytes_peak: number;
  pending_bytes: number;
  free_bytes: number;
  largest_free_bytes: number;
  segments_taken: number;
  segments_returned: number;
  unmatched: number;
}

export interface DeviceStep {
  step: number;
  name: string;
  device: number | null;
  start_ns: number;
  computation_ns: number;
  exposed_comm_ns: number;
  exposed_memcpy_ns: number;
  busy_ns: number;
  idle_ns: number;
  total_ns: number;
  total_comm_ns: number;
  total_memcpy_ns: number;
  slices: number;
  unlinked: number;
}

export type Direction = "host_to_device" | "device_to_host" | "device_to_device" | "other" | "peer";

export interface Distributed {
  backend: string | null;
  rank: number | null;
  world_size: number | null;
  nccl_version: string | null;
}

export interface DrawnLedger {
  slices: number;
  points: number;
  flows: number;
  drawn_slices: number;
  drawn_points: number;
  metadata_points: number;
  counter_points: number;
  events_in_file: number;
}

export interface DrawnPlace {
  place: MemoryPlace;
  share: number;
}

export interface EagerRow {
  name: string;
  calls: number;
  calls_per_step: number;
  in_regions: number;
  host_ns: number;
  device_ns: number;
}

export interface EdgeRow {
  caller: string;
  caller_place: string;
  callee: string;
  callee_place: string;
  calls: number | null;
  primitive_calls: number | null;
  self_ns: number | null;
  self_samples: number | null;
  self_bytes: number | null;
  total_ns: number | null;
  total_samples: number | null;
  total_bytes: number | null;
}

export interface ErrorReply {
  error: Problem;
}

export type Estimate = "model" | "none" | "replay" | "upper_bound";

export interface Event {
  device: string;
  operator: string | null;
  bytes: number;
  address: number | null;
  allocated_at_ns: number | null;
  released_at_ns: number | null;
  duration_ns: number | null;
}

export interface EventsLedger {
  events_in_file: number;
  slices: number;
  joined_pairs: number;
  points: number;
  flows: number;
  set_aside: number;
  skipped_bytes: number;
  closes: boolean;
}

export interface Evidence {
  label: string;
  value: Amount;
  definition: string;
}

export interface Exemplar {
  route: string;
  id: string;
  ended_ns: number;
  latency_ns: number;
  failed: boolean;
  samples: number;
  process: number;
  spans: KeptSpan[];
  stack: string[];
  profile: string | null;
  slow: boolean;
  key: number;
}

export type Family = "attention" | "compiled" | "convolution" | "copy" | "elementwise" | "gemm" | "loss" | "pooling" | "indexing" | "normalization" | "optimizer" | "reduction" | "softmax";

export interface Finding {
  rule: string;
  title: string;
  severity: Severity;
  confidence: Confidence;
  saves_ns: number | null;
  saves_share: number | null;
  saves_unprofiled_ns: number | null;
  saves_unprofiled_share: number | null;
  estimate: Estimate;
  measured: TriedFix | null;
  measured_text: string | null;
  evidence: Evidence[];
  why: string;
  fix: string;
  code: string | null;
  verify: string;
  source: string | null;
  slices: ShownSlice[];
  range_ns: [number, number] | null;
}

export interface FindingChange {
  change: FindingState;
  rule: string;
  title: string;
  before_saves_ns: number | null;
  after_saves_ns: number | null;
}

export type FindingState = "both" | "gone" | "new";

export interface FitRow {
  of: string;
  fixed_bytes: number;
  bytes_per_sample: number;
  residual_bytes: number | null;
}

export interface Flame {
  weight: FlameWeight;
  clock: Clock;
  unit: AmountUnit;
  total_ns: number;
  names: string[];
  name: number[];
  parent: number[];
  self_ns: number[];
  total_ns_of: number[];
  count: number[];
  category: number[];
  pruned_nodes: number;
  pruned_ns: number;
  deeper_slices: number;
}

export type FlameWeight = "device" | "host" | "module";

export interface FoldedRow {
  stack: string;
  amount: number;
}

export type FoundBy = "copies_to_host" | "device_range" | "forward_pass" | "graph_launch" | "nothing" | "python_call" | "range";

export interface FoundSteps {
  by: StepsFoundBy;
  name: string;
  apart: number;
  sentence: string;
}

export interface FrameText {
  function: string;
  file: string;
  line: number;
  python: boolean;
}

export interface FullRow {
  device: number;
  limit_bytes: number;
  known: boolean;
  iterations_left: number;
  left_ns: number | null;
  per: string;
}

export interface FunctionOfSource {
  name: string;
  line: number | null;
  calls: number | null;
  own: number;
  with_callees: number;
  with_callees_share: number;
  device_wait_ns: number | null;
  device_ns: number | null;
}

export interface FunctionRow {
  name: string;
  file: string | null;
  line: number | null;
  calls: number | null;
  primitive_calls: number | null;
  self_ns: number | null;
  self_samples: number | null;
  self_bytes: number | null;
  self_share: number;
  self_per_call_ns: number | null;
  total_ns: number | null;
  total_samples: number | null;
  total_bytes: number | null;
  total_share: number;
  total_per_call_ns: number | null;
  waiting_ns: number | null;
}

export interface FusedRow {
  name: string;
  opcode: string;
  shape: string;
  operands: string[];
  op_path: string | null;
  file: string | null;
  line: number | null;
}

export type GapKind = "dependency" | "end_of_step" | "host_late" | "launch_latency" | "queued_gap" | "unknown" | "unlinked";

export interface GapKindRow {
  device: number | null;
  kind: GapKind;
  gaps: number;
  idle_ns: number;
  max_ns: number;
  share_of_steps: number;
}

export interface GapRow {
  device: number | null;
  step: number;
  start_ns: number;
  idle_ns: number;
  kind: GapKind;
  cause: Cause;
  culprit: string | null;
  next: string | null;
  stack: string[];
}

export interface GapsTotals {
  gaps: number;
  idle_ns: number;
  wall_ns: number;
}

export interface GeneratedRow {
  kernel: string;
  region: string | null;
  backend: string | null;
  config: string | null;
  file: string | null;
  calls: number;
  total_ns: number;
  mean_ns: number;
  share: number;
}

export interface GpuRow {
  device: number | null;
  name: string | null;
  window_ns: number;
  busy_ns: number;
  kernel_busy_ns: number;
  utilization: number | null;
  sm_efficiency: number | null;
  occupancy: number | null;
  tensor_core_share: number | null;
  tensor_core_unknown_share: number | null;
  eligible_share: number | null;
  memory_bandwidth_share: number | null;
  sm_clock_min_mhz: number | null;
  sm_clock_mean_mhz: number | null;
  kernel_ns: number;
  tensor_core_ns: number;
  tensor_core_unknown_ns: number;
  eligible_ns: number;
  sm_known_ns: number;
  occupancy_known_ns: number;
  streams: StreamUse[];
}

export type Grade = "fair" | "good" | "poor";

export interface GraphRow {
  graph: string;
  recorded: boolean;
  replays: number;
  nodes: number;
  device_p50_ns: number;
  device_p95_ns: number;
  busy_ns: number;
  share: number;
  gap_ns: number;
  gap_share: number;
  call_p50_ns: number;
  call_ns: number;
  longest: string;
}

export interface GroupInfo {
  id: number;
  label: string;
  detail: string;
  kind: GroupKind;
  rows: number[];
  slices: number;
  derived: boolean;
}

export type GroupKind = "device" | "host" | "other" | "modules" | "steps";

export interface Hardware {
  name: string;
  fp64: number | null;
  fp64_matrix: number | null;
  fp32: number;
  fp32_matrix: number | null;
  tf32: number | null;
  fp16: number | null;
  bf16: number | null;
  fp8: number | null;
  int8: number | null;
  fp4: number | null;
  memory_gbs: number;
  memory_gb: number;
  units: number;
  host_bus_gbs: number;
  link_gbs: number | null;
}

export interface Health {
  steps: number;
  regions: number;
  calls_per_step: number;
  breaks_per_step: number;
  eager_per_step: number;
  host_ns: number;
  device_ns: number;
  device_share: number | null;
  lookups: number;
  lookup_ns: number;
  compiles: number;
  recompiles: number;
  compile_ns: number;
}

export interface HeapLineRow {
  function: string;
  file: string;
  line: number;
  peak_bytes: number;
  peak_share: number;
  peak_count: number;
  live_bytes: number;
  live_count: number;
  growth_bytes: number | null;
  allocated_bytes: number;
  allocations: number;
}

export interface HeapStackRow {
  stack: string[];
  peak_bytes: number;
  peak_share: number;
  peak_count: number;
  live_bytes: number;
  allocated_bytes: number;
  allocations: number;
}

export interface HeatMap {
  bounds_ns: number[];
  counts: number[][];
}

export interface HistoryChange {
  at: number;
  before: number;
  after: number;
  p: number;
  sentence: string;
}

export interface HistoryPoint {
  measured_at: string;
  commit: string | null;
  subject: string | null;
  value: number;
  low: number;
  high: number;
  runs: number;
}

export interface HitName {
  id: number;
  name: string;
  count: number;
  total_ns: number;
}

export interface Hits {
  query: string;
  total: number;
  total_ns: number;
  names: HitName[];
  names_more: number;
  hits: Ref[];
  density: number[];
}

export interface HolderRow {
  device: number;
  refusal: number;
  function: string;
  file: string;
  line: number;
  held_bytes: number;
  held_count: number;
  held_share: number;
  category: string;
}

export type HostMemory = "pageable" | "pinned" | "unknown";

export interface HotFunction {
  name: string;
  place: string;
  own: number;
  own_share: number;
  with_callees: number;
  with_callees_share: number;
  waited_ns: number | null;
}

export interface HotLine {
  function: string;
  place: string;
  on_line: number;
  on_line_share: number;
}

export type HtaBound = "cpu_bound" | "data_loading" | "dependency" | "gpu_communication_bound" | "gpu_compute_bound" | "gpu_kernel_kernel_overhead" | "gpu_kernel_launch_overhead";

export interface HtaIdleRow {
  device: number | null;
  stream: number | null;
  slices: number;
  host_wait_ns: number;
  kernel_wait_ns: number;
  other_ns: number;
  idle_ns: number;
}

export interface HtaLaunchesRow {
  launches: number;
  short: number;
  cpu_outliers: number;
  delay_outliers: number;
  uncounted: number;
}

export interface HtaPathRow {
  bound: HtaBound;
  edges: number;
  time_ns: number;
  share: number | null;
}

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

export type InputBound = "highly" | "moderately" | "not" | "potentially" | "unknown";

export interface Instant {
  state: number;
  at_ns: number | null;
  allocated_bytes: number;
  requested_bytes: number;
  pending_bytes: number;
  reserved_bytes: number;
  free_bytes: number;
  allocations: number;
  lines: LiveLine[];
  line_count: number;
  map: AllocatorMap;
}

export interface InstructionRow {
  name: string;
  program: string | null;
  program_id: number | null;
  opcode: string | null;
  category: string | null;
  on_device: boolean;
  calls: number;
  kernels: number;
  total_ns: number;
  self_ns: number;
  share: number;
  mean_ns: number;
  flops: number | null;
  bytes: number | null;
  tflops: number | null;
  gbs: number | null;
  of_peak_flops: number | null;
  of_peak_bandwidth: number | null;
  note: OverPeak | null;
  shape: string | null;
  op_path: string | null;
  source: string | null;
  file: string | null;
  line: number | null;
  fused: string | null;
  instructions: number;
  by_order_ns: number;
  first_ns: number;
  first_end_ns: number;
}

export interface InstructionsTotals {
  device_named_ns: number;
  device_unnamed_ns: number;
  device_by_order_ns: number;
  host_named_ns: number;
  host_unnamed_ns: number;
  programs: number;
}

export interface Iteration {
  name: string;
  kind: IterationKind;
  start_ns: number;
  wall_ns: number;
  host_ns: number | null;
  busy_ns: number;
  gap_ns: number | null;
  requests: number | null;
  tokens: number | null;
  context_tokens: number | null;
  generation_tokens: number | null;
}

export type IterationKind = "decode" | "prefill" | "mixed" | "unknown";

export interface KeptSpan {
  name: string;
  parent: number | null;
  start_ns: number;
  duration_ns: number;
}

export interface KernelRow {
  name: string;
  op: string | null;
  op_path: string | null;
  source: string | null;
  grid: string | null;
  block: string | null;
  registers: number | null;
  shared_memory_bytes: number | null;
  devices: number[];
  streams: number[];
  calls: number;
  total_ns: number;
  mean_ns: number;
  min_ns: number;
  max_ns: number;
  p50_ns: number;
  p95_ns: number;
  p99_ns: number;
  cv: number | null;
  share: number;
  blocks_per_sm: number | null;
  occupancy_percent: number | null;
  tensor_core: TensorCores;
}

export interface KernelsTotals {
  kernel_calls: number;
  kernel_ns: number;
  unlinked_ns: number;
  memcpy_ns: number;
  memset_ns: number;
  tensor_core_ns: number;
  tensor_core_unknown_ns: number;
}

export interface KindRow {
  kind: IterationKind;
  iterations: number;
  total_ns: number;
  share: number;
  wall_p50_ns: number;
  wall_p95_ns: number;
  wall_p99_ns: number;
  busy_share: number;
  tokens: number | null;
  tokens_per_second: number | null;
}

export interface LaneInfo {
  device: boolean;
  process: string;
  process_name: string;
  thread: string;
  thread_name: string;
  slices: number;
  other_slices: number;
  points: number;
  first_ns: number | null;
  last_ns: number | null;
}

export interface LargestRow {
  limit_bytes: number;
  known: boolean;
  largest_batch: number | null;
  largest_batch_low: number | null;
  largest_batch_high: number | null;
}

export interface LaunchRow {
  device: number | null;
  launches: number;
  delay_p50_ns: number;
  delay_p95_ns: number;
  delay_max_ns: number;
  latency_ns: number;
  call_p50_ns: number;
  calls_ns: number;
  kernels: number;
  short_kernels: number;
  short_kernels_ns: number;
  kernel_p50_ns: number;
  queue_mean: number;
  queue_max: number;
  dry_share: number;
  launch_bound_share: number;
}

export interface Layout {
  extent_ns: number;
  work_ns: [number, number];
  groups: GroupInfo[];
  rows: RowInfo[];
  categories: string[];
  ledger: DrawnLedger;
  steps: StepInfo[];
}

export interface LeakRow {
  device: number;
  function: string;
  file: string;
  line: number;
  growth_bytes_each: number;
  growth_low: number;
  growth_high: number;
  per: string;
  grown_bytes: number;
  held_bytes: number;
  held_count: number;
  compared: number;
  stack: string[];
}

export interface LevelChange {
  route: string;
  metric: "p50" | "p95";
  minute: number;
  before_ns: number;
  after_ns: number;
  pace: Pace;
  p: number;
  grew: RegionGrowth | null;
}

export interface LineOfSource {
  line: number;
  hits: number | null;
  amount: number;
  per_hit_ns: number | null;
  share: number;
}

export interface Link {
  relation: Relation;
  to: Ref;
}

export interface ListedRun {
  id: number;
  path: string;
  label: string;
  bytes: number | null;
  modified_ms: number | null;
  state: RunState;
  read_bytes: number;
  total_bytes: number;
  error: Problem | null;
  recording: boolean;
}

export interface LiveBufferRow {
  program: string;
  program_id: number;
  instruction: string;
  opcode: string;
  shape: string;
  buffer_bytes: number;
  buffer_share: number | null;
  kind: string;
  op_path: string | null;
  buffer_file: string | null;
  buffer_line: number | null;
}

export interface LiveLine {
  place: MemoryPlace;
  bytes: number;
  share: number;
  allocations: number;
  largest: number;
}

export interface LiveOperator {
  operator: string;
  bytes: number;
  count: number | null;
}

export interface LiveRow {
  device: number;
  name: string;
  live_bytes_then: number;
  requested_bytes: number;
  live_count_then: number;
  live_share: number;
}

export interface LiveStack {
  operator: string;
  frames: string[];
  bytes: number;
  count: number | null;
}

export interface LoaderOp {
  name: string;
  self_ns: number;
}

export interface LoadingRow {
  step: number;
  wall_ns: number;
  loading_ns: number;
  exposed_ns: number;
}

export interface LoadingTotals {
  loading_ns: number;
  exposed_ns: number;
  wall_ns: number;
}

export interface LockRow {
  process: string;
  threads: number;
  span_ns: number;
  held_ns: number;
  held_share: number;
  waiting_ns: number;
}

export interface MapBlock {
  state: BlockUse;
  bytes: number;
  allocation: number | null;
  blocks: number;
  used_bytes: number;
}

export interface MapSegment {
  address: string;
  bytes: number;
  allocated_bytes: number;
  pending_bytes: number;
  largest_free_bytes: number;
  blocks_in_use: number;
  stream: number | null;
  expandable: boolean;
  small: boolean | null;
  pool: string | null;
  blocks: MapBlock[];
}

export type MatchLevel = "alone" | "fused" | "kernel" | "module" | "moved" | "name" | "operator" | "operator_elsewhere" | "place";

export interface MemoryAbout {
  devices: MemoryDevice[];
  device_count: number;
  definitions: Definition[];
}

export type MemoryAxis = "entry" | "time";

export interface MemoryDevice {
  device: number;
  states: number;
  duration_ns: number | null;
  peak_state: number;
  peak_bytes: number;
  peak_reserved_bytes: number;
  allocations: number;
  before: number;
  segments: number;
  unmatched: number;
  pools: string[];
  pool_count: number;
  refusals: RefusalAt[];
  refusal_count: number;
}

export interface MemoryPlace {
  function: string;
  file: string;
  line: number;
  hash: number;
}

export interface MemoryPoint {
  at_ns: number;
  live_bytes: number | null;
  rss_bytes: number | null;
}

export type Method = {
  kind: "blocks";
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

export interface MetricHistory {
  baseline: string;
  metric: string;
  unit: MetricUnit;
  points: HistoryPoint[];
  changes: HistoryChange[];
  left_out: number;
}

export interface MetricRow {
  metric: string;
  unit: MetricUnit;
  before: number | null;
  after: number | null;
  delta: number | null;
  less_is_better: boolean | null;
}

export type MetricUnit = "nanoseconds" | "bytes" | "count" | "joules" | "per_second" | "share";

export interface Module {
  name: string;
  class: string;
  path: string;
  depth: number;
  parent: number | null;
  occurrences: number | null;
  operators: number;
  operators_total: number;
  flops_total: number;
  flops_self: number;
  host_total_ns: number;
  host_self_ns: number;
  device_total_ns: number;
  device_self_ns: number;
  backward_host_ns: number;
  backward_host_self_ns: number;
  backward_device_ns: number;
  backward_device_self_ns: number;
}

export interface ModuleClassRow {
  name: string;
  modules: number;
  occurrences: number;
  host_self_ns: number;
  device_self_ns: number;
  backward_device_self_ns: number;
}

export interface ModulesLedger {
  device_ns: number;
  forward_device_ns: number;
  backward_device_ns: number;
  outside_device_ns: number;
  unlinked_device_ns: number;
  misnested: number;
}

export interface Names {
  names: string[];
}

export interface NeighborEdge {
  from: number;
  to: number;
}

export interface NeighborRow {
  node: number;
  name: string;
  opcode: string;
  hop: number;
  shape: string;
  op_path: string | null;
  file: string | null;
  line: number | null;
  category: string | null;
  self_ns: number | null;
  calls: number | null;
  share: number | null;
  fused: string | null;
  inside: number;
  more_operands: number;
  more_users: number;
}

export type NoCost = "communication" | "no_model" | "no_operator" | "not_recorded";

export interface NodeRow {
  graph: string;
  node: number;
  name: string;
  replays: number;
  total_ns: number;
  share: number;
  mean_ns: number;
  p50_ns: number;
  p95_ns: number;
  max_ns: number;
  before_ns: number;
}

export interface NoteInfo {
  code: string;
  severity: string;
  count: number;
  sentence: string;
  offsets: number[];
  detail: string;
}

export type Obstacle = "fragmentation" | "set apart" | "shortage";

export interface OomRow {
  refusal: number;
  device: number;
  at_ns_refused: number | null;
  asked_bytes: number;
  allocated_bytes: number;
  reserved_bytes: number;
  free_bytes: number;
  largest_free_bytes: number;
  device_free_bytes: number;
  missing_bytes: number;
  why: Obstacle;
  limited: boolean;
  expandable_segments: boolean;
  expandable_segments_help: boolean;
  function: string;
  file: string;
  line: number;
  text: string;
}

export type OpKind = "memory" | "op" | "annotation" | "runtime" | "driver" | "kernel" | "memcpy" | "memset" | "overhead";

export interface OpRow {
  name: string;
  input_shapes: string | null;
  stack: string[] | null;
  overload: string | null;
  kind: OpKind;
  calls: number;
  host_total_ns: number;
  host_self_ns: number;
  device_total_ns: number;
  device_self_ns: number;
  host_mean_ns: number;
  device_mean_ns: number;
  host_p50_ns: number | null;
  host_p95_ns: number | null;
  host_p99_ns: number | null;
  host_max_ns: number | null;
  host_cv: number | null;
  host_memory_bytes: number;
  host_self_memory_bytes: number;
  device_memory_bytes: number;
  device_self_memory_bytes: number;
  flops: number;
  tc_eligible: boolean;
  tc_self_share: number | null;
  tc_total_share: number | null;
}

export type Operation = "all_gather" | "all_reduce" | "all_to_all" | "barrier" | "broadcast" | "gather" | "other" | "reduce" | "reduce_scatter" | "scatter" | "send_receive";

export interface OperatorMemory {
  name: string;
  device: string;
  calls: number;
  allocation_count: number;
  allocated_bytes: number;
  freed_bytes: number;
  increase_bytes: number;
  self_allocation_count: number;
  self_allocated_bytes: number;
  self_freed_bytes: number;
  self_increase_bytes: number;
}

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

export type Origin = "hierarchy-text" | "none" | "python-calls";

export type OverPeak = "arithmetic" | "cache" | "host_bus";

export type Pace = "faster" | "same" | "slow" | "slower";

export interface PackageImport {
  package: string;
  import_ns: number;
}

export interface PairRow {
  before: string;
  after: string;
  verdict: ComparisonVerdict;
  ratio: number | null;
  low: number | null;
  high: number | null;
  rests_on: string;
}

export type Partial = "cut" | "little_device_work" | "no_device_work" | "pause";

export interface Parts {
  wall_ns: number;
  kernel_ns: number;
  memcpy_ns: number;
  memset_ns: number;
  communication_ns: number;
  runtime_ns: number;
  data_loading_ns: number;
  host_ns: number;
  other_ns: number;
  gpu_busy_ns: number;
}

export type PathClass = "communication" | "copy" | "data_loading" | "host" | "kernel" | "allocation" | "idle" | "launch" | "synchronization";

export interface PathClassRow {
  class: PathClass;
  on_path_ns: number;
  share: number;
}

export interface PathPieces {
  pieces: Stretch[];
}

export interface PathRow {
  name: string;
  class: PathClass;
  pieces: number;
  on_path_ns: number;
  share: number;
}

export interface PeakRow {
  device: string;
  operator: string;
  bytes: number;
  count: number | null;
  share: number;
}

export interface PeakStackRow {
  device: string;
  operator: string;
  stack: string[];
  bytes: number;
  count: number | null;
}

export type PeaksBy = "capability" | "name";

export interface PhaseRow {
  category: Category;
  calls: number;
  forward_ns: number;
  backward_ns: number;
  recompute_ns: number;
  update_ns: number;
  other_ns: number;
  total_ns: number;
  step_ns: number;
  share: number | null;
}

export interface PhaseTotals {
  total_device_ns: number;
  outside_steps_ns: number;
  steps: number;
}

export interface PictureHead {
  axis: MemoryAxis;
  from: number;
  to: number;
  low: number;
  high: number;
  columns: number;
  rows: number;
  states: number;
  runs: number;
  drawn: number;
  alive: number;
  places: DrawnPlace[];
  other_places: number;
}

export interface PieceRow {
  name: string;
  class: PathClass;
  start_ns: number;
  dur_ns: number;
  lane: string | null;
  slice: number | null;
}

export type Precision = "bf16" | "fp16" | "fp32" | "fp4" | "fp64" | "fp8" | "int8" | "tf32";

export interface Problem {
  message: string;
  hint: string;
}

export interface ProcessMemory {
  process: number | null;
  measure: string;
  process_first_bytes: number;
  process_peak_bytes: number;
  process_peak_at_ns: number;
  process_last_bytes: number;
  points: ProcessPoint[];
}

export interface ProcessPoint {
  at_ns: number;
  process_bytes: number;
}

export interface ProfileInfo {
  sampled_stacks: number;
  different_stacks: number;
  named_functions: number;
  counted_functions: number;
  timed_lines: number;
  values: string[];
  parts: string[];
}

export interface ProfilerOptions {
  record_shapes: boolean | null;
  with_stack: boolean | null;
  profile_memory: boolean | null;
  with_flops: boolean | null;
  with_modules: boolean | null;
}

export interface ProgramPhases {
  start_up_ns: number;
  start_up: StartUpParts | null;
  warm_up_iterations: number;
  warm_up_ns: number;
  steady: SteadyIterations[];
  pauses: number;
  pauses_ns: number;
  after_last_ns: number | null;
}

export interface ProgramPlace {
  program: string;
  program_id: number;
  computation: string;
  caller: string | null;
}

export interface ProgramPlanRow {
  program: string;
  program_id: number;
  ran: boolean;
  argument_bytes: number;
  result_bytes: number;
  aliased_bytes: number;
  constant_bytes: number;
  temporary_bytes: number;
  planned_bytes: number;
  program_peak_bytes: number | null;
  peak_at: string | null;
  live_buffers: number;
}

export interface ProgramVerdict {
  verdict: ComparisonVerdict;
  sentence: string;
  because: string | null;
  rests_on: string;
  baseline: number | null;
  current: number | null;
  ratio: number | null;
  low: number | null;
  high: number | null;
  p: number | null;
  method: Method;
  n: Counts;
  repeats_to_decide: number | null;
}

export interface RecordingInfo {
  name: string;
  start_ns: number;
  dur_ns: number;
}

export interface Ref {
  id: number;
  name: string;
  category: number;
  row: number;
  start_ns: number;
  dur_ns: number;
}

export interface RefusalAt {
  state: number;
  at_ns: number | null;
  asked_bytes: number;
}

export interface RefusalRow {
  device: number;
  asked_bytes: number;
  device_free_bytes: number;
  allocated_bytes: number;
  reserved_bytes: number;
  free_bytes: number;
  largest_free_bytes: number;
  why: Obstacle;
}

export interface RegionGrowth {
  region: string;
  before_ns: number;
  after_ns: number;
}

export interface RegionRow {
  name: string;
  calls: number;
  host_ns: number;
  host_step_ns: number;
  device_ns: number;
  device_self_ns: number;
  device_step_ns: number;
  pytorch_device_ns: number;
  backward_device_ns: number;
  share: number | null;
}

export interface RegionSeries {
  name: string;
  time_ns: number[];
  share: number;
  p50_ns: number | null;
  p95_ns: number | null;
}

export interface RegionsLedger {
  total_device_ns: number;
  in_regions_ns: number;
  handed_over_ns: number;
  outside_ns: number;
  unlinked_ns: number;
}

export type Relation = "backward" | "device work" | "forward" | "launched by" | "launches" | "operator";

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
  measured_ns: number;
  replayed_ns: number;
  partial: boolean;
}

export interface ReportMade {
  made: string;
  left_out: string[];
}

export interface RooflineDevice {
  device: number | null;
  name: string | null;
  hardware: Hardware | null;
  peaks_by: PeaksBy | null;
}

export interface RooflineRow {
  name: string;
  family: Family;
  input_shapes: string | null;
  input_types: string | null;
  precision: Precision | null;
  dtype: Precision | null;
  calls: number;
  kernels: number;
  device_ns: number;
  share: number | null;
  flops: number;
  bytes: number;
  tflops: number | null;
  gbs: number | null;
  intensity: number | null;
  ideal_ns: number | null;
  bound: Bound | null;
  of_roofline: number | null;
  of_compute_peak: number | null;
  of_bandwidth: number | null;
  note: OverPeak | null;
}

export interface RooflineTotals {
  device_ns: number;
  modeled_ns: number;
  modeled_share: number | null;
  flops: number;
  bytes: number;
  ideal_ns: number | null;
  modeled_gbs: number | null;
}

export interface RoomRow {
  change: string;
  saved_bytes: number;
  fixed_bytes: number;
  bytes_per_sample: number;
  limit_bytes: number;
  largest_batch: number | null;
  arithmetic: string;
}

export interface RouteRow {
  route: string;
  now: Summary;
  before: Summary | null;
  p95_ns: (number | null)[];
  time_share: number;
  grew: RegionGrowth | null;
}

export interface Row {
  stack: string;
  value_ns: number;
  count: number;
}

export interface RowBusy {
  row: number;
  busy_ns: number;
}

export interface RowInfo {
  id: number;
  group: number;
  label: string;
  depth: number;
  count: number;
  first_ns: number;
  last_ns: number;
}

export interface RunInfo {
  path: string;
  format: string;
  stored_bytes: number;
  text_bytes: number;
  worker: string | null;
  span: string | null;
  framework: string | null;
  framework_version: string | null;
  versions: [string, string][];
  devices: DeviceInfo[];
  distributed: Distributed | null;
  options: ProfilerOptions;
  base_ns: number | null;
  origin_ns: number;
  first_ns: number | null;
  last_ns: number | null;
  extent_ns: number;
  recordings: RecordingInfo[];
  steps: string[];
  categories: CategoryInfo[];
  processes: number;
  threads: number;
  streams: number;
  lanes: LaneInfo[];
  notes: NoteInfo[];
  ledger: EventsLedger;
  heap_bytes: number;
  bytes_per_event: number | null;
}

export interface RunRow {
  run: string;
  batch: number;
  peak_allocated_bytes: number;
  peak_reserved_bytes: number | null;
  off_bytes: number;
}

export type RunState = "failed" | "loading" | "ready" | "waiting";

export type SentencePiece = SentenceTime | string;

export interface SentenceTime {
  from: number;
  until: number | null;
  near: number;
}

export interface ServiceConcern {
  kind: ServiceConcernKind;
  tone: ServiceTone;
  word: string;
  sentence: string;
  pieces: SentencePiece[];
  since: number | null;
  until: number | null;
  minutes: number | null;
  route: string | null;
  grew: RegionGrowth | null;
}

export type ServiceConcernKind = "errors" | "fine" | "silence" | "slow" | "target";

export interface ServiceDashboard {
  name: string;
  verdict: ServiceVerdict;
  from: number;
  until: number;
  first: number | null;
  last: number | null;
  newest_ns: number | null;
  point_minutes: number;
  minutes: number[];
  route: string | null;
  processes: number;
  counted_seconds: number;
  changed_share: number;
  total: Summary;
  total_before: Summary | null;
  compared_from: number | null;
  routes: RouteRow[];
  series: ServiceSeries;
  heat: HeatMap;
  regions: RegionSeries[];
  targets: TargetSeries[];
  counters: CounterSeries[];
  changes: LevelChange[];
  exemplars: Exemplar[];
  happened: ServiceEvent[];
  notes: string[];
  definitions: Definition[];
}

export interface ServiceEvent {
  minute: number;
  kind: ServiceEventKind;
  text: string;
}

export type ServiceEventKind = "alert" | "better" | "worse";

export interface ServiceOpened {
  name: string;
}

export interface ServiceSeries {
  requests: number[];
  errors: number[];
  p50_ns: (number | null)[];
  p90_ns: (number | null)[];
  p95_ns: (number | null)[];
  p99_ns: (number | null)[];
  max_ns: (number | null)[];
}

export type ServiceTone = "bad" | "good" | "none" | "warn";

export interface ServiceVerdict {
  kind: ServiceConcernKind;
  tone: ServiceTone;
  word: string;
  sentence: string;
  pieces: SentencePiece[];
  since: number | null;
  until: number | null;
  minutes: number | null;
  route: string | null;
  grew: RegionGrowth | null;
  detail: string | null;
  movers: CounterShift[] | null;
  example: number | null;
  also: ServiceConcern[];
}

export interface SessionInfo {
  version: string;
  watching: boolean;
  runs: ListedRun[];
  history: boolean;
  service: ServiceOpened | null;
  problem: Problem | null;
  report?: ReportMade;
}

export type Severity = "high" | "info" | "low" | "medium";

export interface ShownPages {
  pages: string[];
}

export interface ShownSlice {
  name: string;
  start_ns: number;
  dur_ns: number;
  slice: number;
}

export type Side = "device" | "host";

export interface SideRow {
  run: string;
  recordings: number;
  steps: number;
  mean_ns: number;
  p50_ns: number;
  p95_ns: number;
  samples_per_step: number | null;
  samples_per_s: number | null;
  gpu_utilization: number | null;
  mfu: number | null;
  peak_allocated_bytes: number | null;
  peak_reserved_bytes: number | null;
  energy_j_per_step: number | null;
  verdict: ComparisonVerdict | null;
  ratio: number | null;
  low: number | null;
  high: number | null;
}

export interface SourceFile {
  file: string;
  text: string | null;
  changed: boolean;
  unit: AmountUnit;
  lines: LineOfSource[];
  functions: FunctionOfSource[];
}

export interface SourceLine {
  function: string;
  file: string | null;
  function_line: number | null;
  line: number;
  hits: number | null;
  time_ns: number | null;
  samples: number | null;
  bytes: number | null;
  per_hit_ns: number | null;
  share: number;
  profile_share: number;
  source: string | null;
}

export interface SourceMemory {
  function: string;
  file: string;
  function_line: number;
  line: number;
  occurrences: number;
  memory_bytes: number;
  increment_bytes: number;
  allocated_bytes: number;
  source: string | null;
}

export interface Spread {
  p50_ns: number;
  p95_ns: number;
  p99_ns: number;
  max_ns: number;
  cv: number | null;
}

export interface StartUpParts {
  imports_ns: number;
  longest_imports: PackageImport[];
  weights_ns: number;
  device_start_ns: number;
  compilation_ns: number;
}

export interface SteadyIterations {
  iterations: number;
  iteration_ns: number | null;
}

export interface StepInfo {
  step: number;
  name: string;
  start_ns: number;
  end_ns: number;
}

export interface StepSide {
  recordings: number;
  steps: number;
  mean_ns: number;
  p50_ns: number;
  p95_ns: number;
  device: number | null;
}

export interface StepUse {
  step: number;
  wall_ns: number;
  partial: boolean;
  model_flops: number;
  recomputed_flops: number;
  precision: Precision | null;
  peak_tflops: number | null;
  devices: number;
  mfu: number | null;
  hfu: number | null;
  coverage: number | null;
  lower_bound: boolean;
}

export type StepsFoundBy = "compiled_function" | "data_loader" | "device_program" | "engine" | "graph" | "kernel" | "module" | "optimizer" | "range";

export interface StillLoading {
  run: number;
  state: RunState;
  read_bytes: number;
  total_bytes: number;
}

export interface StreamGapsRow {
  device: number | null;
  stream: number | null;
  slices: number;
  busy_ns: number;
  host_wait_ns: number;
  kernel_wait_ns: number;
  other_ns: number;
}

export interface StreamRow {
  device: number | null;
  stream: number | null;
  busy_ns: number;
  kernel_busy_ns: number;
  utilization: number | null;
  kernels: number;
  memcpy: number;
  memset: number;
}

export interface StreamUse {
  stream: number | null;
  busy_ns: number;
  kernel_busy_ns: number;
  utilization: number | null;
  kernels: number;
  memcpy: number;
  memset: number;
}

export interface Stretch {
  name: string;
  class: PathClass;
  start_ns: number;
  dur_ns: number;
  slice: number | null;
  count: number;
}

export interface Summary {
  requests: number;
  per_second: number;
  errors: number;
  error_rate: number;
  mean_ns: number;
  p50_ns: number;
  p90_ns: number;
  p95_ns: number;
  p99_ns: number;
  p999_ns: number;
  max_ns: number;
  quantile_error: number;
}

export interface TargetSeries {
  route: string;
  target: string;
  allowed: number;
  requests: number;
  missed: number;
  kept: boolean;
  budget_left: number | null;
  burn: Burn[];
  alert: "fast" | "slow" | null;
  burn_over_time: (number | null)[];
}

export interface TaskRow {
  task: string;
  thread: string;
  process: string;
  running_ns: number;
  share: number;
  first_ns: number;
  last_ns: number;
}

export interface TemporalRow {
  device: number | null;
  idle_ns: number;
  compute_ns: number;
  non_compute_ns: number;
  kernel_time_ns: number;
}

export type TensorCores = "no" | "unknown" | "yes";

export interface ThreadRow {
  thread: string;
  process: string;
  seen_ns: number;
  holds_share: number;
  without_share: number;
  waits_share: number;
  idle_share: number;
  holds_ns: number;
  without_ns: number;
  waits_ns: number;
  idle_ns: number;
}

export interface TopRow {
  name: string;
  per_step_ns: number;
  of_step: number;
  kernels_per_step: number | null;
  of_roofline: number | null;
}

export interface TriedFix {
  name: string;
  without_ns: number;
  with_ns: number;
  saves_share: number;
  saves_interval: [number, number] | null;
  verdict: string;
  numbers: string;
}

export interface UncheckedRules {
  needs: string;
  rules: string[];
  partly: boolean;
  sentence: string;
}

export type Unit = "bytes" | "count" | "other" | "share";

export interface UnmodeledRow {
  name: string;
  reason: NoCost;
  kernels: number;
  device_ns: number;
  share: number | null;
}

export interface Verdict {
  text: string;
  grade: Grade;
  bound_by: string;
  unknown_share: number;
}

export type WaitKind = "free" | "full_queue" | "result" | "stream" | "device" | "event" | "blocking_copy";

export interface WaitRow {
  op: string | null;
  call: string;
  kind: WaitKind;
  calls: number;
  calls_per_step: number;
  wait_ns: number;
  total_ns: number;
  max_wait_ns: number;
  stack: string[];
  longest_start_ns: number;
}

export interface WaitsTotals {
  calls: number;
  wait_ns: number;
  steps: number;
  wall_ns: number;
}

export type Weight = "device-self" | "host-self";

export interface XprofHloRow {
  program: number;
  category: string;
  hlo: string;
  framework_op: string;
  occurrences: number;
  total_ns: number;
  mean_ns: number;
  self_ns: number;
  share: number;
}

export interface XprofKernelRow {
  kernel: string;
  registers: number | null;
  shared_bytes: number | null;
  block: string;
  grid: string;
  occupancy: number | null;
  tensor_core_eligible: boolean;
  uses_tensor_cores: boolean;
  op: string;
  occurrences: number;
  total_ns: number;
  mean_ns: number;
  min_ns: number;
  max_ns: number;
}

export interface XprofMemoryRow {
  allocator: string;
  changes: number;
  lifetime_peak_bytes: number;
  peak_bytes: number;
  peak_at_ns: number;
  heap_bytes: number;
  stack_bytes: number;
  free_bytes: number;
  fragmentation: number | null;
  capacity_bytes: number;
}

export interface XprofOpRow {
  side: XprofSide;
  type: string;
  operation: string;
  occurrences: number;
  total_ns: number;
  mean_ns: number;
  self_ns: number;
  share: number;
  busy_share: number | null;
}

export type XprofSide = "device" | "host";

export interface XprofStepRow {
  step: string;
  time_ns: number;
  all_others_ns: number;
  compilation_ns: number;
  output_ns: number;
  input_ns: number;
  kernel_launch_ns: number;
  host_compute_ns: number;
  device_collectives_ns: number;
  device_to_device_ns: number;
  device_compute_32_ns: number;
  device_compute_16_ns: number;
}

export interface XprofSummary {
  steps: number;
  left_out: number;
  mean_ns: number;
  sd_ns: number;
  min_ns: number;
  max_ns: number;
  input_share: number;
  all_others_share: number;
  compute_16_share: number;
  input_bound: InputBound;
}

export interface AccountAnswer extends AnswerFrame {
  causes: CauseRow[];
  devices: AccountRow[];
  steps: AccountRow[];
  synthetic: boolean;
  verdict: Verdict | null;
}

export interface CodeAnswer extends AnswerFrame {
  code: CodeRow[];
  device_ns: number;
  wait_ns: number;
  wall_ns: number;
}

export interface CollectivesAnswer extends AnswerFrame {
  collectives: CollectiveRow[];
  totals: CollectivesTotals;
}

export interface CompileAnswer extends AnswerFrame {
  health: Health[];
  regions: CompiledRegion[];
}

export interface CompileByEager extends AnswerFrame {
  eager: EagerRow[];
}

export interface CompileByKernel extends AnswerFrame {
  kernels: GeneratedRow[];
}

export interface CompileByPhase extends AnswerFrame {
  phases: CompilePhase[];
}

export interface CriticalPathAnswer extends AnswerFrame {
  classes: PathClassRow[];
  wall_ns: number;
  path: PathRow[];
}

export interface CriticalPathByPiece extends AnswerFrame {
  classes: PathClassRow[];
  wall_ns: number;
  pieces: PieceRow[];
}

export interface DiffAnswer extends AnswerFrame {
  causes: CauseChange[];
  rows: ChangeRow[];
  metrics: MetricRow[];
  findings: FindingChange[];
  before: StepSide;
  after: StepSide;
  delta_ns: number;
  judged: ProgramVerdict;
  unlike: string[];
}

export interface FindingsAnswer extends AnswerFrame {
  findings: Finding[];
  step_ns: number;
  unprofiled_step_ns: number;
  unprofiled_step_low_ns: number;
  unprofiled_step_high_ns: number;
  step_measured: boolean;
  step_text: string;
  steps: number;
  unchecked_rules: UncheckedRules[];
  worst: Severity | null;
}

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

export interface FunctionsCallees extends AnswerFrame {
  callees: EdgeRow[];
  unit: AmountUnit;
}

export interface FunctionsCallers extends AnswerFrame {
  callers: EdgeRow[];
  unit: AmountUnit;
}

export interface GapsAnswer extends AnswerFrame {
  kinds: GapKindRow[];
  culprits: CulpritRow[];
  gaps: GapRow[];
  streams: StreamGapsRow[];
  totals: GapsTotals;
}

export interface GpuAnswer extends AnswerFrame {
  gpu: GpuRow[];
  streams: StreamRow[];
}

export interface GraphsAnswer extends AnswerFrame {
  graphs: GraphRow[];
  calls_without_work: number;
}

export interface GraphsByNode extends AnswerFrame {
  nodes: NodeRow[];
  calls_without_work: number;
}

export interface HloAnswer extends AnswerFrame {
  instructions: InstructionRow[];
  totals: InstructionsTotals;
}

export interface HloAround extends AnswerFrame {
  nodes: NeighborRow[];
  inside: FusedRow[];
  edges: NeighborEdge[];
  within: ProgramPlace;
}

export interface HtaAnswer extends AnswerFrame {
  breakdown: TemporalRow[];
}

export interface HtaByCriticalPath extends AnswerFrame {
  critical_path: HtaPathRow[];
}

export interface HtaByIdle extends AnswerFrame {
  idle: HtaIdleRow[];
}

export interface HtaByLaunches extends AnswerFrame {
  launches: HtaLaunchesRow[];
}

export interface HtaByQueue extends AnswerFrame {
  queue: HtaQueueRow[];
}

export interface InfoAnswer extends AnswerFrame {
  info: RunInfo;
  found_steps: FoundSteps | null;
}

export interface InfoOfProfile extends AnswerFrame {
  profile: ProfileInfo;
  info: RunInfo;
}

export interface KernelsAnswer extends AnswerFrame {
  kernels: KernelRow[];
  copies: CopyRow[];
  totals: KernelsTotals;
}

export interface KernelsByCopies extends AnswerFrame {
  copies: CopyRow[];
  totals: KernelsTotals;
}

export interface LaunchesAnswer extends AnswerFrame {
  launches: LaunchRow[];
}

export interface LaunchesByQueue extends AnswerFrame {
  queue: DeviceQueuePoint[];
}

export interface LinesAnswer extends AnswerFrame {
  lines: SourceLine[];
  unit: AmountUnit;
  total: number;
}

export interface LoadingAnswer extends AnswerFrame {
  loading: LoadingRow[];
  operators: LoaderOp[];
  workers: boolean | null;
  range: string | null;
  totals: LoadingTotals;
}

export interface MemoryAcross extends AnswerFrame {
  across: AcrossRow[];
}

export interface MemoryAnswer extends AnswerFrame {
  devices: DeviceMemory[];
  process: ProcessMemory[];
  programs?: ProgramPlanRow[];
  buffers?: LiveBufferRow[];
  records: number;
  range_ns?: [number, number];
  operators: OperatorMemory[];
}

export interface MemoryByBuffer extends AnswerFrame {
  buffers: LiveBufferRow[];
}

export interface MemoryByEvent extends AnswerFrame {
  devices: DeviceMemory[];
  process: ProcessMemory[];
  programs?: ProgramPlanRow[];
  buffers?: LiveBufferRow[];
  records: number;
  range_ns?: [number, number];
  events: Event[];
}

export interface MemoryByLine extends AnswerFrame {
  line_memory: SourceMemory[];
}

export interface MemoryByPeak extends AnswerFrame {
  devices: DeviceMemory[];
  process: ProcessMemory[];
  programs?: ProgramPlanRow[];
  buffers?: LiveBufferRow[];
  records: number;
  range_ns?: [number, number];
  peak: PeakRow[];
}

export interface MemoryByProgram extends AnswerFrame {
  programs: ProgramPlanRow[];
}

export interface MemoryByStack extends AnswerFrame {
  devices: DeviceMemory[];
  process: ProcessMemory[];
  programs?: ProgramPlanRow[];
  buffers?: LiveBufferRow[];
  records: number;
  range_ns?: [number, number];
  peak: PeakStackRow[];
}

export interface MemoryFit extends AnswerFrame {
  largest: LargestRow[];
  fit: FitRow[];
  runs: RunRow[];
  changes: RoomRow[];
}

export interface MemoryLeaks extends AnswerFrame {
  leaks: LeakRow[];
  full: FullRow[];
  left_lines: HeapLineRow[];
  looked_at: ComparedDeviceRow[];
  total_growth_bytes_each: number;
  iterations: number | null;
  iteration_ns: number | null;
}

export interface MemoryLive extends AnswerFrame {
  live: LiveRow[];
  moment_ns?: number | null;
}

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

export interface MemoryOutOfMemory extends AnswerFrame {
  out_of_memory: OomRow[];
  holders: HolderRow[];
}

export interface ModulesAnswer extends AnswerFrame {
  modules: Module[];
  ledger: ModulesLedger;
  origin: Origin;
}

export interface ModulesByClass extends AnswerFrame {
  modules: ModuleClassRow[];
  ledger: ModulesLedger;
  origin: Origin;
}

export interface OpsAnswer extends AnswerFrame {
  ops: OpRow[];
  annotations: OpRow[];
  calls: OpRow[];
  memory_outside: OpRow | null;
  totals: OpsTotals;
}

export interface PhasesAnswer extends AnswerFrame {
  phases: PhaseRow[];
  totals: PhaseTotals;
}

export interface RegionsAnswer extends AnswerFrame {
  regions: RegionRow[];
  ledger: RegionsLedger;
}

export interface RooflineAnswer extends AnswerFrame {
  roofline: RooflineRow[];
  unmodeled: UnmodeledRow[];
  steps: StepUse[];
  devices: RooflineDevice[];
  mean_mfu: number | null;
  mean_hfu: number | null;
  coverage: number | null;
  lower_bound: boolean;
  totals: RooflineTotals;
}

export interface ServingAnswer extends AnswerFrame {
  kinds: KindRow[];
  iterations: Iteration[];
  found_by: FoundBy;
  span_ns: number;
  between_ns: number;
  on_other_threads: number;
}

export interface SideBySide extends AnswerFrame {
  runs: SideRow[];
  pairs: PairRow[];
  by: ComparedBy;
  sentence: string;
  unlike: string[];
}

export interface StacksAnswer extends AnswerFrame {
  stacks: Row[];
  weight: Weight;
  total_ns: number;
}

export interface StacksOfProfile extends AnswerFrame {
  stacks: FoldedRow[];
  unit: AmountUnit;
  total: number;
}

export interface StepsAnswer extends AnswerFrame {
  average: Parts | null;
  spread: Spread | null;
  synthetic: boolean;
  found: FoundSteps | null;
  device_slices_outside: number;
  steps: BreakdownRow[];
}

export interface StepsByDevice extends AnswerFrame {
  average: Parts | null;
  spread: Spread | null;
  synthetic: boolean;
  found: FoundSteps | null;
  device_slices_outside: number;
  steps: DeviceStep[];
}

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
  unchecked_rules: UncheckedRules[];
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

export interface SummaryOfProfile extends AnswerFrame {
  hot_functions: HotFunction[];
  hot_lines: HotLine[];
  findings: Finding[];
  verdict: Verdict | null;
  notes: NoteInfo[];
  unit: AmountUnit;
}

export interface ThreadsAnswer extends AnswerFrame {
  threads: ThreadRow[];
  processes: LockRow[];
  tasks: TaskRow[];
}

export interface TransfersAnswer extends AnswerFrame {
  transfers: BusRow[];
}

export interface WaitsAnswer extends AnswerFrame {
  waits: WaitRow[];
  totals: WaitsTotals;
}

export interface WhatIfAnswer extends AnswerFrame {
  what_if: ReplayRow[];
  steps: ReplayedStep[];
}

export interface XprofAnswer extends AnswerFrame {
  summary: XprofSummary;
  steps: XprofStepRow[];
}

export interface XprofByHlo extends AnswerFrame {
  hlo: XprofHloRow[];
}

export interface XprofByKernels extends AnswerFrame {
  kernels: XprofKernelRow[];
}

export interface XprofByMemory extends AnswerFrame {
  memory: XprofMemoryRow[];
}

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

/** What keys are called, on the page as in every table. */
export const LABELS = {
  cause: {
    kernel: "kernels",
    communication: "communication",
    copy: "copies",
    fill: "memsets",
    host_data_loading: "data loading",
    host_operator: "host in operators",
    host_python: "Python between operators",
    host_launch: "host in launch calls",
    host_synchronization: "host returning from a wait",
    host_allocation: "memory allocation",
    host_runtime: "other runtime calls",
    host_communication: "communication on the host",
    host_compilation: "compilation",
    host_first_use: "first use (contexts, loading code)",
    host_garbage_collection: "garbage collection",
    host_profiler: "profiler",
    device_unrecorded: "unknown: device work not recorded",
    host_unrecorded: "nothing recorded on the host",
    launch_latency: "launch latency",
    queued_gap: "between queued kernels",
    dependency: "waiting for another stream",
    unlinked: "launch not recorded",
  },
  gap: {
    host_late: "host late",
    launch_latency: "launch latency",
    queued_gap: "between queued kernels",
    dependency: "waiting for another stream",
    end_of_step: "end of step",
    unlinked: "launch not recorded",
    unknown: "device work not recorded",
  },
  path: {
    host: "host",
    launch: "launch",
    kernel: "kernel",
    copy: "copy",
    communication: "communication",
    data_loading: "data loading",
    synchronization: "synchronization",
    allocation: "allocation",
    idle: "idle",
  },
} satisfies Record<string, Record<string, string>>;

/** Flags whose answers a report may hold beside the plain one. */
export const REPORT_FLAGS: readonly string[] = ["leaks", "oom"];

/** What the categories of slices are called, by number. */
export const CATEGORIES = ["operator", "Python", "annotation", "runtime call", "device wait", "matrix multiply", "attention", "elementwise", "reduction", "communication", "copy", "other kernel", "profiler overhead", "step", "data loading", "other"] as const;

/** An error budget that burns so many times too fast alerts at once, or soon. */
export const FAST_BURN_TIMES = 14.4;
export const SLOW_BURN_TIMES = 6;

/** A share of failed requests to look at, and one whose change says something. */
export const HIGH_ERROR_SHARE = 0.01;
export const MIN_ERROR_SHARE = 0.001;

/** So much of an error budget is nearly all of it. */
export const LOW_BUDGET_SHARE = 0.25;

/** A replay that is further off than this, as a share of the measured time, only gives bounds. */
export const MAX_REPLAY_ERROR = 0.05;
