// What the categories of slices are called, in the order of their numbers on the wire.

export const CATEGORIES = [
  "operator",
  "Python",
  "annotation",
  "runtime call",
  "device wait",
  "matrix multiply",
  "attention",
  "elementwise",
  "reduction",
  "communication",
  "copy",
  "other kernel",
  "profiler overhead",
  "step",
  "data loading",
  "other",
] as const;
