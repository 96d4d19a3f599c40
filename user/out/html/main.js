// SPDX-License-Identifier: BSD-2-Clause

import { App } from "./app.js";
import { find } from "./dom.js";
import { showHeader } from "./header.js";
import { readModel } from "./model.js";

const model = await readModel(find("profile-data").textContent);
find("profile-data").remove();
showHeader(model);
new App(model);
// Two frames of the screen later all of it has been drawn.
requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("rbprof-drawn")));
