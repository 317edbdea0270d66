// The sections of a report: gzip in base64, each in a script element of its own, unpacked when first wanted.

const loaded = new Map<string, Promise<Uint8Array<ArrayBuffer> | undefined>>();

function element(name: string): HTMLElement | null {
  return document.getElementById(`pack:${name}`);
}

export function hasSection(name: string): boolean {
  return element(name) !== null;
}

/** The bytes of a section; `undefined` if the report has none of that name. */
export function section(name: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  let bytes = loaded.get(name);
  if (!bytes) {
    bytes = unpack(element(name)?.textContent ?? undefined);
    loaded.set(name, bytes);
  }
  return bytes;
}

export async function jsonSection<T>(name: string): Promise<T | undefined> {
  const bytes = await section(name);
  return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as T);
}

async function unpack(base64: string | undefined): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (base64 === undefined) return undefined;
  const text = atob(base64.trim());
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
