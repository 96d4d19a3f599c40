// SPDX-License-Identifier: BSD-2-Clause
// Light or dark: as the system says, until somebody switches.

const CHOICES = ["auto", "light", "dark"];
const STORE = "rbprof-theme";

export class Theme {
	constructor(button, onChange) {
		this.button = button;
		this.onChange = onChange;
		this.choice = Theme.stored();
		this.dark = window.matchMedia("(prefers-color-scheme: dark)");
		this.dark.addEventListener("change", () => this.apply());
		button.addEventListener("click", () => this.next());
		this.apply();
	}

	// A page of a file may have no store.
	static stored() {
		try {
			const choice = localStorage.getItem(STORE);
			return CHOICES.includes(choice) ? choice : "auto";
		} catch {
			return "auto";
		}
	}

	next() {
		this.choice = CHOICES[(CHOICES.indexOf(this.choice) + 1) % CHOICES.length];
		try {
			localStorage.setItem(STORE, this.choice);
		} catch {
			// It holds for this page then.
		}
		this.apply();
	}

	apply() {
		const isDark = this.choice === "auto" ? this.dark.matches : this.choice === "dark";
		this.name = isDark ? "dark" : "light";
		document.documentElement.dataset.theme = this.name;
		const symbols = { auto: "◐", light: "☀", dark: "☾" };
		const text = { auto: "Auto", light: "Light", dark: "Dark" };
		this.button.textContent = `${symbols[this.choice]} ${text[this.choice]}`;
		this.button.setAttribute("aria-label", `Colours: ${text[this.choice]}`);
		this.onChange(this.name);
	}
}
