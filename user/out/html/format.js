// SPDX-License-Identifier: BSD-2-Clause
// Figures and names as people read them.

const SCALES = {
	nanoseconds: [
		[1e9, "s"],
		[1e6, "ms"],
		[1e3, "µs"],
		[1, "ns"],
	],
	microseconds: [
		[1e6, "s"],
		[1e3, "ms"],
		[1, "µs"],
	],
	milliseconds: [
		[1e3, "s"],
		[1, "ms"],
	],
	seconds: [[1, "s"]],
	bytes: [
		[2 ** 40, "TiB"],
		[2 ** 30, "GiB"],
		[2 ** 20, "MiB"],
		[2 ** 10, "KiB"],
		[1, "B"],
	],
};

const PER_MINUTE = { nanoseconds: 60e9, microseconds: 60e6, milliseconds: 60e3, seconds: 60 };

// Three digits that count; whole numbers stay whole.
function digits(number) {
	const size = Math.abs(number);
	if (Number.isInteger(number) || size >= 999.5) return Math.round(number).toLocaleString("en");
	if (size >= 99.95) return number.toFixed(0);
	return number.toFixed(size >= 9.995 ? 1 : 2);
}

function minutes(size, perMinute) {
	const seconds = Math.round((size / perMinute) * 60);
	const hours = Math.floor(seconds / 3600);
	const rest = Math.floor((seconds % 3600) / 60);
	if (hours) return `${hours.toLocaleString("en")} h ${rest} min`;
	return `${rest} min ${seconds % 60} s`;
}

// 1234567 nanoseconds: "1.23 ms". Counts have no unit.
export function formatValue(value, unit) {
	if (!value) return "0";
	const size = Math.abs(value);
	const sign = value < 0 ? "−" : "";
	const perMinute = PER_MINUTE[unit];
	if (perMinute && size >= 2 * perMinute) return sign + minutes(size, perMinute);
	const scales = SCALES[unit];
	if (!scales) return sign + digits(size);
	const [factor, name] = scales.find(([least]) => size >= least) ?? scales[scales.length - 1];
	return `${sign}${digits(size / factor)} ${name}`;
}

export function formatDelta(value, unit) {
	return value > 0 ? `+${formatValue(value, unit)}` : formatValue(value, unit);
}

export function formatPercent(part, whole) {
	if (!whole) return "–";
	const percent = (100 * part) / whole;
	const size = Math.abs(percent);
	const sign = percent < 0 ? "−" : "";
	if (!size) return "0 %";
	if (size < 0.01) return `${sign}<0.01 %`;
	if (size >= 99.95) return `${sign}${Math.round(size)} %`;
	return `${sign}${size.toFixed(size < 1 ? 2 : 1)} %`;
}

const TYPE_NAMES = {
	"cpu-time": "CPU time",
	"cpu-samples": "CPU samples",
	"wall-time": "Wall time",
	timeline: "GC time",
	"alloc-samples": "Allocations",
	"heap-live-samples": "Live objects",
	"heap-live-size": "Live memory",
};

export function typeName(type) {
	return Object.hasOwn(TYPE_NAMES, type) ? TYPE_NAMES[type] : visible(type);
}

// What could reorder, hide or break a line is shown as what it is: names are not ours.
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const SHORT = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };

export function visible(text) {
	return text.replace(UNSAFE, (character) => {
		if (SHORT[character]) return SHORT[character];
		const code = character.codePointAt(0);
		return code > 0xff ? `\\u${code.toString(16).padStart(4, "0")}` : `\\x${code.toString(16).padStart(2, "0")}`;
	});
}

export function fileAndLine(file, line) {
	if (!file) return "";
	return line > 0 ? `${visible(file)}:${line}` : visible(file);
}

// Text made to fit a number of characters: both ends of a name say more than its middle.
export function shorten(text, room) {
	if (text.length <= room) return text;
	if (room < 4) return "";
	const tail = Math.floor((room - 1) / 2);
	const head = room - 1 - tail;
	return `${wellFormed(text.slice(0, head))}…${wellFormed(text.slice(text.length - tail))}`;
}

// A cut may go through a character of two units.
function wellFormed(text) {
	return text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
}
