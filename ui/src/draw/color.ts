// Colors as numbers: read from CSS, mixed, compared. Packed as 0xAABBGGRR, the order of bytes on the wire to the GPU.

export interface Rgb {
  r: number;
  g: number;
  b: number;
}

/** Reads `#rrggbb`, `#rgb`, `rgb(1 2 3 / 40%)` and `rgba(1, 2, 3, 0.4)`. */
export function parseColor(text: string): Rgb & { a: number } {
  const value = text.trim();
  if (value.startsWith("#")) {
    const hex = value.length < 6 ? value.slice(1).replace(/./g, "$&$&") : value.slice(1);
    const number = Number.parseInt(hex.slice(0, 6), 16);
    const a = hex.length >= 8 ? Number.parseInt(hex.slice(6, 8), 16) / 255 : 1;
    return { r: (number >> 16) & 255, g: (number >> 8) & 255, b: number & 255, a };
  }
  const parts = value.match(/[\d.]+%?/g) ?? [];
  const [r = 0, g = 0, b = 0] = parts.map((part) => Number.parseFloat(part));
  const alpha = parts[3];
  const a = alpha === undefined ? 1 : Number.parseFloat(alpha) / (alpha.endsWith("%") ? 100 : 1);
  return { r, g, b, a };
}

/** Without alpha: 0x00BBGGRR. */
export function pack({ r, g, b }: Rgb): number {
  return ((Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;
}

export function unpack(packed: number): Rgb {
  return { r: packed & 255, g: (packed >> 8) & 255, b: (packed >> 16) & 255 };
}

/** `amount` of the way from one to the other. */
export function mix(from: Rgb, to: Rgb, amount: number): Rgb {
  return {
    r: from.r + (to.r - from.r) * amount,
    g: from.g + (to.g - from.g) * amount,
    b: from.b + (to.b - from.b) * amount,
  };
}

/** As WCAG defines it. */
export function luminance({ r, g, b }: Rgb): number {
  const linear = (value: number) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

export function contrast(one: Rgb, other: Rgb): number {
  const a = luminance(one);
  const b = luminance(other);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
