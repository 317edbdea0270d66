// What takes most of the time, five rows of it, and the way to the tables.

import { Defined, definition, Share } from "../../parts/figure.tsx";
import { exactly } from "../../parts/filter.tsx";
import { digits, percent, shortName, time } from "../../parts/format.ts";
import { Card } from "../../parts/states.tsx";
import { href } from "../../session/route.ts";
import type { Summary, TopRow } from "./types.ts";

const ROWS = 5;

export function Top({ of, device, synthetic }: { of: Summary; device: boolean; synthetic: boolean }) {
  const rows = of.top.slice(0, ROWS);
  if (rows.length === 0) return null;
  const text = (field: string) => definition(of.definitions, field);
  const has = (field: "kernels_per_step" | "of_roofline") => rows.some((row) => row[field] !== null);
  const [kernels, roofline] = [has("kernels_per_step"), has("of_roofline")];
  return (
    <Card
      title={device ? "What takes the device's time" : "What takes the host's time"}
      class="largest"
      note={
        <>
          <a class="quiet-link" href={href("operators")}>
            All operators
          </a>
          {device && (
            <a class="quiet-link" href={href("kernels")}>
              All kernels
            </a>
          )}
        </>
      }
    >
      <table class="plain" aria-label="Top">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" class="num">
              <Defined text={text("per_step_ns")}>{synthetic ? "Time" : "Per step"}</Defined>
            </th>
            <th scope="col" class="num">
              <Defined text={text("of_step")}>{synthetic ? "Of total" : "Of step"}</Defined>
            </th>
            {kernels && (
              <th scope="col" class="num">
                <Defined text={text("kernels_per_step")}>{synthetic ? "Kernels" : "Kernels per step"}</Defined>
              </th>
            )}
            {roofline && (
              <th scope="col" class="num">
                <Defined text={text("of_roofline")}>Of roofline</Defined>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <td class="name">
                <a href={wayTo(row)} title={row.name}>
                  <bdi>{shortName(row.name)}</bdi>
                </a>
              </td>
              <td class="num">{time(row.per_step_ns)}</td>
              <td class="num">
                <Share share={row.of_step} />
              </td>
              {kernels && (
                <td class="num">{row.kernels_per_step === null ? "–" : perStep(row.kernels_per_step)}</td>
              )}
              {roofline && (
                <td class={`num ${grade(row.of_roofline)}`}>
                  {row.of_roofline === null ? "–" : percent(row.of_roofline)}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

/** Operators are named with their library; everything else is a kernel or a region. */
function wayTo({ name, kernels_per_step }: TopRow): string {
  const operator = name.includes("::") || kernels_per_step === null;
  return href(operator ? "operators" : "kernels", { filter: exactly(name), open: 0 });
}

function perStep(value: number): string {
  return Number.isInteger(value) ? String(value) : digits(value);
}

function grade(share: number | null): string {
  if (share === null) return "quiet";
  return share < 0.4 ? "low" : "";
}
