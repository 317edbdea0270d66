// A place in a program, as a link to its source.

import { href } from "../session/route.ts";

/** The end of a path: the file and the folder it is in. */
export function shortPath(file: string): string {
  const parts = file.split(/[/\\]/);
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : file;
}

/** The file and line in a frame's name: `train.py(12): step`, `train.py: step` or `step (train.py:12)`. */
export function placeOf(name: string): { file: string; line?: number } | undefined {
  const found = /^(.+?\.pyx?)(?:\((\d+)\))?: /.exec(name) ?? /\(([^()]+\.pyx?):(\d+)\)$/.exec(name);
  if (!found?.[1]) return undefined;
  return found[2] === undefined ? { file: found[1] } : { file: found[1], line: Number(found[2]) };
}

export function SourceLink(props: { file: string; line?: number | null; short?: boolean }) {
  const { file } = props;
  const at = props.line ?? undefined;
  // The file alone where there is little room.
  const path = props.short ? (file.split(/[/\\]/).at(-1) ?? file) : shortPath(file);
  const shown = `${path}${at === undefined ? "" : `:${at}`}`;
  // Modules inside the interpreter have no source to show.
  if (!/\.py[xi]?$/.test(file)) {
    return (
      <bdi class="quiet mono-name" title={file}>
        {shown}
      </bdi>
    );
  }
  return (
    <a
      class="quiet-link mono-name"
      href={href("source", { file, line: at })}
      title={`${file}${at === undefined ? "" : `:${at}`}`}
    >
      <bdi>{shown}</bdi>
    </a>
  );
}
