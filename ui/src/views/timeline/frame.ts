// What one frame of the layer above the rectangles is drawn from.

import type { Ref } from "../../data/types.ts";
import type { Palette } from "../../draw/palette.ts";
import type { Stretches } from "./marks.ts";
import type { Model } from "./model.ts";
import type { Screen } from "./screen.ts";

export interface Frame {
  screen: Screen;
  model: Model;
  palette: Palette;
  labels: Stretches;
  path: Stretches;
  /** Hits near the window. */
  found: readonly Ref[];
}
