// What `modules` answers.

export interface ModuleRow {
  name: string;
  class: string;
  path: string;
  depth: number;
  /** Position of the module around it. */
  parent: number | null;
  occurrences: number | null;
  operators: number;
  operators_total: number;
  host_total_ns: number;
  host_self_ns: number;
  device_total_ns: number;
  device_self_ns: number;
  backward_host_ns: number;
  backward_host_self_ns: number;
  backward_device_ns: number;
  backward_device_self_ns: number;
  flops_total: number;
  flops_self: number;
}

export interface ClassRow {
  name: string;
  modules: number;
  occurrences: number;
  host_self_ns: number;
  device_self_ns: number;
  backward_device_self_ns: number;
}

export interface Ledger {
  device_ns: number;
  forward_device_ns: number;
  backward_device_ns: number;
  outside_device_ns: number;
  unlinked_device_ns: number;
  misnested: number;
}

export interface ModulesAnswer<R> {
  modules: R[];
  ledger: Ledger;
  origin: "python-calls" | "hierarchy-text" | "none";
}
