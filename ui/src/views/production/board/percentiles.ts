// The percentiles that are drawn, each in its color.

export const PERCENTILES = [
  { field: "p50_ns", label: "p50", color: "sv-p50", dashed: false },
  { field: "p90_ns", label: "p90", color: "sv-p90", dashed: false },
  { field: "p95_ns", label: "p95", color: "sv-p95", dashed: false },
  { field: "p99_ns", label: "p99", color: "sv-p99", dashed: true },
] as const;
