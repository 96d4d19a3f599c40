// SPDX-License-Identifier: BSD-2-Clause
// What is told of a frame: beside the pointer, and of the selected one below the graph; to
// people who do not see the graph, as an item of a tree.

import { element, find } from "./dom.js";
import { HIDDEN } from "./layout.js";
import { figures } from "./names.js";

const OFFSET = 14; // px from the pointer

export class Details {
	constructor(app) {
		this.app = app;
		this.tip = find("tip");
		this.item = find("graph-item");
	}

	figures(node) {
		const { model, state, tree, zoom, scale } = this.app;
		return figures(model, state, tree, node, zoom, scale);
	}

	parts(node) {
		const { app } = this;
		const key = app.tree.key(node);
		const swatch = element("span", { className: "swatch" });
		swatch.style.background = app.model.isDiff ? app.fill(node) : app.palette.plain(app.names.kind(key));
		return [
			element("div", { className: "detail-name" }, [
				swatch,
				element("strong", { textContent: app.names.label(key) }),
				element("span", { className: "place", textContent: app.names.place(key) }),
			]),
			element(
				"div",
				{ className: "detail-figures" },
				this.figures(node).map(([what, text]) =>
					element("span", {}, [element("i", { textContent: what }), element("b", { textContent: text })]),
				),
			),
		];
	}

	showTip(node, event) {
		if (node === null) {
			this.hideTip();
			return;
		}
		const { tip } = this;
		if (node === HIDDEN) tip.replaceChildren("frames too narrow to be shown: zoom in");
		else tip.replaceChildren(...this.parts(node));
		tip.hidden = false;
		const box = tip.getBoundingClientRect();
		const left = Math.min(event.clientX + OFFSET, window.innerWidth - box.width - 6);
		const below = event.clientY + OFFSET;
		const fits = below + box.height + 6 < window.innerHeight;
		tip.style.left = `${Math.max(6, left)}px`;
		tip.style.top = `${fits ? below : Math.max(6, event.clientY - OFFSET - box.height)}px`;
	}

	hideTip() {
		this.tip.hidden = true;
	}

	showSelected() {
		const { app, item } = this;
		const { tree, selected } = app;
		const key = tree.key(selected);
		const isCode = app.names.functionOf(key) >= 0;
		find("selected").replaceChildren(...this.parts(selected));
		for (const button of find("selected-actions").children) button.disabled = !isCode;
		const text = this.figures(selected).map(([what, figure]) => `${what} ${figure}`);
		const parts = [app.names.label(key), app.names.place(key), ...text];
		item.textContent = parts.filter(Boolean).join(", ");
		item.setAttribute("aria-level", tree.depth(selected) + 1);
		const isOpen = tree.height(selected) > 0;
		if (isOpen) item.setAttribute("aria-expanded", "true");
		else item.removeAttribute("aria-expanded");
	}
}
