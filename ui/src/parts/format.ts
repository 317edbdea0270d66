// Numbers as people read them, by the rules of the terminal's tables: times in four digits, sizes (by 1024) and FLOPs
// (by 1000) in three. Axes have their own, shorter labels: see charts/ticks.

/** Nanoseconds from which minutes are easier to read than seconds. */
const MINUTES_ABOVE = 120e9;

/** `812 ns`, `12.35 µs`, `1.234 ms`, `3.456 s`, `3 m 12 s`, `2 h 05 m`: four significant digits. */
export function time(ns: number): string {
  const size = Math.round(Math.abs(ns));
  return `${ns < 0 && size > 0 ? "-" : ""}${timeOf(size)}`;
}

/** A change of a time with its sign: `+1.234 ms`, `-812 ns`, `0`. */
export function signedTime(ns: number): string {
  const text = time(ns);
  return Math.round(ns) === 0 ? "0" : ns > 0 ? `+${text}` : text;
}

function timeOf(ns: number): string {
  if (ns < 1000) return `${ns} ns`;
  if (ns > MINUTES_ABOVE) return clock(ns);
  // Rounding comes before the choice of unit, so that 999,999 ns becomes 1.000 ms and not 1000.0 µs.
  for (const [unit, name] of [
    [1e3, "µs"],
    [1e6, "ms"],
    [1e9, "s"],
  ] as const)
    for (const decimals of [3, 2, 1]) {
      const scaled = Math.round((ns * 10 ** decimals) / unit);
      if (scaled < 10_000) return `${(scaled / 10 ** decimals).toFixed(decimals)} ${name}`;
    }
  return clock(ns);
}

/** A duration that is only an estimate, in two digits, or three that begin with a 1: `25 ms`, `1.34 s`, `810 ns`. */
export function about(ns: number): string {
  const size = Math.abs(Math.round(ns));
  const digits = String(size).length - 1;
  const step = 10 ** Math.max(0, digits - (String(size).startsWith("1") ? 2 : 1));
  const rounded = Math.floor((size + Math.floor(step / 2)) / step) * step;
  if (rounded > MINUTES_ABOVE) return time(ns);
  const units = [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
  ] as const;
  const [unit, name] = units.find(([unit]) => rounded >= unit) ?? [1, "ns"];
  const decimals = [0, 1, 2].find((places) => step * 10 ** places >= unit) ?? 3;
  return `${ns < 0 ? "-" : ""}${(rounded / unit).toFixed(decimals)} ${name}`;
}

function clock(ns: number): string {
  const seconds = Math.round(ns / 1e9);
  const two = (value: number) => String(value).padStart(2, "0");
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`;
  const minutes = Math.round(seconds / 60);
  return `${count(Math.floor(minutes / 60))} h ${two(minutes % 60)} m`;
}

/** `812 B`, `1.88 GiB`: three significant digits. */
export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  let scaled = value;
  // 1023.5 would be written as 1024, which is 1.00 of the next unit.
  while (Math.abs(scaled) >= (at === 0 ? 1024 : 1023.5) && at < units.length - 1) {
    scaled /= 1024;
    at++;
  }
  return `${at === 0 ? Math.round(scaled) : digits(scaled)} ${units[at]}`;
}

export function bytesPerSecond(value: number): string {
  return `${si(value)}B/s`;
}

export function flops(value: number): string {
  return value === 0 ? "0" : `${si(value)}FLOP`;
}

function si(value: number): string {
  const units = ["", "k", "M", "G", "T", "P", "E"];
  let at = 0;
  let scaled = value;
  while (Math.abs(scaled) >= 999.5 && at < units.length - 1) {
    scaled /= 1000;
    at++;
  }
  return `${digits(scaled)} ${units[at]}`;
}

/** `1,234,567`. */
export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** `1 segment`, `2 segments`. */
export function many(number: number, noun: string, plural = `${noun}s`): string {
  return `${count(number)} ${number === 1 ? noun : plural}`;
}

/** A share from 0 to 1 as `12.3%`. What is neither nothing nor everything never reads so: `<0.1%`, `>99.9%`. */
export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  const sign = share < 0 ? "-" : "";
  const size = Math.abs(share);
  // Sums of shares miss one by a few bits; that is not "almost all".
  const isOne = Math.abs(size - 1) < 1e-9;
  if (size === 0 || isOne) return `${sign}${isOne ? 100 : 0}%`;
  if (size < 0.0005) return share < 0 ? ">-0.1%" : "<0.1%";
  if (size >= 0.9995 && size < 1) return share < 0 ? "<-99.9%" : ">99.9%";
  return `${sign}${size >= 9.9995 ? count(size * 100) : (size * 100).toFixed(1)}%`;
}

/** Three significant digits, without trailing noise. */
export function digits(value: number): string {
  const abs = Math.abs(value);
  if (abs >= 100) return value.toFixed(0);
  if (abs >= 10) return value.toFixed(1);
  return value.toFixed(2);
}

/** A share that may be more: rounded down, so that it stays true. */
export function atLeast(share: number): string {
  return `≥ ${(Math.floor(share * 1000 + 1e-6) / 10).toFixed(1)}%`;
}

/** The ending of a field's name says what it is. */
export function byField(field: string, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "";
  if (typeof value !== "number") return Array.isArray(value) ? value.join(" ") : String(value);
  if (field.endsWith("_ns")) return time(value);
  if (field.endsWith("bytes_per_second")) return bytesPerSecond(value);
  if (field.endsWith("bytes")) return bytes(value);
  if (field.endsWith("_percent")) return percent(value / 100);
  if (/share$|utilization$|efficiency$|^of_|occupancy$|_share_|^mfu|^hfu|^coverage$/.test(field))
    return percent(value);
  if (field === "flops") return flops(value);
  return Number.isInteger(value) ? count(value) : digits(value);
}

/** A field as words: `device_self_ns` is `Device self`. */
export function plain(field: string): string {
  const words = field.replace(/_(ns|bytes|share)$/, "").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const KERNEL_NOISE = /\bat::native::|\(anonymous namespace\)::|\bc10::|\bvoid\b |\bstd::/g;

/** A name short enough for a cell: without namespaces everyone knows; the title has all of it. */
export function shortName(name: string): string {
  if (name.startsWith("autograd::engine::evaluate_function: ")) return `autograd: ${name.slice(37)}`;
  const short = name.replace(KERNEL_NOISE, "");
  return short.length > 0 ? short : name;
}

/** What the amounts of a profile count. */
export type Unit = "nanoseconds" | "samples" | "bytes";

/** An amount in its unit: a time, a size, or a number of samples. */
export function amount(value: number, unit: Unit): string {
  if (unit === "samples") return count(value);
  return unit === "bytes" ? bytes(value) : time(value);
}
