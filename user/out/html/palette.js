// SPDX-License-Identifier: BSD-2-Clause
// Colours of frames. What carries meaning has a hue of its own; light and dark differ in depth.

export const KINDS = [
	["ruby", "Ruby"],
	["c", "C method"],
	["gc", "GC"],
	["native", "Native"],
	["kernel", "Kernel"],
	["special", "Profiler"],
];

// Hue, saturation, lightness.
const COLORS = {
	light: {
		ruby: [13, 74, 77],
		c: [42, 78, 72],
		gc: [150, 36, 68],
		native: [203, 56, 76],
		kernel: [264, 46, 82],
		special: [220, 9, 80],
		group: [220, 22, 88],
		root: [220, 16, 91],
		text: "#1c1a19",
		faint: "#6a6f78",
		hidden: "rgba(90, 100, 115, 0.16)",
		mark: "#7c3aed",
		outline: "#15181d",
		same: "rgba(20, 24, 32, 0.55)",
		back: "#ffffff",
		match: [286, 72, 82],
		dim: [220, 10, 93],
	},
	dark: {
		ruby: [11, 42, 37],
		c: [38, 46, 31],
		gc: [156, 34, 27],
		native: [204, 38, 33],
		kernel: [262, 26, 41],
		special: [220, 7, 34],
		group: [220, 18, 27],
		root: [220, 14, 23],
		text: "#f1eeea",
		faint: "#9aa2ae",
		hidden: "rgba(160, 170, 185, 0.14)",
		mark: "#c4a1ff",
		outline: "#ffffff",
		same: "rgba(255, 255, 255, 0.6)",
		back: "#15171b",
		match: [286, 46, 45],
		dim: [220, 8, 19],
	},
};

function hsl([hue, saturation, lightness]) {
	return `hsl(${hue.toFixed(1)} ${saturation.toFixed(1)}% ${lightness.toFixed(1)}%)`;
}

function hash(text) {
	let value = 2166136261;
	for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
	return (value ^ (value >>> 13)) >>> 0;
}

export class Palette {
	constructor(theme) {
		this.theme = theme;
		this.colors = COLORS[theme];
		this.known = new Map();
	}

	// Of a kind of code; frames of one file are alike, neighbours from other files are not.
	code(kind, file) {
		const id = `${kind} ${file}`;
		let color = this.known.get(id);
		if (!color) {
			const [hue, saturation, lightness] = this.colors[kind];
			const number = hash(id);
			const spread = kind === "ruby" || kind === "native" ? 1 : 0.3;
			color = hsl([
				hue + ((number % 17) - 8) * spread,
				saturation,
				lightness + (((number >>> 8) % 9) - 4) * (this.theme === "light" ? 1 : 0.8) * spread,
			]);
			this.known.set(id, color);
		}
		return color;
	}

	plain(kind) {
		return hsl(this.colors[kind]);
	}

	// Of a difference: from -1, gone, to 1, new.
	delta(share) {
		const strength = Math.sqrt(Math.min(1, Math.abs(share)));
		const hue = share > 0 ? 6 : 214;
		if (this.theme === "light") return hsl([hue, 12 + 70 * strength, 92 - 24 * strength]);
		return hsl([hue, 8 + 46 * strength, 25 + 14 * strength]);
	}
}
