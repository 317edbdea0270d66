// What `transfers` answers.

export interface TransferRow {
  device: number | null;
  direction: string;
  memory: string;
  calls: number;
  bytes: number | null;
  total_ns: number;
  exposed_ns: number;
  host_ns: number;
  bytes_per_second: number | null;
  large_bytes_per_second: number | null;
  of_bus: number | null;
}
