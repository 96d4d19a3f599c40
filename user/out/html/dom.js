// SPDX-License-Identifier: BSD-2-Clause
// Elements are made, never parsed: no text of a profile is ever read as HTML.

export function find(id) {
	return document.getElementById(id);
}

export function element(name, properties = {}, children = []) {
	const made = document.createElement(name);
	for (const [key, value] of Object.entries(properties)) {
		if (key === "role") made.setAttribute("role", value);
		else made[key] = value;
	}
	made.append(...children);
	return made;
}

// A number of radio buttons that look like one control. choices: [[value, element or text]].
export function radios(container, name, choices, current, onChange) {
	container.replaceChildren(
		...choices.map(([value, content]) => {
			const input = element("input", { type: "radio", name, value, checked: value === current });
			input.addEventListener("change", () => onChange(value));
			return element("label", {}, [input, element("span", {}, [content])]);
		}),
	);
}
