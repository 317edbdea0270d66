// What `waits` answers.

export type { WaitRow, WaitsAnswer as Waits } from "../../data/wire.ts";
