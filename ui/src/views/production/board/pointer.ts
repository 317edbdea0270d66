// Where the reader points at, the same moment in all charts, and the stretch that is being marked.

import { signal } from "@preact/signals";

/** The minute under the pointer, or that the arrow keys went to. */
export const cursor = signal<number | undefined>(undefined);

/** The stretch that is being marked, from where it began to where the pointer is. */
export const marked = signal<{ a: number; b: number } | undefined>(undefined);

export function forget(): void {
  cursor.value = undefined;
  marked.value = undefined;
}
