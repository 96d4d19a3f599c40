// SPDX-License-Identifier: BSD-2-Clause
// What is done with a page; each gives what was seen, and judges nothing.

const ROW = 19; // height of a frame in the graph

const text = (page, selector) => page.locator(selector).innerText();
const said = (page) => text(page, "#said");
const item = (page) => page.locator("#graph-item").textContent();
const keys = async (page, ...list) => {
	for (const key of list) await page.keyboard.press(key);
};

// Rows of the table of functions that are in sight: name and figures as they are read.
const rows = (page, list = "#functions") =>
	page.$$eval(`${list} .list-space .list-row`, (lines) =>
		lines.map((line) => [
			line.querySelector(".name").textContent,
			...[...line.querySelectorAll(".value, .cell-number, .cell-delta")].map((cell) => cell.textContent),
		]),
	);

async function clickRow(page, row, x = 60) {
	const box = await page.locator("#graph-canvas").boundingBox();
	await page.mouse.click(box.x + x, box.y + (row + 0.5) * ROW);
}

async function look(page) {
	return {
		title: await page.title(),
		said: await said(page),
		tiles: await page.$$eval("#types .tile", (tiles) => tiles.map((tile) => tile.innerText.split("\n"))),
		functions: await rows(page),
		facts: await text(page, "#recorded"),
		legend: await page.$$eval("#legend li", (items) => items.map((each) => each.textContent)),
		images: await page.locator("img").count(),
	};
}

async function mouse(page) {
	const seen = {};
	await clickRow(page, 1);
	seen.zoomed = await said(page);
	seen.zoomedItem = await item(page);
	await page.click("#reset");
	seen.reset = await said(page);
	const box = await page.locator("#graph-canvas").boundingBox();
	await page.mouse.move(box.x + 60, box.y + 1.5 * ROW);
	seen.tip = await text(page, "#tip");
	await page.mouse.move(5, 5);
	seen.tipIsGone = await page.locator("#tip").isHidden();
	await page.locator("#functions .list-space .list-row").nth(1).click();
	seen.picked = await item(page);
	return seen;
}

async function search(page) {
	const seen = {};
	await page.fill("#search", "OUTER_");
	seen.found = await text(page, "#found");
	seen.matches = await rows(page);
	await page.fill("#search", "/inner_(a|b)$/");
	seen.byExpression = (await rows(page)).map(([name]) => name).sort();
	await page.fill("#search", "/(/");
	seen.invalid = [await text(page, "#found"), await page.getAttribute("#search", "aria-invalid")];
	await page.fill("#search", "outer_");
	await keys(page, "Enter");
	seen.firstMatch = await item(page);
	await keys(page, "Escape");
	seen.after = (await rows(page)).length;
	return seen;
}

async function labels(page) {
	const seen = {};
	await page.click("#tab-labels");
	seen.keys = await page.$$eval("#label-keys label", (list) => list.map((each) => each.innerText));
	await page.click("#label-keys label:has-text('thread name')");
	seen.threads = await rows(page, "#labels");
	await page.click("#labels .list-row:has-text('other') button:has-text('Only')");
	seen.only = await said(page);
	seen.chips = await page.$$eval("#filters .chip", (list) => list.map((each) => each.getAttribute("aria-label")));
	await page.click("#labels .list-row:has-text('other') button:has-text('Hide')");
	seen.without = await said(page);
	await page.click("#filters .chip");
	seen.all = await said(page);
	await page.selectOption("#group", { label: "thread name" });
	await page.focus("#graph");
	await keys(page, "ArrowDown");
	seen.group = await item(page);
	await page.selectOption("#group", { label: "nothing" });
	await page.click("#tab-functions");
	return seen;
}

async function views(page) {
	const seen = {};
	await page.focus("#graph");
	await keys(page, "i", "ArrowDown");
	seen.caller = await item(page);
	await page.click("#views label:has-text('Flame graph')");
	await page.click("#orders label:has-text('By name')");
	await page.focus("#graph");
	await keys(page, "Home", "ArrowDown", "ArrowLeft", "ArrowLeft", "ArrowLeft");
	seen.byName = await item(page);
	await page.check("#lines");
	seen.lines = await said(page);
	await page.uncheck("#lines");
	await page.click("#types label:has-text('Wall time')");
	seen.wall = await said(page);
	seen.wallFunctions = await rows(page);
	await page.click("#types label:has-text('CPU time')");
	await page.click("#functions .list-head button:has-text('Total')");
	seen.byTotal = await rows(page);
	return seen;
}

async function themes(page) {
	const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
	const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	const seen = { themes: [], backs: [] };
	for (const colorScheme of ["light", "dark"]) {
		await page.emulateMedia({ colorScheme });
		// The page hears of it in a moment.
		await page.waitForFunction((name) => document.documentElement.dataset.theme === name, colorScheme);
		seen.themes.push(await theme());
		seen.backs.push(await back());
	}
	for (let i = 0; i < 2; i++) {
		await page.click("#theme");
		seen.themes.push(await theme());
	}
	await page.click("#theme");
	await page.emulateMedia({ colorScheme: "light" });
	return seen;
}

// No mouse: what Tab reaches, and the whole way to a frame and back.
async function keyboard(page) {
	const seen = { stops: [] };
	await page.evaluate(() => document.activeElement.blur());
	for (let i = 0; i < 60; i++) {
		await keys(page, "Tab");
		const stop = await page.evaluate(() => {
			const { id, name, className } = document.activeElement;
			return id || name || className;
		});
		if (seen.stops.includes(stop) && stop === "theme") break;
		seen.stops.push(stop);
	}
	await page.focus("#graph");
	await keys(page, "Escape", "Home", "ArrowDown", "ArrowDown");
	seen.down = await item(page);
	seen.level = await page.getAttribute("#graph-item", "aria-level");
	await keys(page, "Enter");
	seen.zoomed = await said(page);
	await keys(page, "Backspace");
	seen.out = await item(page);
	await keys(page, "Escape");
	seen.reset = await said(page);
	await keys(page, "/");
	await page.keyboard.type("outer_b");
	await keys(page, "Enter");
	seen.match = await item(page);
	await keys(page, "Escape", "n", "?");
	seen.help = await page.evaluate(() => document.getElementById("help").open);
	await keys(page, "Escape", "v");
	seen.helpAfter = await page.evaluate(() => document.getElementById("help").open);
	seen.value = await said(page);
	await page.focus("#functions .list-body");
	await keys(page, "Home", "ArrowDown", "Enter");
	seen.row = await page.getAttribute("#functions .list-body", "aria-activedescendant");
	await page.focus("#separator");
	const height = () => page.getAttribute("#separator", "aria-valuenow");
	seen.heights = [await height()];
	await keys(page, "ArrowUp");
	seen.heights.push(await height());
	return seen;
}

async function deep(page) {
	await page.focus("#graph");
	for (let i = 0; i < 105; i++) await keys(page, "PageDown");
	return { bottom: await item(page), level: await page.getAttribute("#graph-item", "aria-level") };
}

// What the page would take to open if it did nothing: the floor for comparisons.
export const scenarios = {
	look,
	deep,
	async tour(page) {
		return {
			look: await look(page),
			mouse: await mouse(page),
			search: await search(page),
			labels: await labels(page),
			views: await views(page),
			themes: await themes(page),
			keyboard: await keyboard(page),
		};
	},
};
