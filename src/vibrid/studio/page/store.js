// @ts-check
/** The state of the page. The project file is the only one that counts: every change is a change of its text. */

import { api } from "./api.js";
import { attempt, byId, h } from "./dom.js";

export const store = {
  /** @type {any[]} */ files: [],
  /** @type {any[]} */ jobs: [],
  /** @type {{time: number, who: string, what: string}[]} who did what, the newest first */ events: [],
  /** @type {string[]} */ templates: [],
  /** @type {any} */ schema: null,
  /** @type {string} */ name: "",
  /** @type {string} */ text: "",
  /** @type {string | null} */ mark: null,
  /** @type {any} what the server reads in the text; null while it cannot be read */ described: null,
  /** @type {Record<string, any>} */ looked: {},
  /** @type {string} id of the chosen part */ chosen: "",
  /** @type {any[]} places that are suggested for sensors */ marks: [],
};

/** @type {Set<() => void>} */
const listeners = new Set();
/** @param {() => void} listener */
export const onChange = (listener) => listeners.add(listener);
export const changed = () => listeners.forEach((listener) => listener());
/** @type {Set<() => void>} */
const jobListeners = new Set();
/** @param {() => void} listener */
export const onJobs = (listener) => jobListeners.add(listener);
export const jobsChanged = () => jobListeners.forEach((listener) => listener());

let timer = 0;
/** @type {Promise<any>} */
let saving = Promise.resolve();

/** The text was typed: save it and read it again in a moment. @param {string} text */
export function typed(text) {
  store.text = text;
  store.marks = [];
  byId("saved").textContent = "…";
  clearTimeout(timer);
  timer = window.setTimeout(() => save(), 400);
}

/** Texts before changes by forms, of the open project. @type {string[]} */
let past = [];
const MOST_PAST = 100;

/** Take back the last change by a form, with what was typed since. */
export async function undo() {
  const before = past.pop();
  if (before !== undefined) await shown(before);
}

/** The text is changed by a form: the page shows it at once. @param {string} text */
export async function replaced(text) {
  past = [...past, store.text].slice(-MOST_PAST);
  await shown(text);
}

/** @param {string} text */
async function shown(text) {
  byId("undo").disabled = !past.length;
  clearTimeout(timer);
  store.text = text;
  store.marks = [];
  byId("toml").value = text;
  await save();
}

/** Changes of the text, see `vibrid.studio.editing`. @param {any[]} operations */
export async function edit(operations) {
  const { text } = await api("POST", "edit", { text: store.text, operations });
  await replaced(text);
}

/** Save the text, then ask what it says; one after the other. */
export function save() {
  saving = saving.then(() => attempt(async () => {
    const text = store.text;
    const { mark } = await api("PUT", `projects/${encodeURIComponent(store.name)}`, { text, mark: store.mark });
    store.mark = mark;
    byId("saved").textContent = "saved";
    await describe();
  }));
  return saving;
}

/** Whether a project only lacks its structure, which is no mistake of the user. @param {any} said */
const notYet = (said) => said.problems.length === 1 && /needs 'structure'/.test(said.problems[0]) && !/^\s*\[structure/m.test(store.text);

/** Ask what the text says. */
export async function describe() {
  let said;
  try {
    said = await api("POST", "calculate", { what: "describe", project: store.name });
  } catch (problem) {
    said = { problems: [String(/** @type {any} */ (problem).message)] };
  }
  if (!said.problems.length) store.described = said;
  else if (store.described) store.described = { ...store.described, problems: said.problems };
  else store.described = null;
  byId("problems").replaceChildren(...notYet(said) ? [h("li", { class: "quiet" }, "No structure yet: describe it in step 2, or type it here.")]
    : said.problems.map((/** @type {string} */ line) => h("li", {}, line.replace(/^[,:]\s*/, ""))));
  changed();
}

/** Open a project; make it where it is not there. @param {string} name */
export async function open(name) {
  await saving;
  const there = store.files.some((file) => file.name === name);
  store.name = name;
  past = [];
  byId("undo").disabled = true;
  store.described = null;
  store.chosen = "";
  store.marks = [];
  if (there) Object.assign(store, await api("GET", `projects/${encodeURIComponent(name)}`));
  else {
    Object.assign(store, { text: `title = ${JSON.stringify(name.replace(/\.toml$/, ""))}\n`, mark: null });
    store.mark = (await api("PUT", `projects/${encodeURIComponent(name)}`, { text: store.text, mark: null })).mark;
    store.files = (await api("GET", "state")).files;
  }
  sessionStorage.setItem("project", name);
  byId("toml").value = store.text;
  showProjects();
  await describe();
}

/** The list of projects in the head of the page. */
export function showProjects() {
  const names = store.files.filter((file) => file.kind === "project").map((file) => file.name);
  byId("project").replaceChildren(...names.map((name) => h("option", { value: name, selected: name === store.name }, name)));
}

/** Keys of a parameter in the text: structure.storeys[0].stiffness. @param {string} path @returns {(string | number)[]} */
export function keysOf(path) {
  const keys = path.split(/[.[\]]+/).filter((k) => k !== "").map((k) => (/^\d+$/.test(k) ? Number(k) : k));
  return ["structure", ...keys];
}

/** Changes that give parameters other values. @param {Record<string, any>} values */
export function valueChanges(values) {
  const operations = [];
  for (const [path, value] of Object.entries(values)) {
    const at = keysOf(path);
    const list = at.findIndex((key) => typeof key === "number");
    if (list > 0) operations.push({ do: "expand", at: at.slice(0, list) });
    operations.push({ do: "set", at, value });
  }
  return operations;
}
