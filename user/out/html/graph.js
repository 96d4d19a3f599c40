// SPDX-License-Identifier: BSD-2-Clause
// The flame graph: draws the levels in sight on a canvas, and tells what is pointed at.

import { shorten } from "./format.js";
import { HIDDEN, Layout } from "./layout.js";

export const ROW = 19;
const FONT = '11.5px ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const PADDING = 5;
const MIN_TEXT = 22; // px

export class Graph {
	// look: { label(node), fill(node, isDimmed), matches(node) or null, isSame(node) }
	constructor(scroller, canvas, spacer) {
		this.scroller = scroller;
		this.holder = scroller.parentElement; // has the focus
		this.canvas = canvas;
		this.spacer = spacer;
		this.context = canvas.getContext("2d");
		this.layout = null;
		this.hover = null;
		this.selected = 0;
		this.planned = false;
		scroller.addEventListener("scroll", () => this.plan());
		for (const type of ["focus", "blur"]) this.holder.addEventListener(type, () => this.plan());
		new ResizeObserver(() => this.resize()).observe(scroller);
	}

	show(view, look, zoom) {
		this.view = view;
		this.look = look;
		this.zoom = zoom;
		this.resize();
	}

	resize() {
		if (!this.view) return;
		const { scroller, canvas } = this;
		const width = scroller.clientWidth;
		const height = scroller.clientHeight;
		const ratio = window.devicePixelRatio || 1;
		canvas.width = Math.max(1, Math.round(width * ratio));
		canvas.height = Math.max(1, Math.round(height * ratio));
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
		this.ratio = ratio;
		this.layout = new Layout(this.view, this.zoom, width);
		this.spacer.style.height = `${Math.max(0, this.layout.depth * ROW + 8 - height)}px`;
		this.context.font = FONT;
		this.letter = this.context.measureText("MMMMMMMMMM").width / 10;
		this.plan();
	}

	// Draws before the next frame of the screen, once however often it is asked for.
	plan() {
		if (this.planned) return;
		this.planned = true;
		requestAnimationFrame(() => {
			this.planned = false;
			this.draw();
		});
	}

	draw() {
		const { context, scroller, layout, look } = this;
		const { ratio } = this;
		const top = scroller.scrollTop;
		const height = scroller.clientHeight;
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.fillStyle = look.palette.colors.back;
		context.fillRect(0, 0, layout.width, height);
		context.font = FONT;
		context.textBaseline = "middle";
		const last = Math.min(layout.depth - 1, Math.floor((top + height) / ROW));
		for (let index = Math.floor(top / ROW); index <= last; index++) {
			const level = layout.level(index);
			if (!level) break;
			const y = index * ROW - top;
			for (let i = 0; i < level.nodes.length; i++)
				this.drawFrame(level.nodes[i], level.x[i], y, level.w[i], index < layout.zoomLevel);
		}
		this.outline(this.hover, look.palette.colors.outline, 1);
		// All of it is selected where nothing is.
		const isSelected = this.selected !== this.zoom || document.activeElement === this.holder;
		if (isSelected) this.outline(this.selected, look.palette.colors.outline, 2);
	}

	drawFrame(node, x, y, width, isAbove) {
		const { context, look } = this;
		const { colors } = look.palette;
		const gap = width > 3 ? 1 : width > 1.5 ? 0.5 : 0;
		if (node === HIDDEN) {
			context.fillStyle = colors.hidden;
			context.fillRect(x, y, width - gap, ROW - 1);
			return;
		}
		context.globalAlpha = isAbove ? 0.55 : 1;
		context.fillStyle = look.fill(node);
		context.fillRect(x, y, width - gap, ROW - 1);
		context.globalAlpha = 1;
		if (node !== this.selected && look.isSame(node) && width > 2) {
			context.strokeStyle = colors.same;
			context.lineWidth = 1;
			context.strokeRect(x + 0.5, y + 0.5, width - gap - 1, ROW - 2);
		}
		if (width < MIN_TEXT) return;
		const text = this.fit(look.label(node), width - 2 * PADDING);
		if (!text) return;
		context.fillStyle = look.isFaint(node) ? colors.faint : colors.text;
		context.fillText(text, x + PADDING, y + ROW / 2);
	}

	// Names are of letters of one width, but not those of all scripts.
	fit(label, room) {
		let text = shorten(label, Math.floor(room / this.letter));
		if (/^[\x20-\x7e…]*$/.test(text)) return text;
		while (text && this.context.measureText(text).width > room) text = shorten(label, text.length - 1);
		return text;
	}

	outline(node, color, lineWidth) {
		const place = node === null ? null : this.place(node);
		if (!place) return;
		const { context } = this;
		context.strokeStyle = color;
		context.lineWidth = lineWidth;
		const half = lineWidth / 2;
		context.strokeRect(
			place.x + half,
			place.y - this.scroller.scrollTop + half,
			Math.max(1, place.w - lineWidth - 1),
			ROW - 1 - lineWidth,
		);
	}

	// Of a node that is laid out; null if it is too narrow, or not below what is zoomed to.
	place(node) {
		const index = this.view.tree.depth(node);
		const level = this.layout.level(index);
		const i = level ? level.nodes.indexOf(node) : -1;
		return i < 0 ? null : { x: level.x[i], y: index * ROW, w: level.w[i] };
	}

	// The node under a mouse event, HIDDEN, or null.
	nodeAt(event) {
		const box = this.canvas.getBoundingClientRect();
		const y = event.clientY - box.top + this.scroller.scrollTop;
		if (y < 0) return null;
		return this.layout.at(event.clientX - box.left, Math.floor(y / ROW));
	}

	reveal(node) {
		const { scroller } = this;
		const y = this.view.tree.depth(node) * ROW;
		if (y < scroller.scrollTop) scroller.scrollTop = Math.max(0, y - ROW);
		else if (y + 2 * ROW > scroller.scrollTop + scroller.clientHeight)
			scroller.scrollTop = y + 2 * ROW - scroller.clientHeight;
	}
}
