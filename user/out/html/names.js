// SPDX-License-Identifier: BSD-2-Clause
// What the nodes of a tree are called, and what is told of one.

import { fileAndLine, formatDelta, formatPercent, formatValue, visible } from "./format.js";
import { NO_VALUE } from "./model.js";
import { ROOT, valueOfGroup } from "./tree.js";

export function labelValue(key, value) {
	if (value === NO_VALUE) return `(no ${visible(key.name)})`;
	return visible(key.values[value]) || "(empty)";
}

export class Names {
	constructor(model, state) {
		this.model = model;
		this.state = state;
		this.known = new Map();
		this.names = model.functionName.map(visible);
		this.places = model.functionFile.map((file, id) => fileAndLine(file, model.functionLine[id]));
	}

	// Of a key of the tree; -1 for what is no code.
	functionOf(key) {
		if (key < 0) return -1;
		return this.state.lines ? this.model.frameFunction[key] : key;
	}

	line(key) {
		return this.state.lines && key >= 0 ? this.model.frameLine[key] : 0;
	}

	label(key) {
		if (key === ROOT) return "all";
		if (key < ROOT) {
			const label = this.model.labels[this.state.group];
			return `${visible(label.name)}: ${labelValue(label, valueOfGroup(key))}`;
		}
		const name = this.names[this.functionOf(key)];
		const line = this.line(key);
		return line > 0 ? `${name}:${line}` : name;
	}

	place(key) {
		const id = this.functionOf(key);
		if (id < 0) return "";
		const line = this.line(key);
		return line > 0 ? fileAndLine(this.model.functionFile[id], line) : this.places[id];
	}

	kind(key) {
		if (key === ROOT) return "root";
		return key < 0 ? "group" : this.model.functionKind[this.functionOf(key)];
	}
}

// The figures of a node: [[what, text]].
export function figures(model, state, tree, node, zoom, scale) {
	const { unit } = model.types[state.type];
	const side = model.isDiff ? 1 : 0;
	const all = tree.total(0, side);
	const total = tree.total(node, side);
	const self = tree.self(node, side);
	if (!model.isDiff) {
		const list = [
			["total", `${formatValue(total, unit)} · ${formatPercent(total, all)}`],
			["self", `${formatValue(self, unit)} · ${formatPercent(self, all)}`],
		];
		if (zoom > 0) list.push(["of view", formatPercent(total, tree.total(zoom, side))]);
		return list;
	}
	const base = tree.total(node, 0);
	const change = total - base * scale;
	return [
		["base", `${formatValue(base, unit)} · ${formatPercent(base, tree.total(0, 0))}`],
		["head", `${formatValue(total, unit)} · ${formatPercent(total, all)}`],
		["change", `${formatDelta(change, unit)} · ${base ? formatPercent(change, base * scale) : "new"}`],
	];
}
