// SPDX-License-Identifier: BSD-2-Clause
// What was recorded: as the comments of the profile say it.

import { element, find } from "./dom.js";
import { formatPercent, formatValue, visible } from "./format.js";

const LOST_IS_MUCH = 0.01;

function parseTicks(text) {
	const match = /^ticks: (\d+) fired, (\d+) taken, (\d+) lost$/.exec(text);
	if (!match) return null;
	const [fired, taken, lost] = match.slice(1).map(Number);
	return { fired, taken, lost };
}

// The comments that have a place of their own; all others are notes.
export function readFacts(side) {
	const facts = { rubies: [], notes: [] };
	for (const comment of side.comments) {
		const tool = /^rbprof-bpf (\S+): (.*)$/s.exec(comment);
		const kernel = /^kernel: (.*)$/s.exec(comment);
		const ruby = /^ruby: (.*)$/s.exec(comment);
		const ticks = parseTicks(comment);
		if (tool) Object.assign(facts, { version: tool[1], command: tool[2] });
		else if (kernel) facts.kernel = kernel[1];
		else if (ruby) facts.rubies.push(ruby[1]);
		else if (ticks) facts.ticks = ticks;
		else facts.notes.push(comment);
	}
	return facts;
}

function when(side) {
	if (side.timeNs <= 0) return null;
	const date = new Date(side.timeNs / 1e6);
	const two = (number) => String(number).padStart(2, "0");
	const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
	return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

function frequency(side) {
	if (side.period <= 0) return null;
	if (side.periodUnit === "nanoseconds") {
		const hz = 1e9 / side.period;
		return `${hz >= 10 ? Math.round(hz).toLocaleString("en") : hz.toFixed(1)} Hz`;
	}
	return `every ${formatValue(side.period, side.periodUnit)} of ${visible(side.periodType)}`;
}

function versions(facts) {
	const all = new Set(facts.rubies.map((ruby) => visible(ruby.split(" ")[0])));
	return all.size ? `Ruby ${[...all].join(", ")}` : null;
}

function lost(facts) {
	if (!facts.ticks) return null;
	const { fired, taken, lost: count } = facts.ticks;
	const share = fired ? count / fired : 0;
	const text = `${taken.toLocaleString("en")} samples, ${count ? formatPercent(count, fired) : "none"} lost`;
	return { text, isBad: share > LOST_IS_MUCH };
}

function factList(side, facts) {
	const short = [
		when(side),
		side.durationNs > 0 ? formatValue(side.durationNs, "nanoseconds") : null,
		frequency(side),
		versions(facts),
	];
	const items = short.filter(Boolean).map((text) => element("li", { textContent: text }));
	const loss = lost(facts);
	if (loss) items.push(element("li", { textContent: loss.text, className: loss.isBad ? "bad" : "" }));
	if (facts.notes.length) {
		const text = facts.notes.length === 1 ? "1 note" : `${facts.notes.length} notes`;
		const button = element("button", { type: "button", className: "link", textContent: text });
		button.addEventListener("click", () => find("tab-about").click());
		items.push(element("li", {}, [button]));
	}
	return element("ul", { className: "facts" }, items);
}

function command(side, facts) {
	const text = facts.command ?? side.title ?? "";
	return visible(text || side.executable || "profile");
}

function showSide(side, name) {
	const facts = readFacts(side);
	const line = element("div", { className: "command", textContent: command(side, facts) });
	line.title = line.textContent;
	const parts = [line, factList(side, facts)];
	if (name) {
		const title = element("strong", { textContent: side.title ? visible(side.title) : "" });
		const tag = element("span", { className: `tag tag-${name}`, textContent: name });
		parts.unshift(element("div", { className: "side-title" }, [tag, title]));
	}
	return element("div", { className: "side" }, parts);
}

function rows(side, name) {
	const facts = readFacts(side);
	const list = [
		[name, side.title],
		["Command", facts.command],
		["Recorded", when(side)],
		["Duration", side.durationNs > 0 ? formatValue(side.durationNs, "nanoseconds") : null],
		["Sampled", frequency(side)],
		["Executable", side.executable],
		...facts.rubies.map((ruby) => ["Ruby", ruby]),
		["Kernel", facts.kernel],
		["Profiler", facts.version ? `rbprof-bpf ${facts.version}` : null],
		["Samples", lost(facts)?.text],
		...facts.notes.map((note) => ["Note", note]),
	];
	return list.filter(([key, text]) => key && text);
}

function showAbout(model) {
	const names = model.isDiff ? ["Base", "Head"] : [null];
	const lists = names.map((name, index) => {
		const parts = rows(model.sides[index], name).flatMap(([key, text]) => [
			element("dt", { textContent: key }),
			element("dd", { textContent: visible(text) }),
		]);
		return element("dl", {}, parts);
	});
	find("about").replaceChildren(...lists);
}

export function showHeader(model) {
	const [first, second] = model.sides;
	if (model.isDiff) find("recorded").replaceChildren(showSide(first, "base"), showSide(second, "head"));
	else find("recorded").replaceChildren(showSide(first, null));
	const facts = readFacts(model.isDiff ? second : first);
	const subject = command(model.isDiff ? second : first, facts);
	document.title = `${model.isDiff ? "Difference" : "Profile"}: ${subject}`;
	showAbout(model);
}
