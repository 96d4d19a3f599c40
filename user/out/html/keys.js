// SPDX-License-Identifier: BSD-2-Clause
// Keys that work everywhere on the page, and those of the graph.

export const HELP = [
	["↑ ↓ ← →", "move in the graph: caller, callee, neighbours"],
	["Enter", "zoom to the selected frame"],
	["Backspace", "zoom out by one frame"],
	["Esc", "show all; in the search: end it"],
	["Home", "select the first frame"],
	["/", "search; then Enter and Shift+Enter go from match to match"],
	["n  p", "next match, previous match"],
	["i", "callers, upside down"],
	["s", "order: largest first, or by name"],
	["l", "tell lines apart"],
	["v", "next value"],
	["f", "only stacks with the selected function"],
	["x", "leave out stacks with the selected function"],
	["t", "light, dark or as the system says"],
	["o  h", "in the table of labels: only, hide"],
	["?", "this help"],
];

function isTyping(target) {
	return target.closest("input[type=search], select, textarea, dialog") !== null;
}

export function listenEverywhere(app) {
	const actions = {
		"/": () => app.focusSearch(),
		n: () => app.nextMatch(1),
		p: () => app.nextMatch(-1),
		i: () => app.set({ callers: !app.state.callers }),
		s: () => app.set({ order: app.state.order === "heavy" ? "name" : "heavy" }),
		l: () => app.set({ lines: !app.state.lines }),
		v: () => app.set({ type: (app.state.type + 1) % app.model.types.length }),
		f: () => app.filterSelected(false),
		x: () => app.filterSelected(true),
		t: () => app.theme.next(),
		"?": () => app.showHelp(),
	};
	document.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
		if (!Object.hasOwn(actions, event.key)) return;
		actions[event.key]();
		event.preventDefault();
	});
}

export function listenInGraph(app, container) {
	const actions = {
		ArrowUp: () => app.moveUp(1),
		ArrowDown: () => app.moveDown(1),
		ArrowLeft: () => app.moveAside(-1),
		ArrowRight: () => app.moveAside(1),
		PageUp: () => app.moveUp(10),
		PageDown: () => app.moveDown(10),
		Home: () => app.select(0),
		Enter: () => app.zoomTo(app.selected),
		" ": () => app.zoomTo(app.selected),
		Backspace: () => app.zoomOut(),
		Escape: () => app.zoomTo(0),
	};
	container.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(actions, event.key)) return;
		actions[event.key]();
		event.preventDefault();
	});
}
