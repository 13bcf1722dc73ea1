// @ts-check
/** Describe: a structure from a few answers or a template, its parameters and laws, modes, and a simulation with sliders. */

import { api, simulate } from "./api.js";
import { attempt, h, number, printed, quantity, say, table } from "./dom.js";
import { covers } from "./drawing.js";
import { clear, joined, plot, timed } from "./plots.js";
import { changed, edit, keysOf, replaced, store, valueChanges } from "./store.js";

const answers = { kind: "shear-building", storeys: "2", mass: "20 t", frequency: "3", length: "", stiffness: "" };
/** Units that a project file understands after a number as they are. */
const PLAIN = /^(N|N\/m|N s\/m|N\/m\^2|kg|m|s|)$/;
/** @type {Record<string, number>} values of the sliders */
let moved = {};
/** The traces stay while the panel is made anew. */
const box = h("div", { id: "traces" });
const note = h("p", { class: "quiet", id: "simulated", role: "status" });
let drawn = "";
let pending = false;
let again = false;
let tried = "";

/** The panel. @returns {any[]} */
export function structurePanel() {
  const said = store.described;
  if (said && store.schema) automatic(said);
  return [h("h2", {}, "Describe the structure"), beginForm(), said ? firstLook(said) : null, said ? partView(said) : null, said ? modesView(said) : null];
}

function beginForm() {
  const field = (/** @type {string} */ key, /** @type {string} */ words, /** @type {string} */ hint) => h("label", {}, words,
    h("input", { value: /** @type {any} */ (answers)[key], placeholder: hint, onchange: (/** @type {any} */ e) => { /** @type {any} */ (answers)[key] = e.target.value.trim(); } }));
  const beam = answers.kind === "beam";
  const kinds = store.schema ? store.schema.structure.map((/** @type {any} */ s) => s.name) : store.templates;
  const chosen = h("select", { id: "template" }, kinds.map((/** @type {string} */ name) => h("option", { value: name }, name)));
  const begin = (/** @type {any} */ content) => attempt(async () => {
    const { text } = await api("POST", "begin", { ...content, text: store.text });
    document.querySelector("#panel details[open]")?.removeAttribute("open");
    await replaced(text);
    say("");
  });
  return h("details", { open: !store.described, class: "card" }, h("summary", {}, "Begin"), h("div", { class: "fields" },
    h("label", {}, "Kind", h("select", { onchange: (/** @type {any} */ e) => { answers.kind = e.target.value; changed(); } },
      ["shear-building", "beam"].map((k) => h("option", { value: k, selected: k === answers.kind }, k === "beam" ? "cantilever beam" : "shear building")))),
    beam ? field("length", "Length", "12 m") : field("storeys", "Storeys", "2"),
    field("mass", beam ? "Mass per length" : "Mass of a floor", beam ? "300 kg/m" : "20 t"),
    field("frequency", "First frequency, roughly [Hz]", "3"), field("stiffness", "or stiffness", beam ? "5e6 N*m^2" : "20 MN/m")),
  h("button", { type: "button", class: "main", onclick: () => begin(answers) }, "Make it"),
  h("p", { class: "or" }, "or"),
  h("div", { class: "bar" }, h("label", { for: "template" }, "a template"), chosen,
    h("button", { type: "button", onclick: () => begin({ template: chosen.value }) }, "Use the template")));
}

/** Parameters, and the law, of the chosen part. @param {any} said */
function partView(said) {
  const item = said.sketch.items.find((/** @type {any} */ i) => i.id.split(":")[0] === store.chosen);
  const rows = said.parameters.filter((/** @type {any} */ p) => (item ? covers(p.path, item.match) && !p.path.includes("*") && own(p.path, item.match) : true));
  const shown = rows.slice(0, item ? 40 : 12);
  return h("section", { class: "card" }, h("div", { class: "bar" }, h("h3", {}, item ? item.label : "Parameters"),
    item ? h("button", { type: "button", onclick: () => { store.chosen = ""; changed(); } }, "Show all") : null),
  table(["parameter", "meaning", "value, in SI where no unit is given", "SI unit"], shown.map((/** @type {any} */ p) => [p.path, p.meaning,
    h("input", { value: PLAIN.test(p.unit) ? quantity(p.value, p.unit) : number(p.value), size: 14, "aria-label": `Value of ${p.path}`, onchange: (/** @type {any} */ e) => attempt(() => setValue(p.path, e.target.value.trim())) }), printed(p.unit)]),
  item ? "Parameters of the chosen part" : `The first ${shown.length} of ${rows.length} parameters; choose a part in the drawing for its own`),
  item && /^(storeys|attachments)\[\d+\]$/.test(item.match[0] || "") ? lawForm(item.match[0]) : null);
}

/** @param {string} path @param {string[]} match */
const own = (path, match) => match.some((m) => path === m || path.startsWith(`${m}.`) || path.startsWith(`${m}[`));

/** @param {string} path @param {string} text */
async function setValue(path, text) {
  const value = /^[-+]?[\d.]+(e[-+]?\d+)?$/i.test(text) ? Number(text) : text;
  await edit(valueChanges({ [path]: value }));
}

/** Another law for a part, its parameters from the schema. @param {string} path */
function lawForm(path) {
  if (!store.schema) return null;
  const laws = store.schema.law;
  const fields = h("div", { class: "fields" });
  const words = h("p", { class: "quiet" });
  const show = () => {
    const law = laws.find((/** @type {any} */ l) => l.name === chosen.value);
    words.textContent = law.words;
    fields.replaceChildren(...law.parameters.filter((/** @type {any} */ p) => p.plain).map((/** @type {any} */ p) => h("label", { title: p.meaning },
      `${p.name}${p.required ? "" : " (optional)"}${p.unit ? ` [${p.unit}]` : ""}`, h("input", { name: p.name }), h("small", {}, p.meaning))));
  };
  const chosen = h("select", { id: "law", onchange: show }, laws.map((/** @type {any} */ l) => h("option", { value: l.name, selected: l.name === "linear" }, l.name)));
  show();
  return h("details", {}, h("summary", {}, "Another law"), h("div", { class: "bar" }, h("label", { for: "law" }, "Law"), chosen), words, fields,
    h("button", { type: "button", onclick: () => attempt(async () => {
      const value = /** @type {any} */ ({ law: chosen.value });
      for (const input of fields.querySelectorAll("input")) {
        const text = input.value.trim();
        if (text) value[input.name] = /^[-+]?[\d.]+(e[-+]?\d+)?$/i.test(text) ? Number(text) : text;
      }
      const at = keysOf(path.startsWith("attachments") ? `${path}.law` : path);
      await edit([{ do: "expand", at: at.slice(0, 2) }, { do: "set", at, value }]);
    }) }, "Use this law"));
}

/** @param {any} said */
function modesView(said) {
  if (!said.modes.length) return null;
  return h("section", { class: "card" }, h("h3", {}, "Modes"), table(["mode", "frequency", "damping"], said.modes.map((/** @type {any} */ m, /** @type {number} */ i) =>
    [String(i + 1), `${number(m.frequency)} Hz`, m.ratio === null ? "–" : `${number(100 * m.ratio)} %`]), "Small motions about rest"));
}

/** A simulation beside what was measured, with sliders. @param {any} said */
function firstLook(said) {
  const sliders = said.parameters.filter((/** @type {any} */ p) => p.value > 0 && (said.unknown.some((/** @type {string} */ u) => covers(u, [p.path])) || store.chosen && own(p.path, said.sketch.items.find((/** @type {any} */ i) => i.id.split(":")[0] === store.chosen)?.match || []))).slice(0, 12);
  moved = Object.fromEntries(Object.entries(moved).filter(([path]) => sliders.some((/** @type {any} */ s) => s.path === path)));
  if (box.dataset.project !== store.name) { clear(box); note.textContent = ""; drawn = ""; box.dataset.project = store.name; }
  const rows = sliders.map((/** @type {any} */ p) => {
    const value = () => moved[p.path] ?? p.value;
    const shown = h("output", {}, quantity(value(), p.unit));
    return h("label", { class: "slider" }, h("span", {}, p.path), h("input", { type: "range", min: -2, max: 2, step: 0.01, value: Math.log2(value() / p.value),
      "aria-label": `Value of ${p.path}`, oninput: (/** @type {any} */ e) => {
        moved[p.path] = p.value * 2 ** Number(e.target.value);
        shown.textContent = quantity(moved[p.path], p.unit);
        run();
      } }), shown);
  });
  return h("section", { class: "card" }, h("div", { class: "bar" }, h("h3", {}, "Simulation"),
    h("button", { type: "button", class: "main", onclick: () => run() }, "Simulate"),
    h("button", { type: "button", onclick: () => attempt(async () => {
      const values = Object.fromEntries(Object.entries(moved).map(([path, v]) => [path, Number(v.toPrecision(5))]));
      moved = {};
      await edit(valueChanges(values));
    }) }, "Write the values into the project"),
    h("button", { type: "button", onclick: () => { moved = {}; changed(); } }, "Reset")),
  rows.length ? h("div", { class: "sliders" }, rows) : h("p", { class: "quiet" }, "Sliders appear for unknowns, and for the part that is chosen."), note,
  h("p", { class: "legend" }, h("span", { class: "key measured" }), "measured ", h("span", { class: "key computed" }), "computed"), box);
}

/** A first simulation, and one after every change of the text, where it takes a moment only. @param {any} said */
function automatic(said) {
  const key = `${store.name} ${store.mark}`;
  if (said.problems.length || !said.light || !said.sensors.length || !(said.drives || said.files.length) || key === tried || key === drawn) return;
  tried = key;
  setTimeout(run);
}

/** Simulate with the sliders as they are; while one runs, the last wish waits. What was measured is sent once. */
async function run() {
  if (pending) { again = true; return; }
  pending = true;
  const started = performance.now();
  if (!box.childElementCount) note.textContent = "Compiling…";
  try {
    const key = `${store.name} ${store.mark}`;
    const anew = key !== drawn;
    show(await simulate({ project: store.name, values: moved, measured: anew }), anew);
    drawn = key;
    await new Promise(requestAnimationFrame); // the picture is there with the next frame
    const took = performance.now() - started;
    note.textContent = `${beside}${anew ? "" : `Computed and drawn in ${Math.round(took)} ms.`}`;
    note.dataset.milliseconds = String(took);
  } catch (problem) {
    note.textContent = String(/** @type {any} */ (problem).message);
  }
  pending = false;
  if (again) { again = false; run(); }
}

/** @type {any[]} */ let plots = [];
/** @type {any[]} */ let measured = [];
let beside = "";

/** @param {any} said @param {boolean} anew whether the plots are made, and what was measured has come */
function show(said, anew) {
  const none = { at: /** @type {number[]} */ ([]), values: /** @type {(number | null)[]} */ ([]) };
  if (anew) measured = said.traces.map((/** @type {any} */ t) => (t.measured ? timed(t.measured, said.start, said.step) : none));
  const data = said.traces.map((/** @type {any} */ t, /** @type {number} */ i) => joined(measured[i], timed(t.computed, said.start, said.step)));
  if (!anew) { data.forEach((/** @type {any} */ d, /** @type {number} */ i) => plots[i].setData(d)); return; }
  beside = said.measured ? `Beside ${said.measured}. ` : "";
  clear(box);
  plots = said.traces.map((/** @type {any} */ t, /** @type {number} */ i) => {
    const one = h("div", { class: "plot" });
    box.append(one);
    const series = [{ label: "measured", colour: "--measured" }, { label: "computed", colour: "--computed" }];
    return plot(one, `${t.label}${t.measured ? ": measured and computed" : ""}`, t.unit, series, data[i]);
  });
}
