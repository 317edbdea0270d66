// What `what-if` answers, and what names the targets of its sliders.

export type {
  KernelsAnswer,
  OpsAnswer,
  ReplayedStep,
  ReplayRow as WhatIfRow,
  WhatIfAnswer as WhatIf,
} from "../../data/wire.ts";
