// Where things are on the screen: times to pixels, rows to heights, and back.

import { type Lane, type LaneLayout, laneAt, type Place, ROW_HEIGHT, rowAt, rowTop } from "./lane-layout.ts";
import type { Span } from "./visible-span.ts";

/** Height of the ruler above the rows. */
export const RULER_PX = 26;
/** Pinned lanes take at most this share of the height. */
const PINNED_SHARE = 0.6;

export interface Spot {
  lane: Lane;
  /** -1 between rows and in lanes without rows. */
  row: number;
  /** The top of the lane. */
  top: number;
}

export class Screen {
  width = 1;
  height = 1;
  ratio = 1;
  view: Span = { from: 0, to: 1 };
  laneLayout: LaneLayout = { pinned: [], pinnedHeight: 0, lanes: [], height: 0, empty: 0, places: new Map() };
  scroll = 0;
  pinScroll = 0;

  /** Where pinned lanes end and scrolled ones begin. */
  get split(): number {
    const most = Math.floor((this.height - RULER_PX) * PINNED_SHARE);
    return RULER_PX + Math.min(this.laneLayout.pinnedHeight, most);
  }
  get mostScroll(): number {
    return Math.max(0, this.laneLayout.height - (this.height - this.split));
  }
  get mostPinScroll(): number {
    return Math.max(0, this.laneLayout.pinnedHeight - (this.split - RULER_PX));
  }

  x(time: number): number {
    return ((time - this.view.from) / (this.view.to - this.view.from)) * this.width;
  }
  time(x: number): number {
    return this.view.from + (x / this.width) * (this.view.to - this.view.from);
  }
  get nsPerPixel(): number {
    return (this.view.to - this.view.from) / this.width;
  }

  laneTop(lane: Lane): number {
    return lane.pinned ? RULER_PX + lane.y - this.pinScroll : this.split + lane.y - this.scroll;
  }

  /** The top of a row, in sight or not; a row folded away is where its lane is. */
  rowY(row: number): number | undefined {
    const place = this.laneLayout.places.get(row);
    return place && this.placeY(place);
  }
  placeY(place: Place): number {
    return this.laneTop(place.lane) + rowTop(place.at);
  }

  /** Whether a row's whole height is in sight. */
  sees(row: number): boolean {
    const place = this.laneLayout.places.get(row);
    if (!place || place.hidden) return false;
    const y = this.placeY(place);
    return place.lane.pinned
      ? y >= RULER_PX && y + ROW_HEIGHT <= this.split
      : y >= this.split && y + ROW_HEIGHT <= this.height;
  }

  /** What is at a height. */
  at(y: number): Spot | undefined {
    if (y < RULER_PX || y >= this.height) return undefined;
    const pinned = y < this.split;
    const inside = pinned ? y - RULER_PX + this.pinScroll : y - this.split + this.scroll;
    const lane = laneAt(pinned ? this.laneLayout.pinned : this.laneLayout.lanes, inside);
    return lane && { lane, row: rowAt(lane, inside - lane.y), top: this.laneTop(lane) };
  }

  /** Rows between two heights. */
  rowsBetween(a: number, b: number): number[] {
    const low = Math.min(a, b);
    const high = Math.max(a, b);
    const rows: number[] = [];
    for (const lanes of [this.laneLayout.pinned, this.laneLayout.lanes])
      for (const lane of lanes)
        lane.rows.forEach((row, at) => {
          const y = this.laneTop(lane) + rowTop(at);
          if (y < high && y + ROW_HEIGHT > low) rows.push(row);
        });
    return rows;
  }

  /** Scrolls no further than there is something. */
  settle(): void {
    this.scroll = Math.min(Math.max(0, this.scroll), this.mostScroll);
    this.pinScroll = Math.min(Math.max(0, this.pinScroll), this.mostPinScroll);
  }
}
