// What `critical-path` answers.

export type { CriticalPathAnswer as CriticalPath, PathRow } from "../../data/wire.ts";
