// What `transfers` answers.

export type { BusRow as TransferRow, TransfersAnswer } from "../../data/wire.ts";
