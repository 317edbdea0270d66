// Figures as people read them. Pure.

export function median(values) {
  return percentile(values, 0.5);
}

/** The value below which this share lies; between two values, in proportion. */
export function percentile(values, share) {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)];
  return low + (sorted[Math.ceil(at)] - low) * (at - Math.floor(at));
}

export function ms(value) {
  if (value === undefined) return "-";
  if (value < 10) return `${value.toFixed(1)} ms`;
  if (value < 1000) return `${value.toFixed(0)} ms`;
  return value < 100_000 ? `${(value / 1000).toFixed(2)} s` : `${(value / 1000).toFixed(0)} s`;
}

export function size(bytes) {
  if (bytes === undefined) return "-";
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export function count(value) {
  return value.toLocaleString("en-US");
}
