// The timeline's commands: one entry each for the keyboard, the palette and the help.

import { type Command, register } from "../../session/commands.ts";
import type { Actions } from "./actions.ts";
import type { Finder } from "./finder.ts";
import type { Held } from "./motion.ts";

export interface KeyTargets {
  actions: Actions;
  finder: Finder;
  focusSearch(): void;
}

/** Adds the commands; returns how to take them away. */
export function registerKeys({ actions, finder, focusSearch }: KeyTargets): () => void {
  const { motion } = actions;
  const one = (id: string, name: string, keys: string[], run: (event?: KeyboardEvent) => void): Command => ({
    id: `timeline-${id}`,
    name,
    view: "timeline",
    keys,
    run,
  });
  const held = (id: Held, name: string, keys: string[]): Command =>
    one(id, name, keys, (event) => motion.hold(id, event?.code, performance.now()));
  // Not keys, but the help shows them where one looks for keys.
  const gesture = (id: string, name: string, keys: string[]): Command => ({
    ...one(id, name, keys, () => {}),
    hidden: true,
  });
  const stop = register([
    held("in", "Zoom in at the pointer", ["KeyW", "Equal"]),
    held("out", "Zoom out at the pointer", ["KeyS", "Minus"]),
    held("left", "Move left", ["KeyA", "ArrowLeft"]),
    held("right", "Move right", ["KeyD", "ArrowRight"]),
    held("up", "Scroll up", ["ArrowUp"]),
    held("down", "Scroll down", ["ArrowDown"]),
    one("focus", "Center the selection; press twice to fit it to the window", ["KeyF"], () =>
      actions.focus(performance.now()),
    ),
    one("all", "Show the whole trace", ["Digit0"], () => actions.showAll()),
    one("clear", "Clear the selection, then the mark, then the search", ["Escape"], () => actions.clear()),
    one("step-next", "Next training step", ["KeyN"], () => actions.step(true)),
    one("step-previous", "Previous training step", ["Shift+KeyN"], () => actions.step(false)),
    one("search", "Search", ["Slash"], focusSearch),
    one("hit-next", "Next match", ["Enter"], () => void finder.go(true)),
    one("hit-previous", "Previous match", ["Shift+Enter"], () => void finder.go(false)),
    one("flow-back", "Follow the arrow back, to what launched this", ["BracketLeft"], () =>
      actions.follow(false),
    ),
    one("flow-on", "Follow the arrow forward, to what this launches", ["BracketRight"], () =>
      actions.follow(true),
    ),
    one("slice-previous", "Previous slice in the row", ["Comma"], () => void actions.walk(false)),
    one("slice-next", "Next slice in the row", ["Period"], () => void actions.walk(true)),
    one("mark", "Mark the selected time range", ["KeyM"], () => actions.mark(false)),
    one("mark-keep", "Keep the mark", ["Shift+KeyM"], () => actions.mark(true)),
    one("pin", "Pin the lane to the top", ["KeyP"], () => actions.pin()),
    one("path", "Show or hide the critical path", ["KeyC"], () => {
      actions.model.showPath.value = !actions.model.showPath.value;
    }),
    gesture("wheel-zoom", "Zoom at the pointer", ["Ctrl+wheel"]),
    gesture("wheel-pan", "Move left and right", ["Shift+wheel", "Shift+drag"]),
    gesture("drag", "Select an area to sum up time by name", ["drag"]),
    gesture("twice", "Fit a slice to the window", ["double click"]),
  ]);
  const control = new AbortController();
  addEventListener("keyup", (event) => motion.release(event.code), { signal: control.signal });
  addEventListener("blur", () => motion.releaseAll(), { signal: control.signal });
  return () => {
    control.abort();
    stop();
  };
}
