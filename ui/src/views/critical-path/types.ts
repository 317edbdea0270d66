// What `critical-path` answers.

export interface PathRow {
  name: string;
  class: string;
  pieces: number;
  on_path_ns: number;
  share: number;
}

export interface CriticalPath {
  classes: { class: string; on_path_ns: number; share: number }[];
  path: PathRow[];
  wall_ns: number;
}
