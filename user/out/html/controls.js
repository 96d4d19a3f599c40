// SPDX-License-Identifier: BSD-2-Clause
// The bar of choices, the chips of filters, the legend, the tabs and the separator.

import { element, find, radios } from "./dom.js";
import { formatDelta, formatPercent, formatValue, typeName, visible } from "./format.js";
import { labelValue } from "./names.js";
import { KINDS } from "./palette.js";

// ---- choices ----

function showTypes(app) {
	const { model } = app;
	const choices = model.types.map((type, index) => {
		const [first, second] = model.sides.map((side) => side.values[index].reduce((sum, value) => sum + value, 0));
		const sum = element("b", { textContent: formatValue(model.isDiff ? second : first, type.unit) });
		const parts = [element("span", { textContent: typeName(type.type) }), sum];
		if (model.isDiff) {
			const change = second - first;
			const text = first ? formatPercent(change, first) : formatDelta(change, type.unit);
			const look = change > 0 ? "grown" : change < 0 ? "shrunk" : "";
			parts.push(element("em", { className: look, textContent: change > 0 && first ? `+${text}` : text }));
		}
		return [String(index), element("span", { className: "tile" }, parts)];
	});
	radios(find("types"), "type", choices, String(app.state.type), (value) => app.set({ type: Number(value) }));
}

function choose(container, name, choices, current, onChange) {
	radios(find(container), name, choices, current, onChange);
}

export function makeControls(app) {
	const { model, state } = app;
	showTypes(app);
	const views = [
		["down", "Flame graph"],
		["up", "Callers"],
	];
	choose("views", "view", views, "down", (value) => app.set({ callers: value === "up" }));
	const orders = [
		["heavy", "Left heavy"],
		["name", "By name"],
	];
	choose("orders", "order", orders, state.order, (order) => app.set({ order }));
	const group = find("group");
	group.append(
		element("option", { value: "", textContent: "nothing" }),
		...model.labels.map((label, index) =>
			element("option", { value: String(index), textContent: visible(label.name) }),
		),
	);
	group.disabled = !model.labels.length;
	group.addEventListener("change", () => app.set({ group: group.value === "" ? null : Number(group.value) }));
	find("lines").addEventListener("change", (event) => app.set({ lines: event.target.checked }));
	find("diff-controls").hidden = !model.isDiff;
	find("normalize").addEventListener("change", (event) => app.set({ normalize: event.target.checked }));
	const widths = [
		["both", "Both"],
		["base", "Base"],
		["head", "Head"],
	];
	choose("widths", "width", widths, state.width, (width) => app.set({ width }));
	find("reset").addEventListener("click", () => app.zoomTo(0));
	find("act-zoom").addEventListener("click", () => app.zoomTo(app.selected));
	find("act-only").addEventListener("click", () => app.filterSelected(false));
	find("act-hide").addEventListener("click", () => app.filterSelected(true));
	find("act-copy").addEventListener("click", () => app.copySelected());
	find("help-button").addEventListener("click", () => app.showHelp());
}

function check(name, value) {
	const input = document.querySelector(`input[name="${name}"][value="${value}"]`);
	if (input) input.checked = true;
}

// The controls show the state, whoever changed it.
export function showControls(app) {
	const { state } = app;
	check("type", state.type);
	check("view", state.callers ? "up" : "down");
	check("order", state.order);
	check("width", state.width);
	find("group").value = state.group === null ? "" : String(state.group);
	find("lines").checked = state.lines;
	find("normalize").checked = state.normalize;
}

// ---- filters ----

function filterText(app, filter) {
	if (filter.kind === "function") return `stacks ${filter.exclude ? "without" : "with"} ${app.names.names[filter.id]}`;
	const label = app.model.labels[filter.key];
	return `${visible(label.name)} ${filter.exclude ? "≠" : "="} ${labelValue(label, filter.value)}`;
}

export function showFilters(app) {
	const { filters } = app.state;
	const chips = filters.map((filter) => {
		const text = filterText(app, filter);
		const button = element("button", { type: "button", className: "chip", textContent: text });
		button.append(element("span", { textContent: "×", ariaHidden: "true" }));
		button.setAttribute("aria-label", `Remove filter: ${text}`);
		button.addEventListener("click", () => app.toggleFilter(filter));
		return button;
	});
	if (filters.length > 1) {
		const all = element("button", { type: "button", className: "link", textContent: "Remove all" });
		all.addEventListener("click", () => app.set({ filters: [] }));
		chips.push(all);
	}
	find("filters").replaceChildren(...chips);
	find("filters").hidden = !filters.length;
}

// ---- legend ----

export function showLegend(app) {
	const { model, palette } = app;
	const items = [];
	const add = (color, text) => {
		const swatch = element("span", { className: "swatch" });
		swatch.style.background = color;
		items.push(element("li", {}, [swatch, text]));
	};
	if (model.isDiff) {
		add(palette.delta(-1), "only in base");
		add(palette.delta(-0.25), "shrunk");
		add(palette.delta(0), "same");
		add(palette.delta(0.25), "grown");
		add(palette.delta(1), "only in head");
	} else {
		for (const [kind, text] of KINDS) if (model.kinds.includes(kind)) add(palette.plain(kind), text);
	}
	find("legend").replaceChildren(...items);
}

// ---- tabs, separator ----

export function makeTabs(onShow) {
	const tabs = [...document.querySelectorAll("[role=tab]")];
	const show = (tab, hasFocus) => {
		for (const other of tabs) {
			const isShown = other === tab;
			other.setAttribute("aria-selected", isShown);
			other.tabIndex = isShown ? 0 : -1;
			find(other.getAttribute("aria-controls")).hidden = !isShown;
		}
		if (hasFocus) tab.focus();
		onShow(tab.id);
	};
	tabs.forEach((tab, index) => {
		tab.addEventListener("click", () => show(tab, false));
		tab.addEventListener("keydown", (event) => {
			const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
			if (!step) return;
			show(tabs[(index + step + tabs.length) % tabs.length], true);
			event.preventDefault();
		});
	});
}

const PANEL = { least: 12, most: 85, step: 4 }; // percent of the room below the bars

export function makeSeparator() {
	const separator = find("separator");
	const room = find("room");
	const set = (percent) => {
		const value = Math.min(PANEL.most, Math.max(PANEL.least, percent));
		room.style.setProperty("--panel", `${value}%`);
		separator.setAttribute("aria-valuenow", Math.round(value));
	};
	const current = () => Number(separator.getAttribute("aria-valuenow"));
	separator.addEventListener("keydown", (event) => {
		const step = { ArrowUp: PANEL.step, ArrowDown: -PANEL.step }[event.key];
		if (!step) return;
		set(current() + step);
		event.preventDefault();
	});
	separator.addEventListener("pointerdown", (event) => separator.setPointerCapture(event.pointerId));
	separator.addEventListener("pointermove", (event) => {
		if (!separator.hasPointerCapture(event.pointerId)) return;
		const box = room.getBoundingClientRect();
		set((100 * (box.bottom - event.clientY)) / box.height);
	});
	set(current());
}
