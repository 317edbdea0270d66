// What a page says, as texts: numbers by their label, tables row by row.
// Texts are read as they are shown: definitions that wait for a hover are part of the page, too, but not in sight.

import type { Locator, Page } from "@playwright/test";

/** What an element shows. */
export function shown(element: Locator): Promise<string> {
  return element.innerText();
}

/** The large numbers within a part of the page, by label. */
export async function metricsOf(within: Page | Locator): Promise<Record<string, string>> {
  const all = await within.locator(".metric").evaluateAll((elements) =>
    elements.map((element) => {
      const text = (selector: string) => element.querySelector<HTMLElement>(selector)?.innerText.trim() ?? "";
      return [text(".metric-label"), text(".metric-value")];
    }),
  );
  return Object.fromEntries(all);
}

/** The cells of a table's rows in the page, as they read. */
export async function rowsOf(page: Page | Locator, label: string): Promise<string[][]> {
  const rows = page.locator(`table[aria-label="${label}"] tbody:not(.spacer) > tr:not(.detail)`);
  return rows.evaluateAll((elements) =>
    elements.map((row) =>
      [...row.querySelectorAll("td")].map((cell) => cell.innerText.replace(/\s+/g, " ").trim()),
    ),
  );
}

/** The heads of a table, as they read. */
export async function headsOf(page: Page | Locator, label: string): Promise<string[]> {
  const heads = page.locator(`table[aria-label="${label}"] thead th`);
  return heads.evaluateAll((elements) => elements.map((head) => (head as HTMLElement).innerText.trim()));
}

/** One column of a table, by its head. */
export async function columnOf(page: Page | Locator, label: string, head: string): Promise<string[]> {
  const at = (await headsOf(page, label)).indexOf(head);
  if (at < 0) throw new Error(`the table "${label}" has no column "${head}": ${await headsOf(page, label)}`);
  return (await rowsOf(page, label)).map((row) => row[at] ?? "");
}
