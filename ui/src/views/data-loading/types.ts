// What `loading` answers.

export interface LoadingRow {
  step: number;
  wall_ns: number;
  loading_ns: number;
  exposed_ns: number;
}

export interface Loading {
  loading: LoadingRow[];
  operators: { name: string; self_ns: number }[];
  workers: boolean | null;
  range: string | null;
  totals: { loading_ns: number; exposed_ns: number; wall_ns: number };
}
