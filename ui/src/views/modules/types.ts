// What `modules` answers: a tree of modules, or one row per class.

import type { ModulesAnswer as AnyModulesAnswer, Module, ModuleClassRow } from "../../data/wire.ts";

export type {
  Module as ModuleRow,
  ModuleClassRow as ClassRow,
  ModulesLedger as Ledger,
} from "../../data/wire.ts";

export type ModulesAnswer<R extends Module | ModuleClassRow> = Omit<AnyModulesAnswer, "modules"> & {
  modules: R[];
};
