// The time axis above the charts: it stays in sight, and carries the marks and the moment under the cursor.

import { Icon } from "../../../parts/icons.tsx";
import { tipOn } from "../../../parts/tip.tsx";
import { clockTicks, momentOf, shortMoment, type Zone } from "../clock.ts";
import { around, pointAt } from "../period.ts";
import { zoomTo } from "../zoom.tsx";
import { pointWords } from "./charts.tsx";
import { grouped, type ServiceEvent, worstKind } from "./events.ts";
import { type Frame, LEFT_PX, RIGHT_PX } from "./frame.ts";
import { cursor } from "./pointer.ts";
import { MARK_APART } from "./strip.tsx";

/** Room for one label. */
const LABEL_PX = 76;

export function Axis(props: { frame: Frame; events: readonly ServiceEvent[]; zone: Zone }) {
  const { frame, zone } = props;
  const { of, width, x } = frame;
  const ticks = clockTicks(of.from, of.until, Math.max(2, Math.floor(width / LABEL_PX)), zone);
  return (
    <div class="sv-axis">
      <svg
        class="chart-svg"
        width={width + LEFT_PX + RIGHT_PX}
        height={20}
        viewBox={`${-LEFT_PX} 0 ${width + LEFT_PX + RIGHT_PX} 20`}
        aria-hidden="true"
      >
        {ticks.map(({ at, label, day }) => (
          <text
            key={at}
            class={day ? "tick day" : "tick"}
            x={x(at)}
            y={14}
            text-anchor={x(at) > width - 16 ? "end" : x(at) < 4 ? "start" : "middle"}
          >
            {label}
          </text>
        ))}
      </svg>
      <Flags {...props} />
      <Moment frame={frame} zone={zone} />
    </div>
  );
}

function Flags({ frame, events, zone }: { frame: Frame; events: readonly ServiceEvent[]; zone: Zone }) {
  const { of, x } = frame;
  return (
    <>
      {grouped(events, x, 2 * MARK_APART).map((group) => {
        const minute = group[0]?.minute ?? 0;
        const lines = group.slice(0, 6).map((one) => `${shortMoment(one.minute, of.until, zone)}: ${one.text}`);
        const kind = worstKind(group);
        return (
          <button
            key={minute}
            type="button"
            class={`sv-flag sv-${kind}`}
            style={{ left: `${LEFT_PX + x(minute)}px` }}
            aria-label={`${lines.join(". ")}. Zoom in.`}
            onClick={() => zoomTo(around(minute, of))}
            {...tipOn(
              <ul class="sv-tip-list">
                {lines.map((line) => (
                  <li key={line}>{line}</li>
                ))}
              </ul>,
            )}
          >
            <Icon name={kind === "better" ? "check" : "warn"} size={12} />
          </button>
        );
      })}
    </>
  );
}

/** The moment under the cursor, on the axis and in words. */
function Moment({ frame, zone }: { frame: Frame; zone: Zone }) {
  const { of, width } = frame;
  const minute = cursor.value;
  const at = minute === undefined ? undefined : pointAt(minute, of);
  if (minute === undefined || at === undefined) return null;
  const start = of.minutes[at] ?? minute;
  const place = Math.max(60, Math.min(width - 60, frame.x(minute)));
  return (
    <>
      <span class="sv-moment" style={{ left: `${LEFT_PX + place}px` }}>
        {momentOf(start, zone)}
      </span>
      <output class="sr-only">{`${momentOf(start, zone)}: ${pointWords(of, at)}`}</output>
    </>
  );
}
