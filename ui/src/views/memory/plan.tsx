// Memory that the compiler planned: what each program was given, and what is live when it needs most.

import type { Definition } from "../../data/types.ts";
import type { LiveBufferRow, MemoryByBuffer, ProgramPlanRow } from "../../data/wire.ts";
import { exactly } from "../../parts/filter.tsx";
import { bytes, count, many } from "../../parts/format.ts";
import { type Definitions, definition, Label, labelOf, Share } from "../../parts/metric.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { SourceLink } from "../../parts/source-link.tsx";
import { Await, Card } from "../../parts/states.tsx";
import { href, numberParam, param, setParams } from "../../session/route.ts";
import { source } from "../../session/state.ts";
import { useAsk } from "../../session/use-ask.ts";

const FIRST_PROGRAMS = 6;
const FEW_BUFFERS = 15;

/** What memory is for, in the order of the bar. */
const PARTS = [
  { field: "argument_bytes", category: 7 },
  { field: "result_bytes", category: 5 },
  { field: "temporary_bytes", category: 9 },
  { field: "constant_bytes", category: 12 },
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
  const shown = all ? programs : programs.slice(0, FIRST_PROGRAMS);
  const most = programs.reduce((most, row) => Math.max(most, row.planned_bytes), 1);
  return (
    <>
      <Card title="Compiled programs" note="memory as the compiler planned it">
        <ul class="legend mem-plan-legend">
          {PARTS.map((part) => (
            <li key={part.field}>
              <span class={`mem-plan-key cat-${part.category}`} />
              <Label of={definitions} field={part.field} />
            </li>
          ))}
        </ul>
        <PlainTable
          label="Compiled programs"
          class="mem-plan"
          of={definitions}
          rows={shown}
          rowClass={(row) => (row === chosen ? "chosen" : undefined)}
          columns={[
            {
              label: "Program",
              as: "text",
              cell: (row) => (
                <>
                  <button
                    type="button"
                    class="mem-plan-name"
                    aria-pressed={row === chosen}
                    onClick={() => setParams({ program: row.program_id })}
                  >
                    <bdi>{row.program}</bdi> <span class="quiet">{row.program_id}</span>
                  </button>
                  {!row.ran && <span class="quiet"> did not run</span>}
                </>
              ),
            },
            { label: "Plan", as: "text", cell: (row) => <Stacked row={row} most={most} of={definitions} /> },
            "planned_bytes",
            {
              field: "program_peak_bytes",
              cell: ({ program_peak_bytes: peak }) => (peak === null ? "unknown" : bytes(peak)),
            },
            "argument_bytes",
            "aliased_bytes",
            "temporary_bytes",
          ]}
        />
        {programs.length > FIRST_PROGRAMS && (
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

function Stacked({ row, most, of }: { row: ProgramPlanRow; most: number; of: Definitions }) {
  return (
    <span class="mem-plan-bar" aria-hidden="true">
      {PARTS.map((part) => (
        <span
          key={part.field}
          class={`cat-${part.category}`}
          style={{ width: `${(100 * row[part.field]) / most}%` }}
          title={`${labelOf(of, part.field)}: ${bytes(row[part.field])}`}
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
      note={`${program.program_peak_bytes === null ? "" : bytes(program.program_peak_bytes)}${at}, ${many(program.live_buffers, "buffer")}`}
    >
      {first ? (
        <Buffers rows={first} of={props.definitions} />
      ) : (
        <Await of={asked}>
          {(data) => (
            <Buffers
              rows={data.buffers.filter((row) => row.program_id === program.program_id)}
              of={data.definitions}
            />
          )}
        </Await>
      )}
    </Card>
  );
}

function Buffers({ rows, of }: { rows: LiveBufferRow[]; of: Definitions }) {
  const all = param("buffers") === "all";
  const shown = all ? rows : rows.slice(0, FEW_BUFFERS);
  const most = rows.reduce((most, row) => Math.max(most, row.buffer_share ?? 0), 0);
  return (
    <>
      <PlainTable
        label="Buffers at the peak"
        class="mem-buffers"
        of={of}
        rows={shown}
        columns={[
          {
            label: "Instruction",
            as: "name",
            cell: (row) => (
              <a
                href={href("hlo", { filter: exactly(row.instruction), open: 0, program: row.program_id })}
                title={row.op_path ?? row.instruction}
              >
                <bdi>{row.instruction}</bdi>
              </a>
            ),
          },
          { label: "For", as: "text", cell: (row) => row.kind },
          { label: "Shape", as: "text", cell: (row) => <bdi class="mono-name">{row.shape}</bdi> },
          {
            label: "Line",
            as: "text",
            cell: ({ buffer_file, buffer_line }) =>
              buffer_file !== null && <SourceLink file={buffer_file} line={buffer_line} />,
          },
          "buffer_bytes",
          {
            field: "buffer_share",
            class: "mem-buffer-share",
            cell: (row) => row.buffer_share !== null && <Share share={row.buffer_share} of={most} />,
          },
        ]}
      />
      {rows.length > FEW_BUFFERS && (
        <button type="button" class="mem-more" onClick={() => setParams({ buffers: all ? undefined : "all" })}>
          {all ? "Show fewer" : `Show all ${count(rows.length)}`}
        </button>
      )}
    </>
  );
}
