// Which lanes there are and how high each is: steps and pinned lanes on top, the others below, scrolled. Pure.

import type { Counter, GroupInfo, Layout } from "../../data/types.ts";

export const ROW_HEIGHT = 20;
/** Between two rows of a lane. */
export const ROW_GAP = 1;
/** Above and below the rows of a lane. */
export const LANE_PAD = 4;
const COUNTER_HEIGHT = 34;
const HEADER_HEIGHT = 24;

export interface Lane {
  /** Stays the same when lanes are pinned or folded: `g3`, `c:gpu0`, `counters`, `recorded`, `path`. */
  key: string;
  kind: "rows" | "counter" | "counters" | "path";
  label: string;
  detail: string;
  /** The rows drawn. */
  rows: number[];
  /** Rows that folding hides. */
  hidden: number;
  /** Slices and instants of the lane, drawn or folded away. */
  count: number;
  folded: boolean;
  canFold: boolean;
  pinned: boolean;
  canPin: boolean;
  group?: GroupInfo;
  counter?: string;
  /** Within its part (pinned or scrolled). */
  y: number;
  height: number;
}

export interface LaneLayout {
  pinned: Lane[];
  pinnedHeight: number;
  lanes: Lane[];
  height: number;
  /** Lanes without anything in them. */
  empty: number;
  /** Where each row is; a row folded away is where its lane is. */
  places: Map<number, Place>;
}

export interface Place {
  lane: Lane;
  /** Position among the lane's drawn rows. */
  at: number;
  hidden: boolean;
}

export interface LaneChoice {
  pins: ReadonlySet<string>;
  /** Lanes that the user has folded; those that are folded by themselves, opened. */
  folded: ReadonlySet<string>;
  showEmpty: boolean;
  path: boolean;
}

/** How the counters of a file itself are numbered. */
const RECORDED = "file:";
/** Counters of a file that are shown without being asked for. */
const MAX_OPEN = 6;

type Draft = Omit<Lane, "y" | "height" | "pinned"> & { height: number };

export function layOutLanes(layout: Layout, counters: readonly Counter[], choice: LaneChoice): LaneLayout {
  const drafts: Draft[] = [];
  const rest: Draft[] = [];
  let empty = 0;
  for (const group of layout.groups) {
    const nothing = group.rows.every((row) => (layout.rows[row]?.count ?? 0) === 0);
    if (nothing) empty++;
    if (nothing && !choice.showEmpty) continue;
    (group.kind === "steps" ? drafts : rest).push(groupLane(layout, group, choice));
  }
  if (choice.path) drafts.push(pathLane());
  drafts.push(...counterLanes(counters, choice), ...rest);
  const pinned: Lane[] = [];
  const lanes: Lane[] = [];
  let pinnedHeight = 0;
  let height = 0;
  for (const draft of drafts) {
    const pin = !draft.canPin || choice.pins.has(draft.key);
    const scrolls = draft.kind === "counters" || !pin;
    if (scrolls) {
      lanes.push({ ...draft, pinned: false, y: height });
      height += draft.height;
    } else {
      pinned.push({ ...draft, pinned: true, y: pinnedHeight });
      pinnedHeight += draft.height;
    }
  }
  return { pinned, pinnedHeight, lanes, height, empty, places: placesOf([...pinned, ...lanes]) };
}

function placesOf(lanes: readonly Lane[]): Map<number, Place> {
  const places = new Map<number, Place>();
  for (const lane of lanes)
    lane.group?.rows.forEach((row, at) => {
      const hidden = at >= lane.rows.length;
      places.set(row, { lane, at: hidden ? 0 : at, hidden });
    });
  return places;
}

function groupLane(layout: Layout, group: GroupInfo, choice: LaneChoice): Draft {
  const key = `g${group.id}`;
  const folded = choice.folded.has(key) && group.rows.length > 1;
  const rows = folded ? group.rows.slice(0, 1) : group.rows;
  const count = group.rows.reduce((sum, row) => sum + (layout.rows[row]?.count ?? 0), 0);
  return {
    key,
    kind: "rows",
    label: group.label,
    detail: group.detail,
    rows,
    hidden: group.rows.length - rows.length,
    count,
    folded,
    canFold: group.rows.length > 1,
    canPin: group.kind !== "steps",
    group,
    height: 2 * LANE_PAD + Math.max(1, rows.length) * (ROW_HEIGHT + ROW_GAP) - ROW_GAP,
  };
}

/** What is worked out from the trace, then what the file itself has. */
function counterLanes(counters: readonly Counter[], choice: LaneChoice): Draft[] {
  const recorded = counters.filter((counter) => counter.id.startsWith(RECORDED));
  const derived = counters.filter((counter) => !counter.id.startsWith(RECORDED));
  // Many would push the threads off the screen: they are folded until they are wanted.
  const folds = recorded.length > MAX_OPEN;
  return [
    ...counterGroup("counters", "Counters", derived, choice.folded.has("counters"), choice),
    ...counterGroup("recorded", "Recorded counters", recorded, choice.folded.has("recorded") !== folds, choice),
  ];
}

function counterGroup(
  key: string,
  label: string,
  counters: readonly Counter[],
  folded: boolean,
  choice: LaneChoice,
): Draft[] {
  if (counters.length === 0) return [];
  const plain = { rows: [], hidden: 0, detail: "", folded: false, canFold: false, canPin: true };
  const still = counters.filter((counter) => counter.max <= 0).map((counter) => counter.label);
  const about = folded ? [`${counters.length}`] : [];
  if (still.length > 0) about.push(`always 0: ${still.join(", ")}`);
  const lanes: Draft[] = [
    {
      ...plain,
      key,
      kind: "counters",
      label,
      detail: about.join(" · "),
      count: counters.length,
      folded,
      canFold: true,
      canPin: false,
      height: HEADER_HEIGHT,
    },
  ];
  for (const counter of counters) {
    const key = `c:${counter.id}`;
    if (counter.max <= 0) continue;
    if (folded && !choice.pins.has(key)) continue;
    lanes.push({
      ...plain,
      key,
      kind: "counter",
      label: counter.label,
      count: 0,
      counter: counter.id,
      height: COUNTER_HEIGHT,
    });
  }
  return lanes;
}

function pathLane(): Draft {
  return {
    key: "path",
    kind: "path",
    label: "Critical path",
    detail: "",
    rows: [],
    hidden: 0,
    count: 0,
    folded: false,
    canFold: false,
    canPin: false,
    height: 2 * LANE_PAD + ROW_HEIGHT,
  };
}

/** The top of a lane's row, from the top of its lane. */
export function rowTop(place: number): number {
  return LANE_PAD + place * (ROW_HEIGHT + ROW_GAP);
}

/** The row of a lane at a height from its top: -1 above the first and below the last. */
export function rowAt(lane: Lane, y: number): number {
  const place = Math.floor((y - LANE_PAD) / (ROW_HEIGHT + ROW_GAP));
  return lane.rows[place] ?? -1;
}

/** The lane at a height, by bisection. */
export function laneAt(lanes: readonly Lane[], y: number): Lane | undefined {
  let low = 0;
  let high = lanes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const lane = lanes[middle]!;
    if (lane.y + lane.height <= y) low = middle + 1;
    else high = middle;
  }
  const lane = lanes[low];
  return lane && y >= lane.y && y < lane.y + lane.height ? lane : undefined;
}
