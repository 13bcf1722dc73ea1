// @ts-check
/** Live: a running hybrid test, or estimates sample by sample. The server says what to draw, see `vibrid.studio.watching`. */

import { api, send } from "./api.js";
import { attempt, h, quantity } from "./dom.js";
import { clear, loop, plot } from "./plots.js";
import { eventsView, WORDS } from "./runs.js";
import { store } from "./store.js";

const MOST = 4000;
/** Values of a trace on the page, whatever comes: a day of data needs no more memory than a minute. */
const LEGEND = /** @type {Record<string, string>} */ ({ target: "measured", measured: "computed", estimate: "measured", "− 2σ": "computed" });

/** @type {number | null} */ let watched = null;
/** What the server said of the pictures. @type {any} */ let about = null;
/** @type {(number | null)[]} */ let times = [];
/** @type {(number | null)[][]} */ let traces = [];
/** @type {{at: number[], x: (number | null)[], y: (number | null)[]}[]} */ let trails = [];
/** @type {any} the last news */ let latest = null;
/** @type {any[]} */ let plots = [];
let ended = false;
let waiting = false;
const box = h("div", { id: "live-plots" });
const note = h("p", { id: "live-note", role: "status" });
const values = h("div", { id: "live-values" });

/** News of the watched run: it is kept, and drawn with the next frame. @param {any} said */
export function news(said) {
  if (said.job !== watched) return;
  if (said.pictures) begin(said);
  ended = Boolean(said.ended);
  if (said.times && about) keep(said);
  if (!waiting) {
    waiting = true;
    requestAnimationFrame(show);
  }
}

/** @param {any} said */
function begin(said) {
  about = said;
  times = [];
  traces = said.pictures.flatMap((/** @type {any} */ p) => p.lines.map(() => []));
  trails = said.loops.map(() => ({ at: [], x: [], y: [] }));
  plots = [];
  clear(box);
  values.replaceChildren();
}

/** @param {any} said */
function keep(said) {
  latest = said;
  times.push(...said.times);
  said.traces.forEach((/** @type {any[]} */ values, /** @type {number} */ i) => traces[i].push(...values));
  let first = Math.max(0, times.length - MOST);
  while ((times[first] ?? 0) < said.at - about.seconds) first += 1;
  times.splice(0, first);
  for (const trace of traces) trace.splice(0, first);
  said.trails.forEach((/** @type {any[]} */ [x, y], /** @type {number} */ i) => {
    const trail = trails[i];
    trail.at.push(...x.map(() => said.at));
    trail.x.push(...x);
    trail.y.push(...y);
    let past = Math.max(0, trail.at.length - MOST);
    while (trail.at[past] < said.at - about.seconds) past += 1;
    for (const column of [trail.at, trail.x, trail.y]) column.splice(0, past);
  });
}

/** Draw what has come, then ask for more: a page that is slow is not behind, it draws less often. */
function show() {
  waiting = false;
  if (latest && about) {
    draw();
    note.dataset.rows = String(latest.rows);
    note.dataset.at = String(latest.at);
  }
  note.textContent = `${latest ? `${latest.at.toFixed(2)} s, ${latest.rows} rows` : "Waiting for the first sample"}${ended ? "; ended" : ""}.`;
  send({ drawn: watched });
}

function draw() {
  if (!box.isConnected) return;
  let next = 0;
  const data = about.pictures.map((/** @type {any} */ p) => [times, ...p.lines.map(() => traces[next++])]);
  const loops = trails.map((t) => [null, [t.x, t.y]]);
  if (plots.length) [...data, ...loops].forEach((d, i) => plots[i].setData(d));
  else {
    about.pictures.forEach((/** @type {any} */ p, /** @type {number} */ i) => {
      const series = p.lines.map((/** @type {string} */ line) => ({ label: line, colour: `--${LEGEND[line] || "computed"}`, dash: line.endsWith("2σ") ? [4, 4] : undefined }));
      plots.push(plot(box.appendChild(h("div", { class: "plot" })), p.title, p.unit, series, data[i], { height: 150, limit: p.limit }));
    });
    about.loops.forEach((/** @type {any} */ one, /** @type {number} */ i) => plots.push(loop(box.appendChild(h("div", { class: "plot square" })), one.title, one.labels, loops[i])));
  }
  greatest();
}

/** Values now, the greatest so far, and how near they are to the limits. */
function greatest() {
  if (!values.childElementCount) {
    const head = about.kind === "online" ? ["estimate", "now", "± 2σ"] : ["quantity", "now", "greatest seen", "limit", "of the limit"];
    values.append(h("table", {}, h("caption", {}, about.kind === "online" ? "Estimates" : "Seen since this page watches"), h("thead", {}, h("tr", {}, head.map((t) => h("th", { scope: "col" }, t)))), h("tbody")), legend());
  }
  let line = 0;
  const rows = about.pictures.flatMap((/** @type {any} */ p) => {
    const at = line;
    line += p.lines.length;
    const name = p.title.replace(/ ± 2σ$/, "");
    const said = (/** @type {number | null} */ v) => quantity(v, p.unit);
    if (about.kind === "online") {
      const [value, , high] = latest.now.slice(at);
      return [[name, said(value), said(value === null || high === null ? null : high - value)]];
    }
    return p.lines.map((/** @type {string} */ _, /** @type {number} */ i) => [p.lines.length > 1 ? `${name.replace(/: .*/, "")}: ${p.lines[i]} displacement` : name, said(latest.now[at + i]), said(latest.greatest[at + i]),
      p.limit === null ? "–" : said(p.limit), p.limit === null ? "–" : `${Math.round(100 * latest.greatest[at + i] / p.limit)} %`]);
  });
  const body = values.querySelector("tbody");
  if (body.childElementCount !== rows.length) body.replaceChildren(...rows.map((/** @type {string[]} */ cells) => h("tr", {}, cells.map((c, i) => h(i ? "td" : "th", i ? {} : { scope: "row" }, c)))));
  else rows.forEach((/** @type {string[]} */ cells, /** @type {number} */ r) => cells.forEach((c, i) => { const cell = body.rows[r].cells[i]; if (cell.textContent !== c) cell.textContent = c; }));
}

function legend() {
  const [grey, other] = about.kind === "online" ? ["estimate", "± 2σ"] : ["target", "measured"];
  return h("p", { class: "legend" }, h("span", { class: "key measured" }), `${grey} `, h("span", { class: "key computed" }), `${other} `, about.kind === "online" ? null : [h("span", { class: "key limit" }), "limit, once it is near"]);
}

/** Watch a run. @param {number} job */
function choose(job) {
  watched = job;
  about = latest = null;
  plots = [];
  ended = false;
  clear(box);
  values.replaceChildren();
  note.textContent = "Waiting for the first sample.";
  send({ watch: job });
}

/** Ask for the news once there is a connection, or one again. */
export function again() {
  if (watched !== null && !ended) choose(watched);
}

/** The panel. @returns {any[]} */
export function livePanel() {
  const able = store.jobs.filter((job) => ["hybrid", "online"].includes(job.kind));
  if (watched === null && able.length) choose(able[0].id);
  const job = able.find((j) => j.id === watched);
  const runs = job && ["running", "queued"].includes(job.state);
  return [h("h2", {}, "Live"), able.length ? h("div", { class: "bar" }, h("label", { for: "watched" }, "Run"),
    h("select", { id: "watched", onchange: (/** @type {any} */ e) => choose(Number(e.target.value)) }, able.map((j) => h("option", { value: j.id, selected: j.id === watched }, `${j.id}. ${j.title} (${WORDS[j.state]})`))),
    runs ? h("button", { type: "button", class: "stop", id: "stop-test", disabled: Boolean(job.stop), onclick: () => attempt(() => api("POST", `jobs/${watched}/cancel`, {})) }, job.stop ? "Stopping" : "Stop the test") : null, note)
    : h("p", { class: "quiet" }, "No hybrid test and no online identification has been started. Start one under Run."),
  h("p", { class: "note" }, "Stop ends the test the way its interlock does, after the present step. It is no emergency stop: that is a switch in the laboratory."),
  job?.problem ? h("p", { class: "bad" }, job.problem) : null, able.length ? [values, box] : null, watched === null ? null : eventsView(watched), later()];
}

/** Pictures are drawn once their box is on the page again. */
function later() {
  requestAnimationFrame(() => { if (about && latest) draw(); });
  return null;
}
