// What `modules` answers: a tree of modules, or one row per class.

export type {
  Module as ModuleRow,
  ModuleClassRow as ClassRow,
  ModulesAnswer,
  ModulesByClass,
  ModulesLedger as Ledger,
} from "../../data/wire.ts";
