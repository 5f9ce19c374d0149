// Long lists and records, loaded when they are first shown.

import "../shared";
export { AgentPage } from "./agent";
export { DecisionPage } from "./decision";
export { Decisions } from "./decisions";
export { EntryPage } from "./entry";
export { Stream } from "./stream";
