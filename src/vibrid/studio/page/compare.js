// @ts-check
/** Runs side by side: estimates with intervals, and their predictions over each other, also under another record. */

import { api } from "./api.js";
import { attempt, h, number, table } from "./dom.js";
import { clear, joined, plot, timed } from "./plots.js";
import { jobsChanged, store } from "./store.js";

/** @type {Set<number>} */ const chosen = new Set();
/** @type {any} */ let predicted = null;
/** @type {{record: string, drive: string}} */ const asked = { record: "", drive: "" };
let waiting = false;
/** The plots stay while the panel is made anew. */
const box = h("div", { id: "predicted" });
let drawn = false;
const COLOURS = ["--computed", "--accent", "--sensor", "--violet"];
const DASHES = [undefined, [8, 3], [3, 3], [10, 3, 2, 3]];
/** How the n-th run is drawn: by colour and by dashes. @param {number} n */
const style = (n) => ({ colour: COLOURS[n % 4], dash: DASHES[Math.floor(n + n / 4) % 4] });

/** The card. @param {any[]} ended @param {Record<number, any>} results */
export function comparison(ended, results) {
  const able = ended.filter((job) => results[job.id].result?.parameters).sort((a, b) => a.id - b.id);
  if (!able.length) return null;
  if (able.length === 1) chosen.add(able[0].id);
  const runs = able.filter((job) => chosen.has(job.id));
  const names = runs.map((job) => `run ${job.id}: ${results[job.id].result.method}`);
  return h("section", { class: "card", id: "comparison" }, h("h3", {}, "Comparison"), h("div", { class: "bar" }, able.map((job) => h("label", { class: "check" },
    h("input", { type: "checkbox", checked: chosen.has(job.id), onchange: (/** @type {any} */ e) => { if (e.target.checked) chosen.add(job.id); else chosen.delete(job.id); predicted = null; jobsChanged(); } }), `run ${job.id}`))),
  runs.length ? table(["parameter", ...names], estimates(runs, results), "Estimates ± 2σ side by side") : null,
  runs.length ? predictForm(runs) : null, runs.length && predicted ? prediction(predicted) : null);
}

/** @param {any[]} runs @param {Record<number, any>} results */
function estimates(runs, results) {
  /** @type {Map<string, string[]>} */ const rows = new Map();
  runs.forEach((job, i) => {
    for (const p of results[job.id].result.parameters) {
      if (!rows.has(p.name)) rows.set(p.name, runs.map(() => "–"));
      const cells = rows.get(p.name);
      if (cells) cells[i] = p.display?.text || `${number(p.estimate)} ± ${number(2 * p.standard_deviation)} ${p.unit}`;
    }
  });
  return [...rows].map(([name, cells]) => [name, ...cells]);
}

/** @param {any[]} runs */
function predictForm(runs) {
  const files = store.files.filter((f) => f.kind === "data").map((f) => f.name);
  if (!files.includes(asked.record)) asked.record = files[0] || "";
  return h("div", { class: "bar" }, h("label", {}, "Predicted under ", h("select", { id: "predict-record", onchange: (/** @type {any} */ e) => { asked.record = e.target.value; } }, files.map((f) => h("option", { value: f, selected: f === asked.record }, f)))),
    h("label", {}, "driven by ", h("input", { id: "predict-drive", size: 14, value: asked.drive, placeholder: "as the project says", onchange: (/** @type {any} */ e) => { asked.drive = e.target.value.trim(); } })),
    h("button", { type: "button", class: "main", disabled: waiting || !asked.record, onclick: () => predict(runs) }, "Draw the predictions"),
    waiting ? h("span", { role: "status" }, "Predicting; the first time takes a moment…") : null);
}

/** @param {any[]} runs */
async function predict(runs) {
  waiting = true;
  jobsChanged();
  const said = await attempt(() => api("POST", "calculate", { what: "predict", project: store.name, runs: runs.map((job) => job.id), record: asked.record, drive: asked.drive }));
  waiting = false;
  predicted = said;
  drawn = false;
  jobsChanged();
}

/** @param {any} said */
function prediction(said) {
  const numbers = said.sensors[0]?.runs.map((/** @type {any} */ r) => r.run) || [];
  const rows = said.sensors.map((/** @type {any} */ s) => [s.label, ...s.runs.map((/** @type {any} */ r) => `${number(r.peak)}${r.band === null ? "" : ` ± ${number(r.band)}`} ${s.unit}`),
    s.measured_peak === undefined || s.measured_peak === null ? "–" : `${number(s.measured_peak)} ${s.unit}`]);
  if (!drawn) {
    drawn = true;
    requestAnimationFrame(() => drawTraces(said)); // the box has its width once it is on the page
  }
  return [h("p", { class: "quiet" }, `${said.record}: ${said.read}.`),
    table(["sensor", ...numbers.map((/** @type {string} */ n) => `run ${n}: peak ± 2σ`), "measured peak"], rows, "Predicted peaks side by side; ± 2σ from the parameters"),
    h("p", { class: "legend" }, h("span", { class: "key measured" }), "measured ", numbers.map((/** @type {string} */ n, /** @type {number} */ i) => [h("span", { class: `key run-${i % 4}` }), `run ${n} `])), box];
}

/** @param {any} said */
function drawTraces(said) {
  const none = { at: /** @type {number[]} */ ([]), values: /** @type {(number | null)[]} */ ([]) };
  clear(box);
  for (const s of said.sensors) {
    const one = h("div", { class: "plot" });
    box.append(one);
    const traces = [s.measured ? timed(s.measured, said.start, said.step) : none, ...s.runs.map((/** @type {any} */ r) => timed(r.computed, said.start, said.step))];
    const series = [{ label: "measured", colour: "--measured", width: 2 }, ...s.runs.map((/** @type {any} */ r, /** @type {number} */ i) => ({ label: `run ${r.run}`, ...style(i) }))];
    plot(one, s.label, s.unit, series, joined(...traces));
  }
}
