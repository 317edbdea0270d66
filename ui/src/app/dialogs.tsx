// Help and the command palette: both show the registry of commands.

import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { CATEGORIES } from "../data/wire.ts";
import { Icon } from "../parts/icons.tsx";
import { allCommands, type Command, keyLabel, register } from "../session/commands.ts";
import { go, route } from "../session/route.ts";
import { isOffered, runs } from "../session/state.ts";
import { toggleTheme } from "../session/theme.ts";
import { VIEWS } from "./views.ts";

const open = signal<"help" | "palette" | undefined>(undefined);

/** Commands that work everywhere. */
export function registerShared(): void {
  register([
    ...VIEWS.filter((view) => !view.hidden).map((view) => ({
      id: `go-${view.id}`,
      name: `Go to ${view.name}`,
      keys: view.digit === undefined ? [] : [`Digit${view.digit}`],
      run: () => isOffered(view.id) && go(view.id),
    })),
    { id: "help", name: "Help", keys: ["Shift+Slash"], run: () => set("help") },
    { id: "palette", name: "Commands", keys: ["Ctrl+Shift+KeyP", "Ctrl+KeyK"], run: () => set("palette") },
    { id: "theme", name: "Switch between light and dark theme", run: toggleTheme },
  ]);
}

function set(value: "help" | "palette" | undefined) {
  open.value = value;
}

export function Dialogs() {
  const dialog = useRef<HTMLDialogElement>(null);
  const what = open.value;
  // Before the next key: what is typed right after the shortcut belongs to the dialog.
  useLayoutEffect(() => {
    if (what) dialog.current?.showModal();
    else dialog.current?.close();
  }, [what]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      ref={dialog}
      aria-label={what === "palette" ? "Commands" : "Help"}
      onClose={() => set(undefined)}
      onClick={(event) => {
        // A click beside it: the dialog's own box is filled by its content.
        if (event.target === dialog.current) set(undefined);
      }}
    >
      {what === "help" && <Help />}
      {what === "palette" && <Palette />}
    </dialog>
  );
}

function usable(): Command[] {
  return offered().filter((c) => !c.view || c.view === route.value.view);
}

/** Without the ways to pages that have nothing to show here. */
function offered(): Command[] {
  return allCommands().filter((c) => !c.id.startsWith("go-") || isOffered(c.id.slice(3)));
}

/** Commands by where they work: everywhere first, then view by view. */
function keyGroups(): { title: string; commands: Command[] }[] {
  const withKeys = offered().filter((c) => c.keys?.length);
  const everywhere = { title: "Everywhere", commands: withKeys.filter((c) => !c.view) };
  const ofViews = VIEWS.filter((view) => !view.hidden).map(({ id, name }) => ({
    title: name,
    commands: withKeys.filter((c) => c.view === id),
  }));
  return [everywhere, ...ofViews].filter((group) => group.commands.length > 0);
}

function Help() {
  return (
    <div class="help">
      <header class="help-head">
        <h2>Stepscope {runs.value?.version}</h2>
        <form method="dialog">
          <button type="submit" class="icon-button" aria-label="Close">
            <Icon name="close" />
          </button>
        </form>
      </header>
      <p>
        Start at the overview: each finding says what it costs and links to where it happens. Hover over any
        underlined word for its definition. The URL captures what you see: copy it to share the view.
      </p>
      {keyGroups().map(({ title, commands }) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl class="keys">
            {commands.map((c) => (
              <div key={c.id}>
                <dt>
                  {c.keys?.slice(0, 2).map((key) => (
                    <kbd key={key}>{keyLabel(key)}</kbd>
                  ))}
                </dt>
                <dd>{c.name}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <section>
        <h3>Colors</h3>
        <ul class="legend">
          {CATEGORIES.map((name, at) => (
            <li key={name}>
              <span class={`swatch cat-${at}`} /> {name}
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

function Palette() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = usable().filter((c) => !c.hidden && words.every((w) => c.name.toLowerCase().includes(w)));
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const pick = (command: Command | undefined) => {
    set(undefined);
    command?.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (event.key === "Enter") pick(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <div class="palette">
      <input
        type="text"
        role="combobox"
        aria-label="Find a command"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[at] ? `palette-${found[at].id}` : undefined}
        placeholder="What do you want to do?"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
        // biome-ignore lint/a11y/noAutofocus: the palette is opened to type in it
        autoFocus
      />
      <div ref={list} id="palette-list" role="listbox" aria-label="Commands">
        {found.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: Enter in the field picks the option
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and points at the option
          <div
            key={command.id}
            id={`palette-${command.id}`}
            role="option"
            aria-selected={index === at}
            onClick={() => pick(command)}
          >
            <span>{command.name}</span>
            <span class="kbd">{command.keys?.map(keyLabel).join("  ")}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="empty">No commands match.</p>}
    </div>
  );
}
