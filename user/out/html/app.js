// SPDX-License-Identifier: BSD-2-Clause
// The state of the page, and what changes it.

import { Callers } from "./callers.js";
import { makeControls, makeSeparator, makeTabs, showControls, showFilters, showLegend } from "./controls.js";
import { Details } from "./details.js";
import { element, find } from "./dom.js";
import { formatPercent, formatValue, typeName } from "./format.js";
import { Functions } from "./functions.js";
import { Graph } from "./graph.js";
import { HELP, listenEverywhere, listenInGraph } from "./keys.js";
import { Labels } from "./labels.js";
import { HIDDEN } from "./layout.js";
import { Names } from "./names.js";
import { Palette } from "./palette.js";
import { Search } from "./search.js";
import { Theme } from "./theme.js";
import { buildTree } from "./tree.js";

// Changes of these keep what is zoomed to and selected: the paths to it are still there.
const KEEPS_PATHS = new Set(["type", "order", "filters", "width", "normalize"]);

function sameFilter(a, b) {
	return a.kind === b.kind && a.id === b.id && a.key === b.key && a.value === b.value;
}

export class App {
	constructor(model) {
		this.model = model;
		this.state = {
			type: model.shown,
			group: null,
			filters: [],
			lines: false,
			callers: false,
			order: "heavy",
			width: "both",
			normalize: model.normalize,
		};
		this.zoom = 0;
		this.selected = 0;
		this.names = new Names(model, this.state);
		this.search = new Search(this.names);
		this.details = new Details(this);
		this.theme = new Theme(find("theme"), (name) => this.paint(name));
		this.graph = new Graph(find("graph-scroller"), find("graph-canvas"), find("graph-space"));
		this.functions = new Functions(find("functions"), this);
		this.labels = new Labels(this);
		makeControls(this);
		makeTabs((tab) => this.showTab(tab));
		makeSeparator();
		showFilters(this);
		showLegend(this);
		this.listen();
		this.rebuild();
	}

	// ---- what is seen ----

	get unit() {
		return this.model.types[this.state.type].unit;
	}

	total(side) {
		return this.down.total(0, side);
	}

	// Head's share of a pair of sums, less base's, which may stand for as much as head has.
	change([base, head]) {
		return head - base * this.scale;
	}

	paint(theme) {
		this.palette = new Palette(theme);
		if (!this.tree) return;
		this.look.palette = this.palette;
		showLegend(this);
		this.functions.list.draw();
		this.details.showSelected();
		this.graph.plan();
	}

	fill(node) {
		const { tree, palette, names } = this;
		const key = tree.key(node);
		if (this.search.isActive) return palette.plain(this.search.matches(key) ? "match" : "dim");
		if (!this.model.isDiff) {
			const id = names.functionOf(key);
			return id < 0 ? palette.plain(names.kind(key)) : palette.code(names.kind(key), this.model.functionFile[id]);
		}
		const base = Math.max(0, tree.total(node, 0) * this.scale);
		const head = Math.max(0, tree.total(node, 1));
		return palette.delta(base + head ? (head - base) / (base + head) : 0);
	}

	makeView() {
		const { tree, state, names } = this;
		const { width } = state;
		const widthOf = this.model.isDiff
			? (node) =>
					(width === "head" ? 0 : Math.max(0, tree.total(node, 0)) * this.scale) +
					(width === "base" ? 0 : Math.max(0, tree.total(node, 1)))
			: (node) => Math.max(0, tree.total(node, 0));
		const byName = (a, b) => {
			const left = names.label(tree.key(a));
			const right = names.label(tree.key(b));
			return left < right ? -1 : left > right ? 1 : tree.key(a) - tree.key(b);
		};
		const byWidth = (a, b) => widthOf(b) - widthOf(a) || byName(a, b);
		this.view = { tree, widthOf, compare: state.order === "heavy" ? byWidth : byName };
	}

	makeLook() {
		const { names } = this;
		this.look = {
			palette: this.palette,
			label: (node) => names.label(this.tree.key(node)),
			fill: (node) => this.fill(node),
			isSame: (node) => {
				const id = names.functionOf(this.tree.key(node));
				return id >= 0 && id === this.marked;
			},
			isFaint: (node) => this.search.isActive && !this.search.matches(this.tree.key(node)),
		};
	}

	// ---- what changes it ----

	set(changes) {
		const isKept = Object.keys(changes).every((name) => KEEPS_PATHS.has(name));
		const zoom = isKept ? this.path(this.zoom) : [];
		const selected = isKept ? this.path(this.selected) : [];
		Object.assign(this.state, changes);
		this.rebuild(zoom, selected);
	}

	path(node) {
		const keys = [];
		for (let at = node; at > 0; at = this.tree.parent(at)) keys.push(this.tree.key(at));
		return keys.reverse();
	}

	// As far down a path as it is there.
	follow(path) {
		let node = 0;
		for (const key of path) {
			const next = this.tree.children(node, this.view.compare).find((child) => this.tree.key(child) === key);
			if (next === undefined) break;
			node = next;
		}
		return node;
	}

	rebuild(zoom = [], selected = []) {
		const built = buildTree(this.model, this.state);
		this.down = built.tree;
		this.sums = built.functions;
		const [base, head] = this.model.sides.map((_, side) => this.down.total(0, side));
		this.scale = this.model.isDiff && this.state.normalize && base > 0 && head > 0 ? head / base : 1;
		this.tree = this.state.callers ? new Callers(this.down) : this.down;
		this.makeView();
		this.makeLook();
		this.zoom = this.follow(zoom);
		this.selected = this.follow(selected);
		this.graph.hover = null;
		this.graph.selected = this.selected;
		this.marked = this.names.functionOf(this.tree.key(this.selected));
		this.details.hideTip();
		showControls(this);
		showFilters(this);
		this.graph.show(this.view, this.look, this.zoom);
		this.functions.show();
		if (!find("labels").hidden) this.labels.show();
		this.details.showSelected();
		this.tell();
	}

	hasFilter(key, value, exclude) {
		return this.state.filters.some(
			(filter) =>
				filter.kind === "label" &&
				filter.key === key &&
				filter.value === value &&
				(exclude === undefined || filter.exclude === exclude),
		);
	}

	// A filter that is there goes; one of the same thing that says the opposite is replaced.
	toggleFilter(filter) {
		const { filters } = this.state;
		const same = filters.find((other) => sameFilter(other, filter));
		const rest = filters.filter((other) => other !== same);
		this.set({ filters: same && same.exclude === filter.exclude ? rest : [...rest, filter] });
	}

	filterSelected(exclude) {
		const id = this.names.functionOf(this.tree.key(this.selected));
		if (id >= 0) this.toggleFilter({ kind: "function", id, exclude });
	}

	async copySelected() {
		const key = this.tree.key(this.selected);
		const text = [this.names.label(key), this.names.place(key)].filter(Boolean).join(" ");
		try {
			await navigator.clipboard.writeText(text);
			this.say(`copied: ${text}`);
		} catch {
			this.say("the browser does not let this page copy");
		}
	}

	// ---- zoom and selection ----

	zoomTo(node) {
		this.zoom = node;
		this.graph.show(this.view, this.look, node);
		this.graph.reveal(node);
		this.select(node);
		this.tell();
	}

	zoomOut() {
		if (this.zoom > 0) this.zoomTo(this.tree.parent(this.zoom));
	}

	select(node) {
		this.selected = node;
		this.graph.selected = node;
		this.marked = this.names.functionOf(this.tree.key(node));
		this.graph.reveal(node);
		this.graph.plan();
		this.details.showSelected();
	}

	moveUp(steps) {
		let node = this.selected;
		for (let i = 0; i < steps && node > 0; i++) node = this.tree.parent(node);
		this.select(node);
	}

	moveDown(steps) {
		let node = this.selected;
		for (let i = 0; i < steps; i++) {
			const widest = this.widestChild(node);
			if (widest === undefined) break;
			node = widest;
		}
		this.select(node);
	}

	// On the way to what is zoomed to, the only one; below it the widest that can be seen.
	widestChild(node) {
		const { tree, view, graph } = this;
		const level = graph.layout.level(tree.depth(node) + 1);
		let best;
		for (const child of level?.nodes ?? []) {
			if (child === HIDDEN || tree.parent(child) !== node) continue;
			if (best === undefined || view.widthOf(child) > view.widthOf(best)) best = child;
		}
		return best;
	}

	moveAside(step) {
		const level = this.graph.layout.level(this.tree.depth(this.selected));
		let index = level.nodes.indexOf(this.selected) + step;
		while (level.nodes[index] === HIDDEN) index += step;
		if (level.nodes[index] !== undefined) this.select(level.nodes[index]);
	}

	// From the table: to the largest frame of the function.
	pickFunction(id) {
		const { tree } = this;
		let best = 0;
		for (let node = 1; node < (this.state.callers ? tree.keys.length : tree.count); node++) {
			if (this.names.functionOf(tree.key(node)) !== id) continue;
			if (!best || this.view.widthOf(node) > this.view.widthOf(best)) best = node;
		}
		if (!best) {
			this.marked = id;
			this.graph.plan();
			this.say("no frame of this function is in this view");
			return;
		}
		if (!this.graph.place(best)) this.zoomTo(0);
		if (this.graph.place(best)) this.select(best);
		else this.zoomTo(best);
	}

	// ---- search ----

	searchFor(text) {
		const isValid = this.search.set(text);
		find("search").setAttribute("aria-invalid", !isValid);
		this.functions.show();
		this.graph.plan();
		if (!text) this.showFound("");
		else if (!isValid) this.showFound("not a regular expression");
		else {
			const count = this.search.functions.reduce((sum, found) => sum + found, 0);
			const side = this.model.isDiff ? 1 : 0;
			const share = formatPercent(this.search.share(this.down, side), this.total(side));
			this.showFound(count ? `${count.toLocaleString("en")} found · ${share}` : "none found");
		}
	}

	showFound(text) {
		find("found").textContent = text;
	}

	nextMatch(step) {
		const matches = this.matches();
		if (!matches.length) return;
		const index = matches.indexOf(this.selected);
		const next = index < 0 ? (step > 0 ? 0 : matches.length - 1) : (index + step + matches.length) % matches.length;
		this.select(matches[next]);
	}

	// In the order in which they are read, of what is laid out.
	matches() {
		const { layout } = this.graph;
		const list = [];
		for (let index = 0; this.search.isActive && index < layout.depth; index++)
			for (const node of layout.level(index)?.nodes ?? [])
				if (node !== HIDDEN && this.search.matches(this.tree.key(node))) list.push(node);
		return list;
	}

	focusSearch() {
		find("search").focus();
		find("search").select();
	}

	// ---- words ----

	say(text) {
		find("said").textContent = text;
	}

	sumOfAll(side) {
		return this.model.sides[side].values[this.state.type].reduce((sum, value) => sum + value, 0);
	}

	// One line: what the whole width of the graph stands for.
	tell() {
		const side = this.model.isDiff ? 1 : 0;
		const name = typeName(this.model.types[this.state.type].type);
		const all = this.sumOfAll(side);
		const shown = this.total(side);
		const parts = [`${name} ${formatValue(shown, this.unit)}`];
		if (this.state.filters.length) parts.push(`${formatPercent(shown, all)} of ${formatValue(all, this.unit)}`);
		if (this.zoom > 0) {
			const total = this.tree.total(this.zoom, side);
			const zoom = this.names.label(this.tree.key(this.zoom));
			parts.push(`zoomed to ${zoom}: ${formatValue(total, this.unit)}, ${formatPercent(total, shown)}`);
		}
		this.say(parts.join(" · "));
		find("reset").disabled = this.zoom === 0;
		const isEmpty = this.down.count < 2 && !shown;
		const why = this.state.filters.length ? "nothing passes the filters" : "nothing of this value was recorded";
		const isBlank = this.model.sides.every((each) => !each.rowNode.length);
		find("nothing").textContent = isBlank ? "the profile is empty" : why;
		find("nothing").hidden = !isEmpty;
	}

	showTab(tab) {
		if (tab === "tab-labels") this.labels.show();
		if (tab === "tab-functions") this.functions.list.draw();
	}

	showHelp() {
		find("help").showModal();
	}

	// ---- events ----

	listen() {
		const graph = find("graph");
		const canvas = find("graph-canvas");
		const search = find("search");
		listenEverywhere(this);
		listenInGraph(this, graph);
		canvas.addEventListener("pointermove", (event) => this.point(event));
		canvas.addEventListener("pointerleave", () => this.leave());
		canvas.addEventListener("click", (event) => {
			const node = this.graph.nodeAt(event);
			graph.focus();
			if (node !== null && node !== HIDDEN) this.zoomTo(node);
		});
		search.addEventListener("input", () => this.searchFor(search.value));
		search.addEventListener("keydown", (event) => {
			if (event.key === "Enter") this.nextMatch(event.shiftKey ? -1 : 1);
			if (event.key !== "Escape") return;
			search.value = "";
			this.searchFor("");
			graph.focus();
		});
		find("help-keys").replaceChildren(
			...HELP.flatMap(([keys, text]) => [
				element(
					"dt",
					{},
					keys.split(" ").map((key) => element("kbd", { textContent: key })),
				),
				element("dd", { textContent: text }),
			]),
		);
	}

	point(event) {
		const node = this.graph.nodeAt(event);
		this.graph.hover = node === HIDDEN ? null : node;
		this.graph.plan();
		this.details.showTip(node, event);
	}

	leave() {
		this.graph.hover = null;
		this.graph.plan();
		this.details.hideTip();
	}
}
