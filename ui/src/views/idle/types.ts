// What `gaps` answers.

export type { CulpritRow, GapRow, GapsAnswer as Gaps, StreamGapsRow as StreamRow } from "../../data/wire.ts";
