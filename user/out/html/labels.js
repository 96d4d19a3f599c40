// SPDX-License-Identifier: BSD-2-Clause
// Labels: the sum of each value, and filters made of them.

import { element, find, radios } from "./dom.js";
import { formatDelta, formatPercent, formatValue, visible } from "./format.js";
import { List } from "./list.js";
import { labelValue } from "./names.js";
import { sumLabel } from "./tree.js";

export class Labels {
	constructor(app) {
		this.app = app;
		this.key = 0;
		if (!app.model.labels.length) {
			find("labels").replaceChildren(
				element("p", { className: "list-empty", textContent: "this profile has no labels" }),
			);
			return;
		}
		radios(
			find("label-keys"),
			"label-key",
			app.model.labels.map((label, index) => [String(index), visible(label.name)]),
			"0",
			(value) => {
				this.key = Number(value);
				this.show();
			},
		);
		this.list = new List(find("label-values"), this.columns(), {
			id: "label",
			label: "Values of the label",
			empty: "nothing here",
			sortBy: 1,
			onKey: (event, row) => this.onKey(event, row),
		});
	}

	columns() {
		const { app } = this;
		const last = app.model.isDiff ? 1 : 0;
		const list = [
			{
				title: "Value",
				className: "cell-name",
				isText: true,
				sort: (row) => this.text(row),
				cell: (row) => {
					const text = element("span", { className: "name", textContent: this.text(row) });
					text.title = text.textContent;
					return text;
				},
			},
			{
				title: app.model.isDiff ? "Head" : "Sum",
				className: "cell-number",
				sort: (row) => row.sums[last],
				cell: (row) => formatValue(row.sums[last], app.unit),
			},
			{
				title: "Share",
				className: "cell-number",
				sort: (row) => row.sums[last],
				cell: (row) => formatPercent(row.sums[last], this.all[last]),
			},
		];
		if (app.model.isDiff)
			list.push({
				title: "Change",
				className: "cell-delta",
				sort: (row) => Math.abs(app.change(row.sums)),
				cell: (row) => formatDelta(app.change(row.sums), app.unit),
			});
		list.push({
			title: "Filter",
			className: "cell-actions",
			sort: (row) => (app.hasFilter(this.key, row.id) ? 1 : 0),
			cell: (row) => element("span", {}, [this.button(row, "Only", false), this.button(row, "Hide", true)]),
		});
		return list;
	}

	text(row) {
		return labelValue(this.app.model.labels[this.key], row.id);
	}

	button(row, text, exclude) {
		const button = element("button", { type: "button", className: "small", textContent: text, tabIndex: -1 });
		button.setAttribute("aria-pressed", this.app.hasFilter(this.key, row.id, exclude));
		button.setAttribute("aria-label", `${text} ${this.text(row)}`);
		button.addEventListener("click", () => this.toggle(row, exclude));
		return button;
	}

	toggle(row, exclude) {
		this.app.toggleFilter({ kind: "label", key: this.key, value: row.id, exclude });
	}

	onKey(event, row) {
		if (!row || (event.key !== "o" && event.key !== "h")) return false;
		this.toggle(row, event.key === "h");
		return true;
	}

	show() {
		if (!this.list) return;
		const { model, state } = this.app;
		const rows = sumLabel(model, state, this.key).map(({ value, sums }) => ({ id: value, sums }));
		this.all = model.sides.map((_, side) => rows.reduce((sum, row) => sum + row.sums[side], 0));
		this.list.show(rows);
	}
}
