// SPDX-License-Identifier: BSD-2-Clause
// The data of the page, as columns of numbers: what never changes while it is looked at.

export const NO_VALUE = -1;

// The two columns of user/out/html_pack.h: depths, as steps up from below the last node; frames.
async function unpack({ count, packed }) {
	const letters = atob(packed);
	const packedBytes = new Uint8Array(letters.length);
	for (let i = 0; i < letters.length; i++) packedBytes[i] = letters.charCodeAt(i);
	const plain = new Blob([packedBytes]).stream().pipeThrough(new DecompressionStream("deflate"));
	const bytes = new Uint8Array(await new Response(plain).arrayBuffer());
	const depth = new Int32Array(count);
	const frame = new Int32Array(count);
	let at = 0;
	const number = () => {
		let value = 0;
		for (let shift = 0; ; shift += 7) {
			const byte = bytes[at++];
			value |= (byte & 0x7f) << shift;
			if (byte < 0x80) return value;
		}
	};
	for (let node = 1; node < count; node++) depth[node] = depth[node - 1] + 1 - number();
	for (let node = 1; node < count; node++) frame[node] = number();
	return { depth, frame };
}

function parents(depths) {
	const parent = new Int32Array(depths.length).fill(-1);
	const path = [0];
	for (let node = 1; node < depths.length; node++) {
		parent[node] = path[depths[node] - 1];
		path[depths[node]] = node;
	}
	return parent;
}

// Whether another node below the same caller is of the same function, at another line.
function twins(parent, functions) {
	const last = new Int32Array(parent.length);
	const result = new Uint8Array(parent.length);
	for (let node = 1; node < parent.length; node++) {
		const before = last[parent[node]];
		if (before && functions[before] === functions[node]) result[before] = result[node] = 1;
		last[parent[node]] = node;
	}
	return result;
}

// Whether a node is the first of its function on the way from the root: a function that calls
// itself counts once in its total.
function outermost(model) {
	const { nodeDepth, nodeFunction } = model;
	const result = new Uint8Array(nodeDepth.length);
	const open = new Int32Array(model.functionCount);
	const path = [];
	for (let node = 1; node < nodeDepth.length; node++) {
		while (path.length >= nodeDepth[node]) open[path.pop()]--;
		const id = nodeFunction[node];
		result[node] = open[id] ? 0 : 1;
		open[id]++;
		path.push(id);
	}
	return result;
}

// A column a key: which of the key's values each label set has.
function readLabels(data) {
	const keys = new Map();
	const setCount = data.label_sets.length;
	data.label_sets.forEach((set, index) => {
		for (let i = 0; i < set.length; i += 2) {
			const name = data.strings[set[i]];
			const value = typeof set[i + 1] === "string" ? set[i + 1] : data.strings[set[i + 1]];
			let key = keys.get(name);
			if (!key) {
				key = { name, values: [], known: new Map(), ofSet: new Int32Array(setCount).fill(NO_VALUE) };
				keys.set(name, key);
			}
			if (!key.known.has(value)) {
				key.known.set(value, key.values.length);
				key.values.push(value);
			}
			key.ofSet[index] = key.known.get(value);
		}
	});
	return [...keys.values()].sort((a, b) => rank(a.name) - rank(b.name) || (a.name < b.name ? -1 : 1));
}

const FIRST_KEYS = ["process", "thread name", "state", "trace endpoint", "container", "service", "thread id"];

function rank(name) {
	const index = FIRST_KEYS.indexOf(name);
	return index < 0 ? FIRST_KEYS.length : index;
}

function readSide(profile) {
	return {
		title: profile.title,
		timeNs: profile.time_ns,
		durationNs: profile.duration_ns,
		period: profile.period,
		periodType: profile.period_type,
		periodUnit: profile.period_unit,
		executable: profile.executable,
		comments: profile.comments,
		rowNode: Int32Array.from(profile.rows.node),
		rowSet: Int32Array.from(profile.rows.label_set),
		values: profile.rows.values.map((column) => Float64Array.from(column)),
	};
}

export async function readModel(text) {
	const data = JSON.parse(text);
	const { strings, functions, frames } = data;
	const nodes = await unpack(data.nodes);
	const model = {
		types: data.types,
		shown: data.shown,
		normalize: data.normalize,
		functionCount: functions.name.length,
		functionName: functions.name.map((id) => strings[id] || "(unnamed)"),
		functionFile: functions.file.map((id) => strings[id] ?? ""),
		functionLine: functions.line,
		functionKind: functions.kind,
		frameFunction: Int32Array.from(frames.function),
		frameLine: Float64Array.from(frames.line),
		nodeDepth: nodes.depth,
		nodeParent: parents(nodes.depth),
		nodeFrame: nodes.frame,
		labels: readLabels(data),
		sides: data.profiles.map(readSide),
		isDiff: data.profiles.length > 1,
	};
	model.nodeFunction = model.nodeFrame.map((frame) => model.frameFunction[frame]);
	model.nodeIsTwin = twins(model.nodeParent, model.nodeFunction);
	model.nodeOutermost = outermost(model);
	model.kinds = [...new Set(model.functionKind)];
	return model;
}
