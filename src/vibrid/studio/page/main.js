// @ts-check
/** The page: steps, the project text, and what the server tells. */

import { api, connect, download, on } from "./api.js";
import { askPanel } from "./ask.js";
import { dataPanel } from "./data.js";
import { attempt, byId, h, say } from "./dom.js";
import { draw } from "./drawing.js";
import { again, livePanel, news } from "./live.js";
import { recolour } from "./plots.js";
import { refresh, resultsPanel, runsPanel } from "./runs.js";
import { changed, onChange, onJobs, open, showProjects, store, typed, undo } from "./store.js";
import { structurePanel } from "./structure.js";

const STEPS = /** @type {[string, string, () => any[]][]} */ ([["data", "1 Data", dataPanel], ["structure", "2 Structure", structurePanel], ["ask", "3 Ask", askPanel],
  ["run", "4 Run", runsPanel], ["look", "5 Look", resultsPanel], ["live", "Live", livePanel]]);
let step = "data";
let steps = STEPS;

/** @param {string} name */
function go(name) {
  if (step !== name) say("");
  step = name;
  sessionStorage.setItem("step", name);
  changed();
}

function tabs() {
  const focused = byId("steps").contains(document.activeElement) ? document.activeElement?.id : null;
  byId("steps").replaceChildren(...steps.map(([name, words], i) => h("button", {
    type: "button", role: "tab", id: `tab-${name}`, "aria-selected": String(step === name), "aria-controls": "panel", tabindex: step === name ? "0" : "-1", onclick: () => go(name),
    onkeydown: (/** @type {KeyboardEvent} */ e) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (by) { const next = steps[(i + by + steps.length) % steps.length][0]; go(next); byId(`tab-${next}`).focus(); }
    },
  }, words)));
  if (focused) byId(focused)?.focus();
}

/** Where the keyboard was is kept when the panel is made anew. */
function panel() {
  const active = document.activeElement;
  const label = active && byId("panel").contains(active) ? [active.tagName, active.getAttribute("aria-label") || active.id || active.textContent] : null;
  const opened = [...byId("panel").querySelectorAll("details[open] > summary")].map((s) => s.textContent);
  const found = STEPS.find(([name]) => name === step) || STEPS[0];
  const top = byId("panel").scrollTop;
  byId("panel").replaceChildren(...found[2]().flat(3).filter(Boolean));
  byId("report-box").hidden = step !== "look";
  byId("panel").setAttribute("aria-labelledby", `tab-${step}`);
  for (const summary of byId("panel").querySelectorAll("summary")) if (opened.includes(summary.textContent)) summary.parentElement.open = true;
  byId("panel").scrollTop = top;
  if (label) [...byId("panel").querySelectorAll(String(label[0]))].find((e) => (e.getAttribute("aria-label") || e.id || e.textContent) === label[1])?.focus();
}

let jobs = "";
onChange(() => { tabs(); draw(); panel(); });
onJobs(() => { if (["run", "look", "live"].includes(step)) panel(); });
on("jobs", (told) => {
  store.jobs = told;
  const key = JSON.stringify(told);
  if (key === jobs) return;
  jobs = key;
  refresh();
});
on("live", news);
let lost = false;
on("lost", () => {
  lost = true;
  say(document.documentElement.dataset.only ? "The test has ended, and this page with it." : "The server is gone. Jobs go on; the page connects again when it is back.");
});
on("open", () => {
  if (lost) say("");
  lost = false;
  again();
});

byId("toml").addEventListener("input", (/** @type {any} */ e) => typed(e.target.value));
byId("undo").addEventListener("click", () => attempt(undo));
byId("download").addEventListener("click", () => attempt(() => download({ file: store.name })));
byId("project").addEventListener("change", (/** @type {any} */ e) => attempt(() => open(e.target.value)));
byId("new-project").addEventListener("click", () => attempt(async () => {
  let count = 1;
  while (store.files.some((file) => file.name === `project-${count}.toml`)) count += 1;
  await open(`project-${count}.toml`);
}));

/** @param {string} theme */
function useTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
  sessionStorage.setItem("theme", theme);
}
byId("theme").addEventListener("click", () => { useTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"); changed(); recolour(); });
useTheme(sessionStorage.getItem("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));

tabs();
attempt(async () => {
  const state = await api("GET", "state");
  Object.assign(store, { files: state.files, jobs: state.jobs, templates: state.templates });
  document.title = `${state.workspace} – vibrid studio`;
  if (state.watch_only) {
    steps = STEPS.filter(([name]) => name === "live");
    document.documentElement.dataset.only = "live";
  }
  step = state.watch_only ? "live" : sessionStorage.getItem("step") || "data";
  connect();
  changed();
  document.documentElement.dataset.ready = "yes";
  if (state.watch_only) return;
  const projects = state.files.filter((/** @type {any} */ f) => f.kind === "project").map((/** @type {any} */ f) => f.name);
  const last = sessionStorage.getItem("project");
  showProjects();
  await open(last && projects.includes(last) ? last : projects[0] || "project.toml");
  store.schema = await api("POST", "calculate", { what: "schema" });
  changed();
});
