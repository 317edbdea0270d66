// A trace that speedscope can read: PyTorch names some processes and threads in words ("Spans", "PyTorch Profiler"),
// and speedscope 1.25.0 gives up on any trace in which one is not a number.

import { createReadStream, createWriteStream, existsSync, mkdirSync, renameSync } from "node:fs";
import path from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGunzip, createGzip } from "node:zlib";
import { freeDisk, say } from "../machine.mjs";
import { DATA } from "../options.mjs";

const WORDS = /"(pid|tid)":(\s*)"([^"\\]*)"/g;
const FIRST_NUMBER = 900_000_000;
const SPARE_DISK = 1e9;

/** Replaces words by numbers, the same word by the same number. */
export function numbersForWords() {
  const numbers = new Map();
  const numberOf = (word) => {
    if (/^\d+$/.test(word)) return word;
    if (!numbers.has(word)) numbers.set(word, FIRST_NUMBER + numbers.size);
    return numbers.get(word);
  };
  const replaced = (text) => text.replace(WORDS, (_, key, space, word) => `"${key}":${space}${numberOf(word)}`);
  let rest = "";
  return new Transform({
    transform(chunk, _encoding, done) {
      const text = rest + chunk.toString("latin1");
      // No such pair reaches over a brace, so none is cut in two.
      const cut = text.lastIndexOf("{");
      rest = cut < 0 ? text : text.slice(cut);
      done(null, cut < 0 ? undefined : Buffer.from(replaced(text.slice(0, cut)), "latin1"));
    },
    flush(done) {
      done(null, Buffer.from(replaced(rest), "latin1"));
    },
  });
}

/** The rewritten trace, made once and kept. */
export async function withNumbers(trace) {
  const folder = path.join(DATA, "rivals", "traces");
  const file = path.join(folder, `${trace.bytes}-${trace.name.replace(/\.gz$/, "")}.gz`);
  if (existsSync(file)) return file;
  say(`${trace.name}: numbers for the words in pid and tid`);
  mkdirSync(folder, { recursive: true });
  if (freeDisk(folder) < 3 * trace.bytes + SPARE_DISK)
    throw new Error("the disk is short of room for a rewritten trace");
  const unpack = trace.name.endsWith(".gz") ? [createGunzip()] : [];
  const pack = createGzip({ level: constants.Z_BEST_SPEED });
  const part = `${file}.part`;
  await pipeline(createReadStream(trace.path), ...unpack, numbersForWords(), pack, createWriteStream(part));
  renameSync(part, file);
  return file;
}
