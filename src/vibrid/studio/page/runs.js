// @ts-check
/** Runs: the queue, progress and logs; and results: report, downloads, files of a prediction. */

import { api, download } from "./api.js";
import { comparison } from "./compare.js";
import { attempt, byId, h, number, say, table } from "./dom.js";
import { jobsChanged, store } from "./store.js";

/** @type {number | null} */ let shown = null;
/** @type {any} */ let details = null;
/** @type {Record<number, any>} */ const results = {};

export const WORDS = /** @type {Record<string, string>} */ ({ queued: "waits", running: "runs", done: "done", failed: "failed", cancelled: "stopped", interrupted: "interrupted" });
const KINDS = /** @type {Record<string, string>} */ ({ identify: "Identification", simulate: "Simulation", predict: "Prediction", rehearse: "Rehearsal", hybrid: "Hybrid test", online: "Online identification", track: "Watch" });

/** Start a job. @param {string} kind @param {any} [options] @param {string | null} [project] */
export async function start(kind, options = {}, project = store.name) {
  const { job } = await api("POST", "jobs", { kind, project, options });
  shown = job;
  say("");
  return job;
}

/** The panel of runs. @returns {any[]} */
export function runsPanel() {
  const ready = store.described && !store.described.problems.length;
  const button = (/** @type {string} */ kind, /** @type {string} */ words, /** @type {any} */ options = {}, main = false) =>
    h("button", { type: "button", class: main ? "main" : "", disabled: !ready, onclick: () => attempt(() => start(kind, options)) }, words);
  return [h("h2", {}, "Run"), h("div", { class: "bar" }, button("identify", "Identify", {}, true), button("identify", "Identify and repair", { repair: true }), button("simulate", "Simulate"),
    store.described?.hybrid ? [button("rehearse", "Rehearse the hybrid test"), button("hybrid", "Run the hybrid test"), button("hybrid", "Run it in real time", { real_time: true })] : null,
    store.described?.files?.length ? button("online", "Identify sample by sample", { record: store.described.files[0] }) : null),
  watchBar(ready),
  h("p", { class: "quiet" }, "Identify finds what is ticked under Ask and writes a report. Identify and repair also takes out faults of instruments that it finds, such as a delay, and says so. Simulate computes the readings of the sensors."),
  ready ? null : h("p", { class: "note" }, "The project has mistakes, which are listed below its text; a job can start when there are none."),
  h("ul", { class: "jobs", "aria-label": "Runs" }, store.jobs.map((job) => jobView(job))),
  store.jobs.length ? null : h("p", { class: "quiet" }, "No run yet."), eventsView()];
}

/** What is typed to watch a folder; panels are made anew while jobs run. @type {Record<string, any>} */
const asked = { open: false, folder: "", environment: "", drift_limit: "" };

/** A folder to which files are added is watched. @param {boolean} ready */
function watchBar(ready) {
  const field = (/** @type {string} */ key, /** @type {string} */ hint, /** @type {string} */ label) =>
    h("input", { value: asked[key], placeholder: hint, "aria-label": label, size: 18, oninput: (/** @type {any} */ e) => { asked[key] = e.target.value; } });
  const options = () => ({ folder: asked.folder.trim(), environment: asked.environment.trim(), drift_limit: asked.drift_limit.trim(), events: Boolean(asked.drift_limit.trim()) });
  return h("details", { class: "card", open: asked.open, ontoggle: (/** @type {any} */ e) => { asked.open = e.target.open; } }, h("summary", {}, "Watch a folder to which files are added"), h("div", { class: "bar" },
    field("folder", "folder of the workspace", "Folder that is watched"), field("environment", "channels of temperature", "Channels of the environment"), field("drift_limit", "drift limit, 15 mm", "Limit of the drift in events"),
    h("button", { type: "button", disabled: !ready, onclick: () => attempt(() => start("track", options())) }, "Watch")));
}

/** @param {any} job */
function jobView(job) {
  const p = job.progress;
  const bar = job.state === "running" ? h("progress", p?.total ? { max: p.total, value: Math.min(p.done, p.total), "aria-label": `Progress of run ${job.id}` } : { "aria-label": `Progress of run ${job.id}` }) : null;
  const seconds = job.started ? Math.round((job.ended || Date.now() / 1000) - job.started) : null;
  const change = (/** @type {string} */ what) => attempt(() => api("POST", `jobs/${job.id}/${what}`, {}));
  return h("li", { class: `job ${job.state}`, "data-job": job.id },
    h("div", { class: "bar" }, h("strong", {}, `${job.id}. ${KINDS[job.kind]}`), h("span", {}, job.title), h("span", { class: `state ${job.state}` }, WORDS[job.state]),
      seconds === null ? null : h("span", { class: "quiet" }, `${seconds} s`),
      job.state === "running" || job.state === "queued" ? h("button", { type: "button", class: "stop", disabled: Boolean(job.stop) && job.kind === "hybrid", onclick: () => change("cancel") }, job.stop ? (job.kind === "hybrid" ? "Stopping" : "Stop at once") : "Stop") : null,
      ["interrupted", "cancelled", "failed"].includes(job.state) ? h("button", { type: "button", onclick: () => change("again") }, job.goes_on ? "Go on" : "Run again") : null,
      h("button", { type: "button", "aria-expanded": String(shown === job.id), onclick: () => { shown = shown === job.id ? null : job.id; details = null; refresh(); } }, "Log")),
    bar, p ? h("p", { class: "quiet" }, `${p.stage}${p.total ? `: ${p.done} of ${p.total}` : ""}${p.note ? `, ${p.note}` : ""}`) : null,
    job.problem ? h("p", { class: "bad" }, job.problem) : null,
    shown === job.id && details?.id === job.id ? h("div", {}, h("p", { class: "quiet" }, "The same from a terminal: ", h("code", {}, details.command || "")),
      h("pre", { tabindex: "0", role: "region", "aria-label": `Log of run ${job.id}` }, `${details.log}${details.said}`.trim())) : null);
}

/** Who started and stopped what. @param {number | null} [run] one run only @returns {any} */
export function eventsView(run = null) {
  const told = store.events.filter((e) => run === null || new RegExp(`\\brun ${run}\\b`).test(e.what));
  if (!told.length) return null;
  return h("details", { class: "card" }, h("summary", {}, "Who did what"), h("ul", { class: "events" }, told.map((e) => h("li", {}, `${new Date(1000 * e.time).toLocaleString()}: ${e.who} ${e.what}`))));
}

/** Read the log of the run that is shown, and the results of those that have ended. */
export async function refresh() {
  store.events = (await attempt(() => api("GET", "events")))?.events || store.events;
  if (shown !== null) details = await attempt(() => api("GET", `jobs/${shown}`));
  for (const job of store.jobs) {
    if (["done", "cancelled", "failed"].includes(job.state) && !(job.id in results)) {
      results[job.id] = null;
      results[job.id] = await attempt(() => api("GET", `jobs/${job.id}`));
    } else if (!["done", "cancelled", "failed"].includes(job.state)) delete results[job.id];
  }
  jobsChanged();
}

/** The panel of results. @returns {any[]} */
export function resultsPanel() {
  const ended = store.jobs.filter((job) => results[job.id] && results[job.id].files.some((/** @type {string} */ f) => f !== "job.json" && f !== "end.json"));
  return [h("h2", {}, "Look"), ended.length ? null : h("p", { class: "quiet" }, "No result yet."), comparison(ended, results),
    ...store.jobs.filter((job) => job.kind === "track" && job.state === "running").map((job) => h("section", { class: "card result", "data-result": job.id }, h("div", { class: "bar" },
      h("h3", {}, `${job.id}. ${KINDS[job.kind]} ${job.title}`), h("button", { type: "button", class: "main", onclick: () => attempt(() => follow(job.id)) }, "Follow the page")))),
    ...ended.map((job) => resultView(job, results[job.id]))];
}

/** @param {any} job @param {any} result */
function resultView(job, result) {
  const files = result.files.filter((/** @type {string} */ f) => !["job.json", "end.json"].includes(f));
  const record = h("select", { "aria-label": `Record for run ${job.id}` }, store.files.filter((f) => f.kind === "data").map((f) => h("option", { value: f.name }, f.name)));
  const drive = h("input", { placeholder: "excitation channel", "aria-label": `Excitation channel for run ${job.id}`, size: 14 });
  return h("section", { class: "card result", "data-result": job.id }, h("div", { class: "bar" }, h("h3", {}, `${job.id}. ${KINDS[job.kind]} ${job.title}`), h("span", { class: `state ${job.state}` }, WORDS[job.state])),
    result.result?.verdict ? h("p", { class: result.result.fits ? "verdict fits" : "verdict misses" }, result.result.verdict) : null,
    result.result?.parameters ? table(["parameter", "estimate ± 2σ", "can be found"], result.result.parameters.map((/** @type {any} */ p) => [p.name, p.display?.text || `${number(p.estimate)} ± ${number(2 * p.standard_deviation)} ${p.unit}`, p.identifiable ? "yes" : "no"]), `Estimates of run ${job.id}`) : null,
    job.kind === "predict" || job.kind === "rehearse" || job.kind === "simulate" ? h("pre", { tabindex: "0", role: "region", "aria-label": `Answer of run ${job.id}` }, result.said.trim()) : null,
    h("div", { class: "bar" }, files.includes("report.html") ? h("button", { type: "button", class: "main", onclick: () => attempt(() => frame(job.id)) }, "Show the report") : null,
      files.map((/** @type {string} */ file) => h("button", { type: "button", onclick: () => attempt(() => download({ job: job.id, file })) }, `Download ${file}`))),
    files.includes("result.h5") && job.kind === "identify" ? h("div", { class: "bar" }, h("span", {}, "Files of a prediction under another record:"), record, drive,
      h("button", { type: "button", onclick: () => attempt(() => start("predict", { job: job.id, record: record.value, drive: drive.value.trim() }, null)) }, "Make them")) : null);
}

/** @type {number} */ let following = 0;

/** Show the page of a watched structure anew while it is written and on the screen. @param {number} job */
async function follow(job) {
  await frame(job);
  window.clearInterval(following);
  following = window.setInterval(() => {
    const runs = store.jobs.some((other) => other.id === job && other.state === "running");
    if (!runs || !byId("report-box").querySelector(`[title="Report of run ${job}"]`)) window.clearInterval(following);
    else if (!byId("report-box").hidden) attempt(() => frame(job, false));
  }, 20000);
}

/** Show a report in a frame without an origin of its own. @param {number} job @param {boolean} [first] */
async function frame(job, first = true) {
  const { address } = await api("POST", "ticket", { job, file: "report.html", show: true });
  byId("report-box").replaceChildren(h("h2", {}, `Report of run ${job}`),
    h("iframe", { src: address, sandbox: "allow-scripts", title: `Report of run ${job}`, class: "report" }));
  if (first) byId("report-box").scrollIntoView({ block: "start" });
}
