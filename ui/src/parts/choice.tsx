// A few choices side by side, one of them taken.

import { tipOn } from "./tip.tsx";

/** Few choices side by side, one of them taken. */
export function Choice<T extends string>(props: {
  label: string;
  options: readonly { value: T; name: string; text?: string }[];
  value: T;
  onChange: (value: T) => void;
}) {
  return (
    <fieldset class="choice">
      <legend class="sr-only">{props.label}</legend>
      {props.options.map(({ value, name, text }) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === props.value}
          onClick={() => props.onChange(value)}
          {...(text ? tipOn(text) : {})}
        >
          {name}
        </button>
      ))}
    </fieldset>
  );
}
