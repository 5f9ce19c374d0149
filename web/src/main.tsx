// The page of `twining ui`: starts everything once.

import "./shared";
import { render } from "preact";
import { App } from "./app";
import { loadInfo, startExchange } from "./core/api";
import { guardFocus } from "./core/focus";
import { startKeys } from "./core/keys";
import { startLive } from "./core/live";
import { startRouter } from "./core/router";
import { keepSettings } from "./core/settings";
import { showHiddenCharacters } from "./core/visible";

showHiddenCharacters();
keepSettings();
startRouter();
startKeys();
guardFocus();
startExchange();
// A fresh link opened in this tab changes only the fragment, which loads nothing by itself.
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#c=")) location.reload();
});
// The header in the file is there to be seen before this runs.
document.body.replaceChildren();
render(<App />, document.body);
void loadInfo().catch(() => undefined);
startLive();
