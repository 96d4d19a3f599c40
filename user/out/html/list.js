// SPDX-License-Identifier: BSD-2-Clause
// A table of any number of rows, of which only those in sight are elements. Sorted by its
// headings; one row has the focus, and the keys move it.

import { element } from "./dom.js";

const LIST_ROW = 23;
const SPARE = 6; // rows beyond those in sight

export class List {
	// columns: [{ title, className, sort(row) → number or text, cell(row) → text or element }];
	// options: { label, onChoose(row), onPick(row), rowClass(row) }
	constructor(container, columns, options) {
		this.columns = columns;
		this.options = options;
		this.rows = [];
		this.current = -1;
		this.sorted = { column: options.sortBy, down: true };
		this.build(container);
	}

	build(container) {
		this.head = element("div", { className: "list-row list-head", role: "row" });
		this.columns.forEach((column, index) => {
			const button = element("button", { type: "button", textContent: column.title });
			if (column.hint) button.title = column.hint;
			button.addEventListener("click", () => this.sortBy(index));
			const cell = element("div", { className: `cell ${column.className}`, role: "columnheader" }, [button]);
			this.head.append(cell);
		});
		this.body = element("div", { className: "list-body", role: "rowgroup", tabIndex: 0 });
		this.space = element("div", { className: "list-space", role: "presentation" });
		this.body.append(this.space);
		this.table = element("div", { className: "list", role: "grid" }, [this.head, this.body]);
		this.table.setAttribute("aria-label", this.options.label);
		container.replaceChildren(this.table);
		this.body.addEventListener("scroll", () => this.draw());
		this.body.addEventListener("keydown", (event) => this.onKey(event));
		this.body.addEventListener("click", (event) => this.onClick(event));
		new ResizeObserver(() => this.draw()).observe(this.body);
	}

	sortBy(index) {
		const { sorted } = this;
		const first = !this.columns[index].isText;
		this.sorted = { column: index, down: sorted.column === index ? !sorted.down : first };
		this.show(this.rows);
	}

	show(rows) {
		const { column, down } = this.sorted;
		const { sort } = this.columns[column];
		const keys = new Map(rows.map((row) => [row, sort(row)]));
		const order = (a, b) => (keys.get(a) < keys.get(b) ? -1 : keys.get(a) > keys.get(b) ? 1 : 0);
		const current = this.rows[this.current];
		this.rows = [...rows].sort((a, b) => (down ? order(b, a) : order(a, b)));
		this.current = current ? this.rows.findIndex((row) => row.id === current.id) : -1;
		[...this.head.children].forEach((cell, index) => {
			const direction = down ? "descending" : "ascending";
			cell.setAttribute("aria-sort", index === column ? direction : "none");
		});
		this.table.setAttribute("aria-rowcount", this.rows.length + 1);
		this.draw();
	}

	draw() {
		const top = this.body.scrollTop;
		const first = Math.max(0, Math.floor(top / LIST_ROW) - SPARE);
		const last = Math.min(this.rows.length, Math.ceil((top + this.body.clientHeight) / LIST_ROW) + SPARE);
		this.space.style.height = `${this.rows.length * LIST_ROW}px`;
		const elements = [];
		for (let index = first; index < last; index++) elements.push(this.drawRow(index));
		this.space.replaceChildren(...elements);
		if (!this.rows.length)
			this.space.replaceChildren(element("div", { className: "list-empty", textContent: this.options.empty }));
		const isDrawn = this.current >= first && this.current < last;
		if (isDrawn) this.body.setAttribute("aria-activedescendant", `${this.options.id}-${this.current}`);
		else this.body.removeAttribute("aria-activedescendant");
	}

	drawRow(index) {
		const row = this.rows[index];
		const cells = this.columns.map((column) => {
			const cell = element("div", { className: `cell ${column.className}`, role: "gridcell" });
			cell.append(column.cell(row));
			return cell;
		});
		const line = element("div", { className: "list-row", role: "row", id: `${this.options.id}-${index}` }, cells);
		line.style.top = `${index * LIST_ROW}px`;
		line.dataset.index = index;
		line.setAttribute("aria-rowindex", index + 2);
		line.setAttribute("aria-selected", index === this.current);
		if (this.options.rowClass?.(row)) line.classList.add(this.options.rowClass(row));
		return line;
	}

	onClick(event) {
		const line = event.target.closest(".list-row");
		if (!line || event.target.closest("button")) return;
		this.move(Number(line.dataset.index));
		this.options.onPick?.(this.rows[this.current]);
	}

	onKey(event) {
		const page = Math.max(1, Math.floor(this.body.clientHeight / LIST_ROW) - 1);
		const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
		if (event.target !== this.body || event.ctrlKey || event.metaKey || event.altKey) return;
		if (event.key in steps) {
			this.move(this.current + steps[event.key]);
		} else if (event.key === "Enter" || event.key === " ") {
			if (this.rows[this.current]) this.options.onPick?.(this.rows[this.current]);
		} else if (!this.options.onKey?.(event, this.rows[this.current])) {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	move(to) {
		if (!this.rows.length) return;
		this.current = Math.min(this.rows.length - 1, Math.max(0, to));
		const y = this.current * LIST_ROW;
		const { body } = this;
		if (y < body.scrollTop) body.scrollTop = y;
		else if (y + LIST_ROW > body.scrollTop + body.clientHeight) body.scrollTop = y + LIST_ROW - body.clientHeight;
		this.draw();
	}

	// Makes the row with this id the current one, if it is there.
	select(id) {
		const index = this.rows.findIndex((row) => row.id === id);
		if (index >= 0) this.move(index);
		else {
			this.current = -1;
			this.draw();
		}
	}
}
