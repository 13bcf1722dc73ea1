// @ts-check
/** Small helpers: elements, numbers, messages. */

/**
 * An element with attributes and children. `on…` attributes are listeners; texts are never read as HTML.
 * @param {string} tag @param {Record<string, any>} [attributes] @param {...any} children @returns {any}
 */
export function h(tag, attributes = {}, ...children) {
  const made = tag === "svg" || attributes.svg
    ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "svg" || value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked" || key === "disabled" || key === "selected") /** @type {any} */ (made)[key] = value;
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
  return made;
}

/** A number with four digits. @param {number | null | undefined} value */
export function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e5 || size < 1e-3) ? value.toExponential(3) : String(Number(value.toPrecision(4)));
}

/** A unit as it is printed. @param {string} unit */
export const printed = (unit) => unit.replace(/\^2/g, "²").replace(/\^3/g, "³").replace(/\*/g, "·");

/** A quantity in a readable unit, which a project file understands. @param {number | null} value @param {string} unit */
export function quantity(value, unit) {
  if (value === null) return "–";
  for (const [factor, prefix] of /** @type {[number, string][]} */ ([[1e9, "G"], [1e6, "M"], [1e3, "k"]])) {
    if (/^N/.test(unit) && Math.abs(value) >= factor) return `${number(value / factor)} ${prefix}${unit}`;
  }
  if (unit === "m" && value !== 0 && Math.abs(value) < 1) return `${number(1000 * value)} mm`;
  return `${number(value)} ${unit}`.trim();
}

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** Show a sentence to the user; empty to remove it. @param {string} text @param {boolean} [good] */
export function say(text, good = false) {
  const box = byId("message");
  box.className = text ? (good ? "good" : "bad") : "";
  box.replaceChildren(text, text ? h("button", { type: "button", onclick: () => say("") }, "Close") : "");
}

/** Run something that may be refused; the refusal is shown. @template T @param {() => Promise<T>} work @returns {Promise<T | null>} */
export async function attempt(work) {
  try {
    const done = await work();
    return done;
  } catch (problem) {
    say(String(/** @type {any} */ (problem).message || problem));
    return null;
  }
}

/** A table. @param {string[]} headings @param {any[][]} rows @param {string} caption @param {string} [name] */
export function table(headings, rows, caption, name = "") {
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { class: name }, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, headings.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell, i) => i === 0
        ? h("th", { scope: "row" }, cell) : h("td", {}, cell)))))));
}
