// A course over time as small as a word. The numbers are beside it.

export function Spark(props: {
  values: readonly (number | null)[];
  color: string;
  width: number;
  height: number;
}) {
  const { values, width, height } = props;
  const known = values.filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  // What hardly changes is a line in the middle, not a mountain range.
  const half = Math.max((high - low) / 2, high / 4) || 1;
  const step = width / Math.max(1, values.length - 1);
  let path = "";
  let drawing = false;
  values.forEach((value, at) => {
    if (value !== null) {
      const y = height / 2 - ((value - (low + high) / 2) / half) * (height / 2 - 1);
      path += `${drawing ? "L" : "M"}${(at * step).toFixed(1)} ${y.toFixed(1)}`;
    }
    drawing = value !== null;
  });
  return (
    <svg
      class={`sv-spark ${props.color}`}
      viewBox={`0 0 ${width} ${height}`}
      height={height}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="sv-line" d={path} />
    </svg>
  );
}
