// Every command is one entry: the palette, the help and the keyboard read this registry.

export interface Command {
  id: string;
  name: string;
  /** Where it works: everywhere, or in one view. */
  view?: string;
  /** Physical keys (`KeyboardEvent.code`), with `Shift+` or `Ctrl+` before them. */
  keys?: string[];
  /** Not offered in the palette: it needs the pointer or a held key. */
  hidden?: boolean;
  run(event?: KeyboardEvent): void;
}

const commands = new Map<string, Command>();

/** Adds commands; returns how to take them away again. */
export function register(list: Command[]): () => void {
  for (const command of list) commands.set(command.id, command);
  return () => {
    for (const command of list) if (commands.get(command.id) === command) commands.delete(command.id);
  };
}

export function allCommands(): Command[] {
  return [...commands.values()];
}

export function runCommand(id: string): void {
  commands.get(id)?.run();
}

/** A key event as the registry spells it. */
export function keyOf(event: KeyboardEvent): string {
  const ctrl = event.ctrlKey || event.metaKey ? "Ctrl+" : "";
  return `${ctrl}${event.shiftKey ? "Shift+" : ""}${event.code}`;
}

/** `Shift+KeyN` as people read it. */
export function keyLabel(key: string): string {
  const names: Record<string, string> = {
    Slash: "/",
    Comma: ",",
    Period: ".",
    Equal: "=",
    Minus: "-",
    BracketLeft: "[",
    BracketRight: "]",
    ArrowLeft: "←",
    ArrowRight: "→",
    ArrowUp: "↑",
    ArrowDown: "↓",
    Escape: "Esc",
    "Shift+Slash": "?",
  };
  if (names[key]) return names[key];
  const parts = key.split("+");
  const last = parts.pop() ?? "";
  parts.push(names[last] ?? last.replace(/^(Key|Digit)/, ""));
  return parts.join("+");
}

/** Whether the event belongs to a field the user types in. */
function isTyping(event: KeyboardEvent): boolean {
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

/** Whether Enter or space belongs to what has the focus: a button, a link, a row that opens. */
function isPressing(event: KeyboardEvent): boolean {
  const target = event.target;
  if ((event.code !== "Enter" && event.code !== "Space") || !(target instanceof HTMLElement)) return false;
  return target.closest("button, a, summary, [role=treeitem], tr[tabindex]") !== null;
}

export function startKeyboard(currentView: () => string): void {
  addEventListener("keydown", (event) => {
    const key = keyOf(event);
    if (event.defaultPrevented || isPressing(event)) return;
    if (event.altKey || (isTyping(event) && key !== "Escape" && !key.startsWith("Ctrl+"))) return;
    // What lies above the view takes its own keys: Escape closes it.
    if (document.querySelector("dialog[open], .menu:popover-open")) return;
    for (const command of commands.values()) {
      if (!command.keys?.includes(key) || (command.view && command.view !== currentView())) continue;
      event.preventDefault();
      command.run(event);
      return;
    }
  });
}
