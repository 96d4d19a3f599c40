// SPDX-License-Identifier: BSD-2-Clause
// From rows to the tree that is looked at: filtered, grouped, of one value. A tree counts each
// side of a difference by itself; a plain profile has one side.

import { NO_VALUE } from "./model.js";

// Keys of nodes that are no code; those of code are ids of functions, or of frames by lines.
export const ROOT = -1;
const FIRST_GROUP = -2;
const SEVERAL = -1;

export function groupKey(value) {
	return FIRST_GROUP - (value - NO_VALUE);
}

export function valueOfGroup(key) {
	return FIRST_GROUP - key + NO_VALUE;
}

// ---- filters ----

// Rows pass that have one of the values asked for of each key, and none of those to leave out.
function labelTests(model, filters) {
	const tests = new Map();
	for (const filter of filters) {
		if (filter.kind !== "label") continue;
		const test = tests.get(filter.key) ?? { only: new Set(), without: new Set() };
		(filter.exclude ? test.without : test.only).add(filter.value);
		tests.set(filter.key, test);
	}
	return [...tests].map(([key, test]) => ({ ofSet: model.labels[key].ofSet, ...test }));
}

function passesLabels(tests, set) {
	return tests.every(({ ofSet, only, without }) => {
		const value = ofSet[set];
		return !without.has(value) && (!only.size || only.has(value));
	});
}

// By node: whether its stack has all functions asked for and none of those to leave out.
function passingNodes(model, filters) {
	const codes = filters.filter((filter) => filter.kind === "function");
	if (!codes.length) return null;
	const { nodeParent, nodeFunction } = model;
	const passes = new Uint8Array(nodeParent.length).fill(1);
	for (const { id, exclude } of codes) {
		const has = new Uint8Array(nodeParent.length);
		for (let node = 1; node < has.length; node++) has[node] = nodeFunction[node] === id ? 1 : has[nodeParent[node]];
		for (let node = 0; node < has.length; node++) passes[node] &= exclude ? 1 - has[node] : has[node];
	}
	return passes;
}

// The rows that pass, in the order of their group: [{ side, row, group }], as columns.
function selectRows(model, state) {
	const tests = labelTests(model, state.filters);
	const nodes = passingNodes(model, state.filters);
	const groups = state.group === null ? null : model.labels[state.group].ofSet;
	const buckets = new Map();
	model.sides.forEach((side, index) => {
		const values = side.values[state.type];
		const passes = new Map();
		for (let row = 0; row < values.length; row++) {
			if (!values[row] || (nodes && !nodes[side.rowNode[row]])) continue;
			const set = side.rowSet[row];
			if (!passes.has(set)) passes.set(set, passesLabels(tests, set));
			if (!passes.get(set)) continue;
			const group = groups ? groups[set] : 0;
			let bucket = buckets.get(group);
			if (!bucket) {
				bucket = model.sides.map(() => []);
				buckets.set(group, bucket);
			}
			bucket[index].push(row);
		}
	});
	return buckets;
}

// ---- the tree ----

// Nodes are added parents first. Most have one origin in the model's tree; then no two of its
// children are one node. Only where they may be, a child is looked for before it is added.
class Builder {
	constructor(sides, room) {
		this.count = 0;
		this.room = 0;
		this.self = Array.from({ length: sides }, () => new Float64Array(0));
		this.parent = new Int32Array(0);
		this.key = new Int32Array(0);
		this.depth = new Int32Array(0);
		this.origin = new Int32Array(0); // SEVERAL: looked for among its siblings
		this.first = new Int32Array(0); // child, and next sibling; 0: none
		this.next = new Int32Array(0);
		this.known = new Map(); // children by key, of nodes where they were looked for
		this.grow(Math.max(16, room));
		this.add(-1, ROOT, 0);
	}

	grow(room) {
		const copy = (array) => {
			const larger = new array.constructor(room);
			larger.set(array);
			return larger;
		};
		for (const name of ["parent", "key", "depth", "origin", "first", "next"]) this[name] = copy(this[name]);
		this.self = this.self.map(copy);
		this.room = room;
	}

	add(parent, key, origin) {
		if (this.count === this.room) this.grow(this.room * 2);
		const node = this.count++;
		this.parent[node] = parent;
		this.key[node] = key;
		this.origin[node] = origin;
		if (parent < 0) return node;
		this.depth[node] = this.depth[parent] + 1;
		this.next[node] = this.first[parent];
		this.first[parent] = node;
		this.known.get(parent)?.set(key, node);
		return node;
	}

	// isTwin: origin's parent has another child of this key.
	child(parent, key, origin, isTwin) {
		if (!isTwin && this.origin[parent] !== SEVERAL) return this.add(parent, key, origin);
		let known = this.known.get(parent);
		if (!known) {
			known = new Map();
			for (let node = this.first[parent]; node; node = this.next[node]) known.set(this.key[node], node);
			this.known.set(parent, known);
		}
		const node = known.get(key);
		if (node === undefined) return this.add(parent, key, origin);
		this.origin[node] = SEVERAL;
		return node;
	}
}

// A node is made once a group for each node of the model; see stamp.
function fill(builder, model, state, buckets) {
	const { nodeParent, nodeIsTwin } = model;
	const keys = state.lines ? model.nodeFrame : model.nodeFunction;
	const stamp = new Int32Array(nodeParent.length).fill(-1);
	const made = new Int32Array(nodeParent.length);
	const path = [];
	let round = 0;
	for (const [group, bucket] of buckets) {
		stamp[0] = round;
		made[0] = state.group === null ? 0 : builder.add(0, groupKey(group), 0);
		bucket.forEach((rows, side) => {
			const { rowNode, values } = model.sides[side];
			const column = values[state.type];
			for (const row of rows) {
				let node = rowNode[row];
				for (; stamp[node] !== round; node = nodeParent[node]) path.push(node);
				let at = made[node];
				while (path.length) {
					node = path.pop();
					at = builder.child(at, keys[node], node, !state.lines && nodeIsTwin[node] === 1);
					stamp[node] = round;
					made[node] = at;
				}
				builder.self[side][at] += column[row];
			}
		});
		round++;
	}
}

// Sums, heights and lists of children, all of which need the whole tree.
class Tree {
	constructor(builder) {
		const count = builder.count;
		this.count = count;
		this.parents = builder.parent.subarray(0, count);
		this.keys = builder.key.subarray(0, count);
		this.depths = builder.depth.subarray(0, count);
		this.selves = builder.self.map((array) => array.subarray(0, count));
		this.totals = this.selves.map((array) => array.slice());
		this.heights = new Int32Array(count);
		this.starts = new Int32Array(count + 1);
		this.list = new Int32Array(count);
		this.sorted = new Uint8Array(count);
		this.sum();
	}

	sum() {
		const { parents, starts } = this;
		for (let node = this.count - 1; node > 0; node--) {
			const parent = parents[node];
			for (const totals of this.totals) totals[parent] += totals[node];
			this.heights[parent] = Math.max(this.heights[parent], this.heights[node] + 1);
			starts[parent + 1]++;
		}
		for (let node = 0; node < this.count; node++) starts[node + 1] += starts[node];
		const next = starts.slice();
		for (let node = 1; node < this.count; node++) this.list[next[parents[node]]++] = node;
	}

	key(node) {
		return this.keys[node];
	}

	parent(node) {
		return this.parents[node];
	}

	depth(node) {
		return this.depths[node];
	}

	height(node) {
		return this.heights[node];
	}

	total(node, side) {
		return this.totals[side][node];
	}

	self(node, side) {
		return this.selves[side][node];
	}

	// In the order of compare(), which is the same as long as the tree lives.
	children(node, compare) {
		const list = this.list.subarray(this.starts[node], this.starts[node + 1]);
		if (!this.sorted[node]) {
			if (list.length > 1) list.sort(compare);
			this.sorted[node] = 1;
		}
		return list;
	}
}

// ---- sums by function ----

// Self and total of each function, over the rows that pass: not of the tree, whose nodes may
// be groups or lines.
function sumFunctions(model, state, buckets) {
	return model.sides.map((side, index) => {
		const sums = new Float64Array(model.nodeParent.length);
		const self = new Float64Array(model.functionCount);
		const total = new Float64Array(model.functionCount);
		for (const bucket of buckets.values())
			for (const row of bucket[index]) sums[side.rowNode[row]] += side.values[state.type][row];
		for (let node = sums.length - 1; node > 0; node--) {
			if (!sums[node]) continue;
			sums[model.nodeParent[node]] += sums[node];
			if (model.nodeOutermost[node]) total[model.nodeFunction[node]] += sums[node];
		}
		for (const bucket of buckets.values())
			for (const row of bucket[index]) {
				const node = side.rowNode[row];
				if (node) self[model.nodeFunction[node]] += side.values[state.type][row];
			}
		return { self, total };
	});
}

// By value of a label (NO_VALUE: rows without it): its sum on each side, without the filters
// that are on this very label, so that what was filtered out can be chosen again.
export function sumLabel(model, state, key) {
	const filters = state.filters.filter((filter) => filter.kind !== "label" || filter.key !== key);
	const buckets = selectRows(model, { ...state, filters, group: key });
	return [...buckets].map(([value, bucket]) => ({
		value,
		sums: bucket.map((rows, side) => {
			const values = model.sides[side].values[state.type];
			return rows.reduce((sum, row) => sum + values[row], 0);
		}),
	}));
}

export function buildTree(model, state) {
	const buckets = selectRows(model, state);
	const builder = new Builder(model.sides.length, model.nodeParent.length + 1);
	fill(builder, model, state, buckets);
	return { tree: new Tree(builder), functions: sumFunctions(model, state, buckets) };
}
