// @ts-check
/** Ask: what is unknown, by which method, and what can be expected before anything is fitted. */

import { api } from "./api.js";
import { attempt, h, number, table } from "./dom.js";
import { covers } from "./drawing.js";
import { changed, edit, store } from "./store.js";

/** @type {any} */ let expected = null;
/** @type {any} */ let placed = null;
/** @type {any} */ let suggested = null;
let waiting = "";
let count = 1;
let asked = "";

/** The panel. @returns {any[]} */
export function askPanel() {
  const said = store.described;
  if (!said) return [h("h2", {}, "Ask"), h("p", {}, "Describe the structure first.")];
  if (asked !== store.text) { asked = store.text; expected = placed = suggested = null; }
  return [h("h2", {}, "What is unknown?"), unknowns(said), methods(), forecast(), placement()];
}

/** Parameters of one pattern together. @param {string} path */
const pattern = (path) => path.replace(/\[\d+\]/g, "[*]");

/** @param {any} said */
function unknowns(said) {
  const item = said.sketch.items.find((/** @type {any} */ i) => i.id.split(":")[0] === store.chosen);
  /** @type {Map<string, {meaning: string, unit: string, count: number}>} */
  const groups = new Map();
  for (const p of said.parameters) {
    const name = item ? p.path : pattern(p.path);
    if (item && !item.match.some((/** @type {string} */ m) => p.path === m || p.path.startsWith(`${m}.`))) continue;
    const known = groups.get(name);
    groups.set(name, { meaning: p.meaning, unit: p.unit, count: (known?.count || 0) + 1 });
  }
  const rows = [...groups].slice(0, 60).map(([path, about]) => {
    const there = said.unknown.includes(path);
    const covered = !there && said.unknown.some((/** @type {string} */ u) => covers(u, [path]) && u.includes("*"));
    return [path, about.meaning, String(about.count), h("input", { type: "checkbox", checked: there || covered, disabled: covered, "aria-label": `${path} is unknown`,
      onchange: (/** @type {any} */ e) => attempt(() => tick(path, e.target.checked)) })];
  });
  return h("section", { class: "card" }, h("div", { class: "bar" }, h("h3", {}, item ? `Of ${item.label}` : "Parameters"),
    item ? h("button", { type: "button", onclick: () => { store.chosen = ""; changed(); } }, "Show all") : null),
  table(["parameter", "meaning", "how many", "unknown"], rows, item ? "Choose what is to be found" : "Choose what is to be found; click a part in the drawing for its own"));
}

/** @param {string} path @param {boolean} on */
async function tick(path, on) {
  if (on) { await edit([{ do: "append", at: ["unknown"], value: { path } }]); return; }
  const { unknowns } = store.described; // one entry may have several paths, which share a value
  const index = unknowns.findIndex((/** @type {string[]} */ paths) => paths.length === 1 && paths[0] === path);
  if (index < 0) throw new Error(`'${path}' shares its value with others in one entry: change that entry in the text.`);
  await edit([{ do: "remove", at: unknowns.length === 1 ? ["unknown"] : ["unknown", index] }]);
}

function methods() {
  const names = (store.schema?.method || []).map((/** @type {any} */ m) => m.name).filter((/** @type {string} */ n) => !n.includes("as-published"));
  const now = store.text.match(/^\[method\][^[]*?name\s*=\s*"([^"]+)"/m)?.[1] || "trajectory";
  const about = (store.schema?.method || []).find((/** @type {any} */ m) => m.name === now);
  return h("section", { class: "card" }, h("h3", {}, "Method"), h("div", { class: "bar" }, h("label", { for: "method" }, "Method"),
    h("select", { id: "method", onchange: (/** @type {any} */ e) => attempt(() => edit([{ do: "remove", at: ["method"] }, { do: "set", at: ["method"], value: { name: e.target.value } }])) },
      names.map((/** @type {string} */ n) => h("option", { value: n, selected: n === now }, n))),
    h("button", { type: "button", onclick: () => attempt(async () => { suggested = await api("POST", "calculate", { what: "methods", project: store.name }); changed(); }) }, "Which one?")),
  about ? h("p", { class: "quiet" }, about.words) : null,
  suggested ? h("div", { id: "suggested" }, h("p", {}, h("strong", {}, suggested.suggested), `: ${suggested.why}`), h("p", { class: "quiet" }, `Also possible: ${suggested.able.filter((/** @type {string} */ n) => n !== suggested.suggested).join(", ")}.`),
    h("details", {}, h("summary", {}, "Not possible here"), h("ul", {}, Object.entries(suggested.unable).map(([name, why]) => h("li", {}, `${name}: ${why}`))))) : null);
}

/** @param {string} what @param {() => Promise<void>} work */
async function wait(what, work) {
  waiting = what;
  changed();
  await attempt(work);
  waiting = "";
  changed();
}

function forecast() {
  return h("section", { class: "card" }, h("div", { class: "bar" }, h("h3", {}, "Before the fit"),
    h("button", { type: "button", class: "main", disabled: waiting !== "", onclick: () => wait("forecast", async () => { expected = await api("POST", "calculate", { what: "forecast", project: store.name }); }) }, "What can be found?")),
  waiting === "forecast" ? h("p", { role: "status" }, "Computing what the data can tell; the first time takes a moment…") : null,
  expected ? h("div", { id: "expected" }, expected.findings.length ? h("ul", { class: "findings" }, expected.findings.map((/** @type {any} */ f) => h("li", { class: f.verdict }, f.sentence))) : h("p", {}, "Nothing wrong or odd was found."),
    expected.expected.length ? table(["unknown", "first guess", "expected ± 2σ", "± 2σ in %", "can be found"], expected.expected.map((/** @type {any} */ r) =>
      [r.name, `${number(r.first_guess)} ${r.unit}`, `${number(r.expected)} ${r.unit}`, r.relative === null ? "–" : number(200 * r.relative), r.identifiable ? "yes" : "no"]), "Expected from this excitation and these sensors") : null,
    expected.takes ? h("p", { class: "quiet" }, `A fit will take ${expected.takes} on this machine.`) : null) : null);
}

function placement() {
  return h("section", { class: "card" }, h("div", { class: "bar" }, h("h3", {}, "More accelerometers"),
    h("label", { class: "check" }, "how many", h("input", { id: "place-count", type: "number", min: 1, max: 10, value: count, onchange: (/** @type {any} */ e) => { count = Math.min(10, Math.max(1, Math.round(Number(e.target.value)) || 1)); e.target.value = count; } })),
    h("button", { type: "button", disabled: waiting !== "", onclick: () => wait("place", async () => { placed = await api("POST", "calculate", { what: "place", project: store.name, count }); store.marks = placed.marks; }) }, "Where do they tell most?")),
  waiting === "place" ? h("p", { role: "status" }, "Comparing places…") : null,
  placed ? h("p", { id: "placed" }, `At ${placed.sensors.map((/** @type {any} */ s) => s.place).join(", ")}: then ${placed.bounds.map((/** @type {any} */ b) => `${b.name} ± ${b.relative === null ? "–" : number(200 * b.relative)} %`).join(", ")}. Marked in the drawing.`) : null,
  placed && !store.described.files.length ? h("button", { type: "button", onclick: () => attempt(() => edit(placed.sensors.map((/** @type {any} */ s) => ({ do: "append", at: ["sensors"], value: s })))) }, "Add to the project") : null);
}
