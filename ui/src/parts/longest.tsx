// The longest calls of one name, each a jump away on the timeline.

import { href } from "../session/route.ts";
import { runId, source } from "../session/state.ts";
import { useLoaded } from "../session/use-ask.ts";
import { count, time } from "./format.ts";
import { JumpButton } from "./jump.tsx";
import { Bar } from "./metric.tsx";
import { Box } from "./mini.tsx";
import { Await } from "./states.tsx";

const ASKED_HITS = 20;
const SHOWN_HITS = 8;

export function Longest({ name }: { name: string }) {
  const run = runId.value;
  const asked = query(name);
  const hits = useLoaded(run === undefined ? undefined : JSON.stringify([run, asked]), (signal) =>
    source.search(run ?? 0, { ...asked, order: "dur", limit: ASKED_HITS }, signal),
  );
  return (
    <Box title="Longest calls" note={hits.data && <>{count(hits.data.total)} in the trace</>}>
      <Await of={hits}>
        {(data) => {
          const longest = data.hits[0]?.dur_ns ?? 1;
          if (data.hits.length === 0) return <p class="quiet">No slices with this name on the timeline.</p>;
          return (
            <>
              <ol class="longest">
                {data.hits.slice(0, SHOWN_HITS).map((hit) => (
                  <li key={hit.id}>
                    <JumpButton place={hit} />
                    <span class="num">{time(hit.dur_ns)}</span>
                    <Bar share={hit.dur_ns / longest} />
                    <span class="quiet num">at {time(hit.start_ns)}</span>
                  </li>
                ))}
              </ol>
              <a href={href("timeline", { q: name })}>Show all on the timeline</a>
            </>
          );
        }}
      </Await>
    </Box>
  );
}

/** Steps share one name in the tables but are numbered on the timeline. */
function query(name: string): { q: string; exact: boolean } {
  if (name === "ProfilerStep*") return { q: "/^ProfilerStep#\\d+$/", exact: false };
  return { q: name, exact: true };
}
