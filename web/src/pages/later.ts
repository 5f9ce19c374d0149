// Pages that are loaded when they are first shown.

import "../shared";
export { Changes } from "./changes";
export { FeaturePage, Features } from "./features";
export { GuardPage, Guards } from "./guards";
export { Health } from "./health";
export { Preview } from "./preview";
export { TracePage } from "./traces";
