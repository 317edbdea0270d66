// A field to search or filter in, with its icon.

import type { Ref } from "preact";
import { Icon } from "./icons.tsx";

export function SearchBox(props: {
  label: string;
  placeholder: string;
  value: string;
  field?: Ref<HTMLInputElement>;
  /** The key that goes to this field. */
  shortcut?: string;
  onInput: (text: string) => void;
  onEnter?: (event: KeyboardEvent) => void;
}) {
  return (
    <span class="filter">
      <Icon name="search" />
      <input
        ref={props.field ?? null}
        type="search"
        aria-label={props.label}
        aria-keyshortcuts={props.shortcut}
        placeholder={props.placeholder}
        spellcheck={false}
        autocomplete="off"
        value={props.value}
        onInput={(event) => props.onInput(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") props.onEnter?.(event);
        }}
      />
    </span>
  );
}
