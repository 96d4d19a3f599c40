// SPDX-License-Identifier: BSD-2-Clause
// Opens a page in Debian's Chromium, does what a person would, and prints what was seen as JSON:
// node page.mjs FILE SCENARIO [SCREENSHOT]. RBPROF_NPM: the folder that tests/npm/install driver made.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { scenarios } from "./scenarios.mjs";

const [file, scenario, screenshot] = process.argv.slice(2);
const { chromium } = createRequire(`${process.env.RBPROF_NPM}/`)("playwright-core");
const PATIENCE_MS = 100_000;

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", chromiumSandbox: false });
try {
	const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
	page.setDefaultTimeout(PATIENCE_MS);
	const requests = [];
	const errors = [];
	page.on("request", (request) => requests.push(request.url()));
	page.on("pageerror", (error) => errors.push(String(error)));
	page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
	page.on("dialog", (dialog) => errors.push(`dialog: ${dialog.message()}`) && dialog.dismiss());
	const url = pathToFileURL(file).href;
	await page.goto(url);
	await page.waitForFunction(() => performance.getEntriesByName("rbprof-drawn").length > 0);
	const openMs = await page.evaluate(() => performance.getEntriesByName("rbprof-drawn")[0].startTime);
	const seen = await scenarios[scenario](page);
	if (screenshot) await page.screenshot({ path: screenshot });
	console.log(JSON.stringify({ openMs, errors, foreign: requests.filter((each) => each !== url), ...seen }));
} finally {
	await browser.close();
}
