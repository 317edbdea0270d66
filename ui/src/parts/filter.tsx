// A field that narrows a table by a regular expression, a moment after typing stops.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Options } from "../data/types.ts";
import { register } from "../session/commands.ts";
import { param } from "../session/route.ts";
import { SearchBox } from "./search-box.tsx";

const PAUSE_MS = 180;

export function Filter(props: {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
  placeholder?: string;
  /** The view in which `/` goes to this field. */
  view?: string;
}) {
  const [text, setText] = useState(props.value ?? "");
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // The URL may change under the field: back, a link, a cleared filter. What the field itself has put there is not new,
  // and more may have been typed by the time it comes back.
  const sent = useRef(props.value);
  useEffect(() => {
    if (props.value === sent.current) return;
    sent.current = props.value;
    clearTimeout(timer.current);
    setText(props.value ?? "");
  }, [props.value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const field = useRef<HTMLInputElement>(null);
  const { view } = props;
  useEffect(() => {
    if (view === undefined) return;
    const run = () => field.current?.select();
    return register([{ id: `${view}-filter`, name: "Filter the table", view, keys: ["Slash"], run }]);
  }, [view]);
  const send = (next: string) => {
    clearTimeout(timer.current);
    sent.current = next === "" ? undefined : next;
    props.onChange(sent.current);
  };
  return (
    <SearchBox
      field={field}
      label={props.label}
      placeholder={props.placeholder ?? "Filter by name (regex)"}
      value={text}
      onInput={(next) => {
        setText(next);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => send(next), PAUSE_MS);
      }}
      onEnter={() => send(text)}
    />
  );
}

/** What asks a table for the rows of one name, grouped in some way. */
export function rowsNamed(name: string, by: string): Options {
  return { by, filter: exactly(name), step: param("step"), device: param("device"), top: 50 };
}

/** A regular expression that matches this name and no other. */
export function exactly(name: string): string {
  return `^${name.replace(/[\\^$.*+?()[\]{}|#&~-]/g, "\\$&")}$`;
}
