// SPDX-License-Identifier: BSD-2-Clause
// A tree upside down: from each function that used something itself to its callers. The whole of
// it can be larger than all stacks together, so nodes are made when they are looked at.

import { ROOT } from "./tree.js";

export class Callers {
	constructor(tree) {
		this.tree = tree;
		this.sides = tree.totals.length;
		this.groupLevels = tree.count > 1 && tree.key(tree.list[0]) < 0 ? 1 : 0;
		this.parents = [];
		this.keys = [];
		this.depths = [];
		this.heights = [];
		this.totals = tree.totals.map(() => []);
		this.selves = tree.totals.map(() => []);
		this.lists = [];
		this.ends = []; // of a node that is not open yet: [{ at: node of tree, sums }]
		this.add(-1, ROOT);
		this.totals.forEach((totals, side) => {
			totals[0] = tree.total(0, side);
		});
		this.start();
	}

	add(parent, key) {
		const node = this.keys.length;
		this.parents.push(parent);
		this.keys.push(key);
		this.depths.push(parent < 0 ? 0 : this.depths[parent] + 1);
		this.heights.push(0);
		for (let side = 0; side < this.sides; side++) {
			this.totals[side].push(0);
			this.selves[side].push(0);
		}
		this.lists.push(null);
		this.ends.push(null);
		return node;
	}

	// The first level: a node a function, below that of its group where there are groups.
	start() {
		const { tree } = this;
		const groups = new Int32Array(tree.count);
		const known = new Map();
		this.lists[0] = [];
		for (let at = 1; at < tree.count; at++) {
			const isGroup = tree.key(at) < 0;
			if (isGroup) {
				groups[at] = this.add(0, tree.key(at));
				this.lists[groups[at]] = [];
				this.lists[0].push(groups[at]);
				known.set(groups[at], new Map());
			} else {
				groups[at] = groups[tree.parent(at)];
			}
			const sums = this.sumsOf(at);
			if (!sums.some((sum) => sum)) continue;
			if (isGroup) {
				this.count(this.totals, groups[at], sums);
				this.count(this.selves, groups[at], sums);
			} else this.attach(groups[at], known, tree.key(at), at, sums);
		}
		for (const [group] of known) if (group) this.sumGroup(group);
		for (let side = 0; side < this.sides; side++) this.selves[side][0] = tree.self(0, side);
	}

	sumsOf(at) {
		return Array.from({ length: this.sides }, (_, side) => this.tree.self(at, side));
	}

	count(columns, node, sums) {
		sums.forEach((sum, side) => {
			columns[side][node] += sum;
		});
	}

	// One more stack that comes to `key` on its way from a leaf: at is where it is in the tree.
	attach(parent, known, key, at, sums) {
		let ofParent = known.get(parent);
		if (!ofParent) {
			ofParent = new Map();
			known.set(parent, ofParent);
		}
		let node = ofParent.get(key);
		if (node === undefined) {
			node = this.add(parent, key);
			ofParent.set(key, node);
			this.lists[parent].push(node);
			this.ends[node] = [];
		}
		this.ends[node].push({ at, sums });
		const above = this.callersOf(at);
		this.count(this.totals, node, sums);
		if (!above) this.count(this.selves, node, sums);
		this.raise(node, above);
	}

	// How many callers a node of the tree has.
	callersOf(at) {
		const { tree } = this;
		return tree.depth(at) - 1 - this.groupLevels;
	}

	raise(node, height) {
		for (let up = node, least = height; up >= 0 && this.heights[up] < least; up = this.parents[up], least++)
			this.heights[up] = least;
	}

	sumGroup(group) {
		for (const node of this.lists[group])
			for (let side = 0; side < this.sides; side++) this.totals[side][group] += this.totals[side][node];
	}

	open(node) {
		const ends = this.ends[node];
		const known = new Map();
		this.lists[node] = [];
		this.ends[node] = null;
		for (const { at, sums } of ends) {
			const caller = this.tree.parent(at);
			if (this.tree.key(caller) >= 0) this.attach(node, known, this.tree.key(caller), caller, sums);
		}
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

	// Of stacks that begin here.
	self(node, side) {
		return this.selves[side][node];
	}

	children(node, compare) {
		if (!this.lists[node]) this.open(node);
		const list = this.lists[node];
		if (!list.isSorted) {
			list.sort(compare);
			list.isSorted = true;
		}
		return list;
	}
}
