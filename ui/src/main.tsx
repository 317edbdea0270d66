// Starts the page: styles, theme, routing, commands, the list of runs, then the frame around the views.

import { render } from "preact";
import "./tokens.css";
import "./base.css";
import "./app/shell.css";
import "./parts/parts.css";
import "./parts/table.css";
import "./parts/browse.css";
import "./parts/charts/charts.css";
import "./categories.css";
import { App } from "./app/app.tsx";
import { registerShared } from "./app/dialogs.tsx";
import { whenIdle } from "./session/busy.ts";
import { startKeyboard } from "./session/commands.ts";
import { route, startRouting } from "./session/route.ts";
import { startWatching } from "./session/state.ts";
import { startTheme } from "./session/theme.ts";

startTheme();
startRouting();
registerShared();
startKeyboard(() => route.value.view);
startWatching();

const root = document.getElementById("app");
if (root) render(<App />, root);

declare global {
  interface Window {
    /** For tests: resolves when the page is still. */
    stepscopeIdle: typeof whenIdle;
  }
}
window.stepscopeIdle = whenIdle;
