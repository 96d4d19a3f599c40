// SPDX-License-Identifier: BSD-2-Clause
// A search: a part of a name or of file:line in any case, or /a regular expression/.

function matcher(text) {
	const pattern = /^\/(.+)\/$/s.exec(text);
	if (pattern) {
		const expression = new RegExp(pattern[1], "iu");
		return (subject) => expression.test(subject);
	}
	const part = text.toLowerCase();
	return (subject) => subject.toLowerCase().includes(part);
}

export class Search {
	constructor(names) {
		this.names = names;
		this.set("");
	}

	// False: the expression is none.
	set(text) {
		this.text = text;
		this.isActive = text !== "";
		this.functions = new Uint8Array(this.names.names.length);
		if (!this.isActive) return true;
		try {
			const matches = matcher(text);
			this.names.names.forEach((name, id) => {
				this.functions[id] = matches(name) || matches(this.names.places[id]) ? 1 : 0;
			});
			return true;
		} catch {
			return false;
		}
	}

	// What stacks with a match add up to, each once.
	share(tree, side) {
		const has = new Uint8Array(tree.count);
		let sum = 0;
		for (let node = 1; node < tree.count; node++) {
			has[node] = has[tree.parent(node)];
			if (has[node] || !this.matches(tree.key(node))) continue;
			has[node] = 1;
			sum += tree.total(node, side);
		}
		return sum;
	}

	matches(key) {
		const id = this.names.functionOf(key);
		return id >= 0 && this.functions[id] === 1;
	}
}
