// Which browser: the one in $CHROMIUM, else the first on the PATH.

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The shell first: the same engine without the windows around it, at a third of the processor time per page. */
const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser"];

export function chromium(): string {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = (process.env.PATH ?? "").split(delimiter);
  for (const name of NAMES)
    for (const folder of folders) if (isProgram(join(folder, name))) return join(folder, name);
  throw new Error("no chromium on the PATH: install it, or name it in $CHROMIUM");
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
