// SPDX-License-Identifier: BSD-2-Clause
// The table of functions: what each used itself, and with all that it called.

import { element } from "./dom.js";
import { formatDelta, formatPercent, formatValue } from "./format.js";
import { List } from "./list.js";

function bar(text, share) {
	const fill = element("span", { className: "bar" });
	fill.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
	return element("span", { className: "figure" }, [fill, element("span", { textContent: text })]);
}

export class Functions {
	constructor(container, app) {
		this.app = app;
		const { model } = app;
		this.list = new List(container, model.isDiff ? this.diffColumns() : this.columns(), {
			id: "function",
			label: "Functions",
			empty: "no function",
			sortBy: 1,
			rowClass: (row) => (app.search.isActive && app.search.functions[row.id] ? "match" : ""),
			onPick: (row) => app.pickFunction(row.id),
		});
	}

	nameColumn() {
		const { app } = this;
		const cell = (row) => {
			const swatch = element("span", { className: "swatch" });
			swatch.style.background = app.palette.plain(app.model.functionKind[row.id]);
			const name = element("span", { className: "name", textContent: app.names.names[row.id] });
			const place = element("span", { className: "place", textContent: app.names.places[row.id] });
			const box = element("span", { className: "code" }, [swatch, name, place]);
			box.title = `${name.textContent}\n${place.textContent}`;
			return box;
		};
		return {
			title: "Function",
			className: "cell-name",
			isText: true,
			sort: (row) => app.names.names[row.id].toLowerCase(),
			cell,
		};
	}

	columns() {
		const { app } = this;
		const column = (title, hint, field) => ({
			title,
			hint,
			className: "cell-figure",
			sort: (row) => row[field][0],
			cell: (row) => {
				const value = row[field][0];
				const share = formatPercent(value, app.total(0));
				const text = element("span", { className: "value", textContent: formatValue(value, app.unit) });
				return element("span", { className: "pair" }, [text, bar(share, value / app.total(0))]);
			},
		});
		return [
			this.nameColumn(),
			column("Self", "What the function used itself", "self"),
			column("Total", "With all that it called", "total"),
		];
	}

	diffColumns() {
		const { app } = this;
		const side = (title, field, index) => ({
			title,
			className: "cell-number",
			sort: (row) => row[field][index],
			cell: (row) => formatValue(row[field][index], app.unit),
		});
		const change = (title, field) => ({
			title,
			className: "cell-delta",
			sort: (row) => Math.abs(app.change(row[field])),
			cell: (row) => {
				const value = app.change(row[field]);
				const text = `${formatDelta(value, app.unit)} · ${formatPercent(value, app.total(1))}`;
				const look = value > 0 ? "grown" : value < 0 ? "shrunk" : "";
				return element("span", { className: look, textContent: text });
			},
		});
		return [
			this.nameColumn(),
			change("Self change", "self"),
			side("Self base", "self", 0),
			side("Self head", "self", 1),
			change("Total change", "total"),
			side("Total base", "total", 0),
			side("Total head", "total", 1),
		];
	}

	// Those that have a value; of a search, those that match.
	show() {
		const { model, sums, search } = this.app;
		const rows = [];
		for (let id = 0; id < model.functionCount; id++) {
			const total = sums.map((side) => side.total[id]);
			if (!total.some((value) => value)) continue;
			if (search.isActive && !search.functions[id]) continue;
			rows.push({ id, total, self: sums.map((side) => side.self[id]) });
		}
		this.list.options.empty = search.isActive ? "no function matches the search" : "nothing here";
		this.list.show(rows);
		return rows.length;
	}
}
