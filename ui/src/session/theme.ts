// Light or dark: the system's choice unless the user made one. Set before the first paint.

import { signal } from "@preact/signals";

export type Theme = "light" | "dark";

const KEY = "stepscope-theme";
const system = globalThis.matchMedia?.("(prefers-color-scheme: dark)");

export const theme = signal<Theme>("light");

function stored(): Theme | undefined {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : undefined;
  } catch {
    return undefined; // a report from file:// may have no storage
  }
}

function apply(value: Theme): void {
  document.documentElement.dataset.theme = value;
  theme.value = value;
}

export function startTheme(): void {
  apply(stored() ?? (system?.matches ? "dark" : "light"));
  system?.addEventListener("change", () => apply(stored() ?? (system.matches ? "dark" : "light")));
}

export function toggleTheme(): void {
  const next = theme.value === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // It still changes, for this page.
  }
  apply(next);
}
