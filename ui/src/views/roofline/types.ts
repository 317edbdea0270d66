// What `roofline` answers.

export interface CostRow {
  name: string;
  family: string;
  input_shapes: string | null;
  input_types: string | null;
  precision: string | null;
  calls: number;
  kernels: number;
  device_ns: number;
  share: number;
  flops: number;
  bytes: number;
  tflops: number;
  gbs: number;
  intensity: number | null;
  ideal_ns: number | null;
  bound: string | null;
  of_roofline: number | null;
  of_compute_peak: number | null;
  of_bandwidth: number | null;
  note: string | null;
}

export interface UnmodelledRow {
  name: string;
  reason: string;
  kernels: number;
  device_ns: number;
  share: number;
}

export interface MfuRow {
  step: number;
  wall_ns: number;
  partial: boolean;
  model_flops: number;
  precision: string | null;
  peak_tflops: number | null;
  devices: number;
  mfu: number | null;
  hfu: number | null;
}

/** A device's peaks as published by its maker: TFLOP/s by arithmetic, GB/s of its memory. */
export interface Hardware {
  name: string;
  memory_gbs: number;
  host_bus_gbs: number | null;
  [peak: string]: string | number | null;
}

export interface Roofline {
  roofline: CostRow[];
  unmodelled: UnmodelledRow[];
  steps: MfuRow[];
  devices: { device: number | null; name: string | null; hardware: Hardware | null }[];
  mean_mfu: number | null;
  totals: {
    device_ns: number;
    modelled_ns: number;
    modelled_share: number | null;
    flops: number;
    bytes: number;
    ideal_ns: number | null;
  };
}
