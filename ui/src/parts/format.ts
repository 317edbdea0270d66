// Numbers as people read them. The same rules as the terminal: three digits, SI for FLOPs, 1024 for bytes.

/** `12.3 ms`: three significant digits, in the largest unit that keeps one digit before the point. */
export function time(ns: number): string {
  const abs = Math.abs(ns);
  // What would round to 1000 of a unit is 1 of the next.
  if (abs < 999.5) return `${Math.round(ns)} ns`;
  if (abs < 999.5e3) return `${digits(ns / 1e3)} µs`;
  if (abs < 999.5e6) return `${digits(ns / 1e6)} ms`;
  if (abs < 60e9) return `${digits(ns / 1e9)} s`;
  const minutes = Math.floor(abs / 60e9);
  return `${ns < 0 ? "-" : ""}${minutes} min ${digits((abs - minutes * 60e9) / 1e9)} s`;
}

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  let scaled = value;
  while (Math.abs(scaled) >= 1024 && at < units.length - 1) {
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

/** A share from 0 to 1 as `12.3 %`. */
export function percent(share: number): string {
  const value = share * 100;
  if (!Number.isFinite(value)) return "–";
  const abs = Math.abs(value);
  if (abs > 0 && abs < 0.1) return `${value < 0 ? "> -" : "< "}0.1 %`;
  return `${abs >= 99.95 || abs < 0.05 ? value.toFixed(0) : value.toFixed(1)} %`;
}

/** Three significant digits, without trailing noise. */
export function digits(value: number): string {
  const abs = Math.abs(value);
  if (abs >= 100) return value.toFixed(0);
  if (abs >= 10) return value.toFixed(1);
  return value.toFixed(2);
}

/** What a field holds is told by its ending. */
export function byField(field: string, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "";
  if (typeof value !== "number") return Array.isArray(value) ? value.join(" ") : String(value);
  if (field.endsWith("_ns")) return time(value);
  if (field.endsWith("bytes_per_second")) return bytesPerSecond(value);
  if (field.endsWith("bytes")) return bytes(value);
  if (field.endsWith("_percent")) return percent(value / 100);
  if (/share$|utilization$|efficiency$|^of_|occupancy$|_share_|^mfu|^hfu/.test(field)) return percent(value);
  if (field === "flops") return flops(value);
  return Number.isInteger(value) ? count(value) : digits(value);
}

const KERNEL_NOISE = /\bat::native::|\(anonymous namespace\)::|\bc10::|\bvoid\b |\bstd::/g;

/** A name short enough for a cell: without namespaces everyone knows; the whole stands in the title. */
export function shortName(name: string): string {
  if (name.startsWith("autograd::engine::evaluate_function: ")) return `autograd: ${name.slice(37)}`;
  const short = name.replace(KERNEL_NOISE, "");
  return short.length > 0 ? short : name;
}
