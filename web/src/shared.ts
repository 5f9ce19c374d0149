// What several chunks use. Every chunk imports this, so that it is one file instead of a dozen:
// the bundler makes a file for each set of chunks that a module is used by.

import "./acts/act";
import "./acts/dialog";
import "./acts/offers";
import "./core/keys";
import "./core/live";
import "./core/loader";
import "./core/pages";
import "./core/router";
import "./core/settings";
import "./core/time";
import "./core/visible";
import "./pages/find-id";
import "./ui/controls";
import "./ui/markdown";
import "./ui/modal";
import "./ui/overlays";
import "./ui/parts";
import "./ui/records";
import "./ui/virtual-list";
