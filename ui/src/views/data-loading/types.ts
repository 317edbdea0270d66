// What `loading` answers.

export type { LoadingAnswer as Loading } from "../../data/wire.ts";
