// Where to go from here.

import { Card } from "../../parts/states.tsx";
import { href } from "../../session/route.ts";

const WAYS: { to: string; params?: Record<string, string>; name: string; about: string; device?: boolean }[] = [
  { to: "timeline", name: "Timeline", about: "every event, from the whole run down to a kernel" },
  {
    to: "diagnosis",
    params: { tab: "what-if" },
    name: "What if",
    about: "what other changes would save, by replay",
  },
  {
    to: "diagnosis",
    params: { tab: "idle" },
    name: "Idle time",
    about: "each gap of the device and its cause",
    device: true,
  },
  {
    to: "diagnosis",
    params: { tab: "roofline" },
    name: "Roofline",
    about: "how close each operator comes to what the device can do",
    device: true,
  },
];

export function More({ device }: { device: boolean }) {
  return (
    <Card title="More">
      <ul class="more">
        {WAYS.filter((way) => device || !way.device).map((way) => (
          <li key={way.name}>
            <a href={href(way.to, way.params)}>{way.name}</a> <span class="quiet">{way.about}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
