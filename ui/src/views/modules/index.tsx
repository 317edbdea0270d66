// The nn.Module tree with what each module costs, and the same by class.

import { useEffect, useMemo, useRef } from "preact/hooks";
import { Choice } from "../../parts/choice.tsx";
import { ColumnMenu, chosenFields } from "../../parts/columns.tsx";
import { many } from "../../parts/format.ts";
import { SearchBox } from "../../parts/search-box.tsx";
import { Await, Card, Empty } from "../../parts/states.tsx";
import { register } from "../../session/commands.ts";
import { go, param, pushParams, setParams } from "../../session/route.ts";
import { useAsk } from "../../session/use-ask.ts";
import { Classes } from "./classes.tsx";
import { moduleColumns } from "./columns.tsx";
import { Ledger } from "./ledger.tsx";
import "./style.css";
import type { Module, ModulesAnswer, ModulesByClass } from "../../data/wire.ts";
import { forestOf, inOrder, opensAtFirst, toggle, toggledOf } from "./tree.ts";
import { TreeTable } from "./tree-table.tsx";

const BY = [
  { value: "tree", name: "Tree" },
  { value: "class", name: "By class" },
] as const;

export function Modules() {
  const by = param("by") === "class" ? "class" : "tree";
  const options = { top: 0, step: param("step"), device: param("device") };
  const tree = useAsk<ModulesAnswer>("modules", { by: "tree", ...options });
  const classes = useAsk<ModulesByClass>("modules", { by: "class", ...options }, by === "class");
  const search = useRef<HTMLInputElement>(null);
  useEffect(
    () =>
      register([
        {
          id: "modules-search",
          name: "Search modules",
          view: "modules",
          keys: ["Slash"],
          run: () => search.current?.focus(),
        },
      ]),
    [],
  );
  return (
    <Await of={tree}>
      {(answer) =>
        answer.modules.length === 0 ? (
          <Empty
            title="No modules in this trace."
            hint="Record with with_stack=True or with_modules=True:"
            code={"with profile(activities=[…], with_stack=True) as prof:\n    train()"}
          />
        ) : (
          <div class="mod">
            <Ledger ledger={answer.ledger} definitions={answer.definitions} />
            <Card title={by === "tree" ? "Modules" : "Modules by class"} note={<Note answer={answer} />}>
              <div class="toolbar mod-tools">
                <Choice
                  label="Group modules"
                  options={BY}
                  value={by}
                  onChange={(value) =>
                    pushParams({ by: value === "tree" ? undefined : value, sort: undefined })
                  }
                />
                <SearchBox
                  field={search}
                  label="Search modules"
                  shortcut="/"
                  placeholder="Search names ( / )"
                  value={param("q") ?? ""}
                  onInput={(q) => setParams({ q: q || undefined })}
                />
                {by === "tree" && <TreeTools answer={answer} />}
              </div>
              {by === "tree" ? (
                <Tree answer={answer} />
              ) : (
                <Await of={classes}>
                  {(found) => (
                    <Classes
                      rows={found.modules}
                      ledger={found.ledger}
                      text={param("q")}
                      definitions={found.definitions}
                      onOpen={(row) => pushParams({ by: undefined, sort: undefined, q: row.name })}
                    />
                  )}
                </Await>
              )}
            </Card>
          </div>
        )
      }
    </Await>
  );
}

function Note({ answer }: { answer: ModulesAnswer }) {
  const { misnested } = answer.ledger;
  return (
    <>
      {many(answer.modules.length, "module")}
      {answer.origin === "hierarchy-text" &&
        ", from the hierarchy recorded with each operator; individual calls cannot be distinguished"}
      {misnested > 0 && `; ${many(misnested, "call")} overlap without nesting, so their module may be wrong`}
    </>
  );
}

/** Rows differ from how they are at first: the URL says which. */
function isOpenNow(rows: readonly Module[]): (index: number) => boolean {
  const toggled = toggledOf(param("t"));
  const all = param("open");
  const first = (index: number) => (all === "all" ? true : all === "none" ? false : opensAtFirst(rows, index));
  return (index) => first(index) !== toggled.has(index);
}

function TreeTools({ answer }: { answer: ModulesAnswer }) {
  const columns = moduleColumns(answer.modules, answer.definitions, answer.ledger.device_ns);
  return (
    <>
      <button type="button" onClick={() => setParams({ open: "all", t: undefined })}>
        Expand all
      </button>
      <button type="button" onClick={() => setParams({ open: "none", t: undefined })}>
        Collapse all
      </button>
      <ColumnMenu all={columns} value={param("cols")} onChange={(cols) => setParams({ cols })} />
    </>
  );
}

function Tree({ answer }: { answer: ModulesAnswer }) {
  const rows = answer.modules;
  const forest = useMemo(() => forestOf(rows), [rows]);
  const columns = useMemo(
    () => moduleColumns(rows, answer.definitions, answer.ledger.device_ns),
    [rows, answer.definitions, answer.ledger.device_ns],
  );
  const [text, sort] = [param("q"), param("sort")];
  const seen = inOrder(rows, forest, { isOpen: isOpenNow(rows), sort, text });
  const fields = new Set(chosenFields(columns, param("cols")));
  if (seen.length === 0) return <Empty title="No modules match." />;
  return (
    <TreeTable
      rows={rows}
      seen={seen}
      columns={columns.filter((column) => fields.has(column.field))}
      sort={sort}
      onSort={(field) => setParams({ sort: field === sort ? undefined : field })}
      onToggle={(index) => setParams({ t: toggle(param("t"), index) })}
      onFlame={(row) => go("flame", { weight: "module", path: row.path })}
      onTimeline={
        answer.origin === "python-calls"
          ? (row) => go("timeline", { name: `nn.Module: ${row.name}` })
          : undefined
      }
    />
  );
}
