// SPDX-License-Identifier: BSD-2-Clause
// Where each frame is: a level at a time, and no deeper than somebody looks.

const MIN_WIDTH = 0.6; // px: narrower frames of one parent are drawn as one

// A frame without a node stands for those that are too narrow to be seen.
export const HIDDEN = -1;

export class Layout {
	// The whole width is zoom's; the frames above it are as wide.
	constructor(view, zoom, width) {
		this.view = view;
		this.zoom = zoom;
		this.width = width;
		this.levels = [];
		const above = [];
		for (let node = zoom; node >= 0; node = view.tree.parent(node)) above.push(node);
		this.zoomLevel = above.length - 1;
		for (const node of above.reverse()) this.levels.push({ nodes: [node], x: [0], w: [width] });
		this.depth = this.zoomLevel + 1 + view.tree.height(zoom);
		this.scale = width / (view.widthOf(zoom) || 1);
	}

	level(index) {
		while (this.levels.length <= index && this.levels.length < this.depth) {
			const next = this.below(this.levels[this.levels.length - 1]);
			if (!next.nodes.length) this.depth = this.levels.length;
			else this.levels.push(next);
		}
		return this.levels[index];
	}

	below(level) {
		const next = { nodes: [], x: [], w: [] };
		level.nodes.forEach((node, i) => {
			if (node !== HIDDEN) this.spread(node, level.x[i], next);
		});
		return next;
	}

	spread(node, left, next) {
		const { view, scale } = this;
		let x = left;
		let hidden = 0;
		const push = (child, width) => {
			next.nodes.push(child);
			next.x.push(x);
			next.w.push(width);
			x += width;
		};
		const flush = () => {
			if (hidden >= MIN_WIDTH) push(HIDDEN, hidden);
			else x += hidden;
			hidden = 0;
		};
		for (const child of view.tree.children(node, view.compare)) {
			const width = view.widthOf(child) * scale;
			if (width < MIN_WIDTH) {
				hidden += Math.max(0, width);
				continue;
			}
			flush();
			push(child, width);
		}
		flush();
	}

	// The node at a place, HIDDEN, or null: nothing there.
	at(x, index) {
		const level = this.level(index);
		if (!level) return null;
		let low = 0;
		let high = level.x.length - 1;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (level.x[middle] <= x) low = middle;
			else high = middle - 1;
		}
		const found = level.x.length && x >= level.x[low] && x < level.x[low] + level.w[low];
		return found ? level.nodes[low] : null;
	}
}
