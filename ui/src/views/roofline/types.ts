// What `roofline` answers.

export type { Hardware, RooflineAnswer as Roofline, RooflineRow as CostRow } from "../../data/wire.ts";
