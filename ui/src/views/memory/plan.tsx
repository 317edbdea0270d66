// Memory that the compiler planned: what each program was given, and what is live when it needs most.

import type { Definition } from "../../data/types.ts";
import type { LiveBufferRow, MemoryByBuffer, ProgramPlanRow } from "../../data/wire.ts";
import { Defined, definition, Share } from "../../parts/figure.tsx";
import { exactly } from "../../parts/filter.tsx";
import { bytes, count } from "../../parts/format.ts";
import { SourceLink } from "../../parts/source-link.tsx";
import { Await, Card } from "../../parts/states.tsx";
import { href, numberParam, param, setParams } from "../../session/route.ts";
import { source } from "../../session/state.ts";
import { useAsk } from "../../session/use-ask.ts";

const FEW = 6;
const FEW_BUFFERS = 15;

/** What memory is for, in the order of the bar. */
const PARTS = [
  { field: "argument_bytes", name: "Arguments", category: 7 },
  { field: "result_bytes", name: "Results", category: 5 },
  { field: "temporary_bytes", name: "Temporaries", category: 9 },
  { field: "constant_bytes", name: "Constants", category: 12 },
] as const;

export function Plan(props: {
  programs: ProgramPlanRow[];
  buffers: LiveBufferRow[];
  definitions: Definition[] | undefined;
}) {
  const { programs, definitions } = props;
  const all = param("programs") === "all";
  const chosen = programs.find((row) => row.program_id === numberParam("program")) ?? programs[0];
  if (!chosen) return null;
  const shown = all ? programs : programs.slice(0, FEW);
  const most = programs.reduce((most, row) => Math.max(most, row.planned_bytes), 1);
  const text = (field: string) => definition(definitions, field);
  return (
    <>
      <Card title="Compiled programs" note="memory as the compiler planned it">
        <ul class="legend mem-plan-legend">
          {PARTS.map((part) => (
            <li key={part.field}>
              <span class={`mem-plan-key cat-${part.category}`} />
              <Defined text={text(part.field)}>{part.name}</Defined>
            </li>
          ))}
        </ul>
        <table class="plain mem-plan" aria-label="Compiled programs">
          <thead>
            <tr>
              <th scope="col">Program</th>
              <th scope="col">Plan</th>
              <Th label="Planned" text={text("planned_bytes")} />
              <Th label="Peak" text={text("program_peak_bytes")} />
              <Th label="Arguments" text={text("argument_bytes")} />
              <Th label="Donated" text={text("aliased_bytes")} />
              <Th label="Temporaries" text={text("temporary_bytes")} />
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={row.program_id} class={row === chosen ? "chosen" : undefined}>
                <td>
                  <button
                    type="button"
                    class="mem-plan-name"
                    aria-pressed={row === chosen}
                    onClick={() => setParams({ program: row.program_id })}
                  >
                    <bdi>{row.program}</bdi> <span class="quiet">{row.program_id}</span>
                  </button>
                  {!row.ran && <span class="quiet"> did not run</span>}
                </td>
                <td>
                  <Stacked row={row} most={most} />
                </td>
                <td class="num">{bytes(row.planned_bytes)}</td>
                <td class="num">
                  {row.program_peak_bytes === null ? "unknown" : bytes(row.program_peak_bytes)}
                </td>
                <td class="num">{bytes(row.argument_bytes)}</td>
                <td class="num">{bytes(row.aliased_bytes)}</td>
                <td class="num">{bytes(row.temporary_bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {programs.length > FEW && (
          <button
            type="button"
            class="mem-more"
            onClick={() => setParams({ programs: all ? undefined : "all" })}
          >
            {all ? "Show fewer" : `Show all ${count(programs.length)}`}
          </button>
        )}
      </Card>
      <Live
        program={chosen}
        first={chosen === programs[0] ? props.buffers : undefined}
        definitions={definitions}
      />
    </>
  );
}

function Th({ label, text }: { label: string; text: string | undefined }) {
  return (
    <th scope="col" class="num">
      <Defined text={text}>{label}</Defined>
    </th>
  );
}

function Stacked({ row, most }: { row: ProgramPlanRow; most: number }) {
  return (
    <span class="mem-plan-bar" aria-hidden="true">
      {PARTS.map((part) => (
        <span
          key={part.field}
          class={`cat-${part.category}`}
          style={{ width: `${(100 * row[part.field]) / most}%` }}
          title={`${part.name}: ${bytes(row[part.field])}`}
        />
      ))}
    </span>
  );
}

/** The buffers of a program; those of the first came with the page. */
function Live(props: {
  program: ProgramPlanRow;
  first: LiveBufferRow[] | undefined;
  definitions: Definition[] | undefined;
}) {
  const { program, first } = props;
  // A report holds the buffers of all programs in one answer.
  const options = { by: "buffer", program: source.isReport ? undefined : program.program_id, top: 0 };
  const asked = useAsk<MemoryByBuffer>("memory", options, first === undefined);
  const at = program.peak_at === null ? "" : ` at ${program.peak_at}`;
  return (
    <Card
      title={`Live at the peak of ${program.program}`}
      text={definition(props.definitions, "live_buffers")}
      note={`${program.program_peak_bytes === null ? "" : bytes(program.program_peak_bytes)}${at}, ${count(program.live_buffers)} buffers`}
    >
      {first ? (
        <Buffers rows={first} />
      ) : (
        <Await of={asked}>
          {(data) => <Buffers rows={data.buffers.filter((row) => row.program_id === program.program_id)} />}
        </Await>
      )}
    </Card>
  );
}

function Buffers({ rows }: { rows: LiveBufferRow[] }) {
  const all = param("buffers") === "all";
  const shown = all ? rows : rows.slice(0, FEW_BUFFERS);
  const most = rows.reduce((most, row) => Math.max(most, row.buffer_share ?? 0), 0);
  return (
    <>
      <table class="plain mem-buffers" aria-label="Buffers at the peak">
        <thead>
          <tr>
            <th scope="col">Instruction</th>
            <th scope="col">For</th>
            <th scope="col">Shape</th>
            <th scope="col">Line</th>
            <th scope="col" class="num">
              Size
            </th>
            <th scope="col" class="num">
              % of peak
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((row, at) => (
            <tr key={at}>
              <td class="name">
                <a
                  href={href("hlo", { filter: exactly(row.instruction), open: 0, program: row.program_id })}
                  title={row.op_path ?? row.instruction}
                >
                  <bdi>{row.instruction}</bdi>
                </a>
              </td>
              <td>{row.kind}</td>
              <td>
                <bdi class="mono-name">{row.shape}</bdi>
              </td>
              <td>
                {row.buffer_file !== null && <SourceLink file={row.buffer_file} line={row.buffer_line} />}
              </td>
              <td class="num">{bytes(row.buffer_bytes)}</td>
              <td class="num mem-buffer-share">
                {row.buffer_share === null ? "" : <Share share={row.buffer_share} of={most} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > FEW_BUFFERS && (
        <button type="button" class="mem-more" onClick={() => setParams({ buffers: all ? undefined : "all" })}>
          {all ? "Show fewer" : `Show all ${count(rows.length)}`}
        </button>
      )}
    </>
  );
}
