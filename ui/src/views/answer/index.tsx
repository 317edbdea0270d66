// Questions without a drawing of their own: each table of the answer, with the definitions of its columns one hover away.

import { useMemo, useState } from "preact/hooks";
import { rowsOf } from "../../data/rows.ts";
import type { Answer, Definition } from "../../data/types.ts";
import { type AnyRow, arrangedRows, columnsOf } from "../../parts/answer-columns.ts";
import { byField, count, plain, shortName } from "../../parts/format.ts";
import { definition, Label } from "../../parts/metric.tsx";
import { SearchBox } from "../../parts/search-box.tsx";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { useXla } from "../../session/framework.ts";
import { param } from "../../session/route.ts";
import { source } from "../../session/state.ts";
import { useAnyAnswer } from "../../session/use-ask.ts";
import "./style.css";

const MAX_ROWS = 1000;
/** Parts of every answer that are not tables of it. */
const NOT_TABLES = new Set(["definitions", "remarks", "unchecked_rules"]);

/** A page about one question, grouped in each of these ways. */
function AnswerPage(props: { question: string; by?: string[]; empty: string; hint: string }) {
  const [text, setText] = useState("");
  return (
    <div class="answer-page">
      <div class="toolbar">
        <SearchBox label="Filter rows" value={text} onInput={setText} placeholder="Filter rows" />
      </div>
      {(props.by ?? [undefined]).map((by, at) => (
        <Tables key={by ?? ""} {...props} by={by} text={text} first={at === 0} />
      ))}
    </div>
  );
}

function Tables(props: {
  question: string;
  by: string | undefined;
  text: string;
  empty: string;
  hint: string;
  first: boolean;
}) {
  const answer = useAnyAnswer(props.question, { by: props.by, top: MAX_ROWS + 1, step: param("step") });
  // A report holds no answer where there is none.
  if (answer.problem && source.isReport)
    return props.first ? <Empty title={props.empty} hint={props.hint} /> : null;
  return (
    <Await of={answer}>
      {(data) => {
        const tables = tablesOf(data);
        if (tables.every(([, rows]) => rows.length === 0))
          return props.first ? <Empty title={props.empty} hint={props.hint} /> : null;
        return (
          <>
            <Facts answer={data} />
            {tables.map(([part, rows]) => (
              <PartTable key={part} part={part} rows={rows} definitions={data.definitions} text={props.text} />
            ))}
          </>
        );
      }}
    </Await>
  );
}

function tablesOf(answer: Answer): [string, AnyRow[]][] {
  return Object.entries(answer).flatMap(([part, rows]) =>
    Array.isArray(rows) && !NOT_TABLES.has(part) && rows.every((row) => typeof row === "object" && row !== null)
      ? [[part, rows as AnyRow[]] as [string, AnyRow[]]]
      : [],
  );
}

/** Numbers about the whole answer. */
function Facts({ answer }: { answer: Answer }) {
  const flat = Object.entries(answer).flatMap(([key, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? Object.entries(value as AnyRow)
      : [[key, value] as [string, unknown]],
  );
  const facts = flat.filter(
    ([key, value]) => typeof value === "number" && value !== 0 && definition(answer.definitions, key),
  );
  if (facts.length === 0) return null;
  return (
    <p class="answer-facts">
      {facts.map(([key, value]) => (
        <span key={key}>
          <Label of={answer.definitions} field={key} /> <b class="num">{byField(key, value)}</b>
        </span>
      ))}
    </p>
  );
}

function PartTable(props: {
  part: string;
  rows: AnyRow[];
  definitions: Definition[] | undefined;
  text: string;
}) {
  const [sort, setSort] = useState<string>();
  // One more than is shown was asked for.
  const first = useMemo(() => props.rows.slice(0, MAX_ROWS), [props.rows]);
  const rows = useMemo(() => arrangedRows(first, props.text, sort), [first, props.text, sort]);
  const xla = useXla();
  // How PyTorch would count does not matter where it did not run.
  const columns = useMemo(
    () =>
      columnsOf(props.rows, props.definitions)
        .filter(({ field }) => !xla || !field.startsWith("pytorch_"))
        .map(tableColumn),
    [props.rows, props.definitions, xla],
  );
  if (props.rows.length === 0) return null;
  const note = props.rows.length > MAX_ROWS ? `the first ${count(MAX_ROWS)} rows` : undefined;
  return (
    <Card title={plain(props.part)} note={note} class="answer-table">
      <Table
        label={plain(props.part)}
        columns={columns}
        rows={rowsOf(rows)}
        sort={sort}
        onSort={setSort}
        height={520}
        empty={<Empty title="No rows match the filter." />}
      />
    </Card>
  );
}

function tableColumn(column: ReturnType<typeof columnsOf>[number], at: number): Column<AnyRow> {
  const { field, label, text, isText } = column;
  const cell = (row: AnyRow) => {
    const value = row[field];
    if (value === null || value === undefined || value === false) return <span class="quiet">–</span>;
    const shown = byField(field, value);
    return isText ? (
      <bdi class="mono-name" title={shown}>
        {shortName(shown).slice(0, 300)}
      </bdi>
    ) : (
      shown
    );
  };
  const width = at === 0 ? undefined : isText ? "180px" : "104px";
  return { field, label, text, align: isText ? "left" : "right", ...(width ? { width } : {}), cell };
}

export const Regions = () => (
  <AnswerPage
    question="regions"
    empty="No named ranges in this trace."
    hint="Put torch.profiler.record_function or jax.profiler.TraceAnnotation around parts of a step."
  />
);

export const Phases = () => (
  <AnswerPage question="phases" empty="No phases in this trace." hint="They need operators and steps." />
);

export const Collectives = () => (
  <AnswerPage
    question="collectives"
    empty="No communication in this trace."
    hint="Collectives of NCCL, RCCL, gloo and MPI are listed here."
  />
);

export const Serving = () => (
  <AnswerPage
    question="serving"
    empty="No serving engine in this trace."
    hint="Iterations of vLLM, SGLang and others are listed here."
  />
);

export const Threads = () => (
  <AnswerPage
    question="threads"
    empty="Python's threads were not sampled in this run."
    hint="stepscope run and stepscope record sample which thread holds the GIL, and asyncio tasks."
  />
);

export const Graphs = () => (
  <AnswerPage
    question="graphs"
    by={["graph", "node"]}
    empty="No CUDA graphs in this trace."
    hint="Launches of CUDA and HIP graphs are listed here."
  />
);

export const Compile = () => (
  <AnswerPage
    question="compile"
    by={["region", "kernel", "eager", "phase"]}
    empty="Nothing of torch.compile in this trace."
    hint="Compiled regions, their kernels and what ran uncompiled are listed here."
  />
);
