// What `launches` answers.

export type { LaunchesAnswer, LaunchRow } from "../../data/wire.ts";
