// @ts-check
/** Bring data: files, their channels, what is odd, and what each channel is. */

import { api } from "./api.js";
import { attempt, h, number, printed, say } from "./dom.js";
import { spark } from "./plots.js";
import { changed, edit, open, store } from "./store.js";

const USES = [
  ["", "not used"], ["ground", "ground motion"], ["absolute_acceleration", "accelerometer"], ["displacement", "displacement (to the ground)"],
  ["velocity", "velocity (to the ground)"], ["drift", "storey drift"], ["strain", "strain"], ["element_force", "force of a part"], ["load", "load"],
];

/** @type {Record<string, Record<string, {use: string, place: string, direction: string, unit: string}>>} roles by file and channel */
const roles = {};
/** @type {Record<string, Record<string, string>>} how files are read */
const readings = {};

/** Upload files, then look at them. @param {FileList | File[]} files */
async function bring(files) {
  for (const file of files) {
    const done = await attempt(() => api("PUT", `files/${encodeURIComponent(file.name)}`, file));
    if (done) {
      store.files = done.files;
      if (file.name.endsWith(".toml")) {
        await attempt(() => open(file.name));
        say(`The project ${file.name} is open.`, true);
        continue;
      }
      changed();
      await lookAt(file.name);
    }
  }
}

/** @param {string} name */
async function lookAt(name) {
  store.looked[name] = { waiting: true };
  changed();
  try {
    const reading = Object.fromEntries(Object.entries(readings[name] || {}).filter(([, v]) => v).map(([k, v]) => [k, k === "rate" ? Number(v)
      : k === "drop" || k === "units" ? v.split(",").map((p) => p.trim()) : k === "missing" ? v.split(",").map(Number) : v]));
    store.looked[name] = await api("POST", "look", { file: name, reading });
  } catch (problem) {
    store.looked[name] = { problem: String(/** @type {any} */ (problem).message) };
  }
  changed();
}

/** The panel. @returns {any[]} */
export function dataPanel() {
  const files = store.files.filter((file) => file.kind === "data");
  const input = h("input", { type: "file", multiple: true, id: "bring", onchange: (/** @type {any} */ e) => bring(e.target.files) });
  const zone = h("div", {
    class: "drop",
    ondragover: (/** @type {DragEvent} */ e) => { e.preventDefault(); zone.classList.add("over"); },
    ondragleave: () => zone.classList.remove("over"),
    ondrop: (/** @type {DragEvent} */ e) => { e.preventDefault(); zone.classList.remove("over"); if (e.dataTransfer) bring(e.dataTransfer.files); },
  }, h("label", { for: "bring" }, "Drop measured files, or a project file, here; or choose them:"), input,
  h("p", { class: "quiet" }, "CSV and text tables, Excel, MATLAB, HDF5, NumPy, UFF, PEER, COSMOS, K-NET and more. Files stay in the workspace."));
  return [h("h2", {}, "Bring data"), zone, ...files.map((file) => card(file))];
}

/** One file. @param {any} file */
function card(file) {
  const looked = store.looked[file.name];
  const head = h("div", { class: "bar" }, h("h3", {}, file.name), h("span", { class: "quiet" }, `${number(file.bytes / 1e3)} kB`),
    h("button", { type: "button", onclick: () => lookAt(file.name) }, looked ? "Read again" : "Look at it"),
    h("button", { type: "button", "aria-label": `Remove ${file.name}`, onclick: () => attempt(async () => {
      store.files = (await api("DELETE", `files/${encodeURIComponent(file.name)}`)).files;
      delete store.looked[file.name];
      changed();
    }) }, "Remove"));
  if (!looked) return h("section", { class: "card" }, head);
  if (looked.waiting) return h("section", { class: "card" }, head, h("p", { role: "status" }, "Reading…"));
  if (looked.problem) return h("section", { class: "card" }, head, h("p", { class: "bad" }, looked.problem), readingForm(file.name));
  const rates = new Set(looked.records.map((/** @type {any} */ r) => number(r.rate || r.usual_rate)));
  const several = looked.records.length > 1 ? h("p", { class: "note" }, `The file holds ${looked.records.length} records${rates.size > 1 ? ` with different rates (${[...rates].join(", ")} Hz)` : ""}: channels of one record are used together.`) : null;
  return h("section", { class: "card" }, head, several, ...looked.records.map((/** @type {any} */ record) => recordView(file.name, record)), readingForm(file.name));
}

/** How a file is read, where it does not say so itself. @param {string} name */
function readingForm(name) {
  const own = (readings[name] ||= {});
  const keys = [["rate", "samples per second"], ["units", "units, by commas"], ["decimal", "decimal mark"], ["dates", "dates: dmy, mdy, ymd"],
    ["missing", "numbers for missing"], ["time", "time column"], ["drop", "columns to leave out"], ["sheet", "sheet"]];
  return h("details", {}, h("summary", {}, "How the file is read"), h("div", { class: "fields" }, keys.map(([key, words]) =>
    h("label", {}, words, h("input", { value: own[key] || "", onchange: (/** @type {any} */ e) => { own[key] = e.target.value.trim(); } })))),
  h("button", { type: "button", onclick: () => lookAt(name) }, "Read it so"));
}

/** What a channel is taken for at first; a ground motion only where there is no doubt. @param {any} channel @param {any[]} all */
function firstRole(channel, all) {
  const ground = all.filter((c) => c.quantity === "ground_acceleration");
  const said = { place: channel.location || "", direction: channel.direction || "", unit: "" };
  if (channel.quantity === "ground_acceleration") return { use: ground.length === 1 ? "ground" : "", ...said };
  const known = USES.some(([use]) => use === channel.quantity) && channel.location !== "";
  return { use: known ? channel.quantity : "", ...said };
}

/** @param {string} file @param {any} record */
function recordView(file, record) {
  const own = (roles[file] ||= {});
  const places = store.described?.places || [];
  const list = `places-${file.replace(/\W/g, "-")}`;
  const grounds = record.channels.filter((/** @type {any} */ c) => /ground|shak|base|table|boden/i.test(c.name) || c.quantity === "ground_acceleration");
  const rows = record.channels.map((/** @type {any} */ channel) => {
    const role = (own[channel.name] ||= firstRole(channel, record.channels));
    const place = h("input", { value: role.place, size: 8, list, disabled: !role.use || role.use === "ground", "aria-label": `Place of ${channel.name}`,
      onchange: (/** @type {any} */ e) => { role.place = e.target.value.trim(); } });
    const direction = h("input", { value: role.direction, size: 3, disabled: role.use !== "ground", "aria-label": `Direction of ${channel.name}`,
      onchange: (/** @type {any} */ e) => { role.direction = e.target.value.trim(); } });
    const use = h("select", { "aria-label": `What ${channel.name} is`, onchange: (/** @type {any} */ e) => {
      role.use = e.target.value;
      place.disabled = !role.use || role.use === "ground";
      direction.disabled = role.use !== "ground";
    } }, USES.map(([value, words]) => h("option", { value, selected: value === role.use }, words)));
    const unit = h("input", { value: role.unit, size: 6, placeholder: channel.unit || "unit?", "aria-label": `Unit of ${channel.name}`,
      onchange: (/** @type {any} */ e) => { role.unit = e.target.value.trim(); } });
    const odd = channel.findings.length ? h("ul", { class: "findings" }, channel.findings.map((/** @type {any} */ f) =>
      h("li", { class: f.verdict }, f.sentence.replace(/^Channel '[^']*' /, "")))) : null;
    const said = channel.quantity === "other" ? "quantity not recognised" : `read as ${channel.quantity.replace(/_/g, " ")}`;
    const peak = `peak ${number(channel.peak)} ${printed(channel.unit)}`;
    return [h("tr", { class: "channel" }, h("th", { scope: "row" }, channel.name, h("small", {}, said), spark(channel.plot.at, channel.plot.values, `${channel.name}: ${peak}`), h("small", {}, peak)),
      h("td", {}, use), h("td", {}, place), h("td", {}, direction), h("td", {}, unit)),
    odd ? h("tr", { class: "odd-row" }, h("td", { colspan: 5 }, odd)) : null];
  });
  const rate = record.rate ? `${number(record.rate)} Hz` : `uneven, about ${number(record.usual_rate)} Hz`;
  return h("div", {}, h("p", {}, `${record.samples} samples, ${rate}, ${number(record.seconds)} s`),
    record.decided.length ? h("ul", { class: "quiet" }, record.decided.map((/** @type {string} */ line) => h("li", {}, line))) : null,
    grounds.length > 1 ? h("p", { class: "note" }, `${grounds.length} channels may be components of the ground motion (${grounds.map((/** @type {any} */ c) => c.name).join(", ")}): choose the one along the structure as ground motion, or several with a direction each.`) : null,
    h("datalist", { id: list }, places.map((/** @type {string} */ p) => h("option", { value: p }))),
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": `Channels of ${file}` }, h("table", { class: "channels" },
      h("thead", {}, h("tr", {}, ["channel", "is", "place", "direction", "unit"].map((t) => h("th", { scope: "col" }, t)))), h("tbody", {}, rows))),
    h("button", { type: "button", class: "main", onclick: () => attempt(() => write(file, record)) }, "Use these channels"));
}

/** Write sensors, excitation and file into the project. @param {string} file @param {any} record */
async function write(file, record) {
  const used = record.channels.filter((/** @type {any} */ c) => roles[file][c.name].use);
  const ground = used.filter((/** @type {any} */ c) => ["ground", "load"].includes(roles[file][c.name].use));
  const sensors = used.filter((/** @type {any} */ c) => !["ground", "load"].includes(roles[file][c.name].use));
  if (!ground.length) throw new Error("Say which channel is the ground motion, or a load: it drives the structure.");
  if (ground.length > 1 && ground.some((/** @type {any} */ c) => roles[file][c.name].use === "ground" && !roles[file][c.name].direction))
    throw new Error("Several channels are ground motions: give each its direction (x, y), or use one only.");
  if (!sensors.length) throw new Error("Say what at least one more channel measures, and where.");
  const nowhere = sensors.find((/** @type {any} */ c) => roles[file][c.name].place === "");
  if (nowhere) throw new Error(`Give '${nowhere.name}' a place on the structure: floors are numbered from 0, the top one is "roof".`);
  const unitless = used.find((/** @type {any} */ c) => !c.unit && !roles[file][c.name].unit);
  if (unitless) throw new Error(`The file does not say the unit of '${unitless.name}': give it.`);
  const entry = (/** @type {any} */ c) => {
    const { use, place, direction, unit } = roles[file][c.name];
    const more = { ...(unit ? { unit } : {}) };
    if (use === "ground") return { column: c.name, quantity: "ground_acceleration", ...(direction ? { direction } : {}), ...more };
    if (use === "load") return { column: c.name, quantity: "load", place, ...more };
    return { channel: c.name, quantity: use, place: /^\d+$/.test(place) ? Number(place) : place, ...more };
  };
  const reading = readings[file] || {};
  const table = { files: [file], ...(record.rate ? {} : { resample: record.usual_rate }) };
  for (const key of ["decimal", "dates", "time", "sheet"]) if (reading[key]) Object.assign(table, { [key]: reading[key] });
  if (reading.rate) Object.assign(table, { rate: Number(reading.rate) });
  if (reading.missing) Object.assign(table, { missing: reading.missing.split(",").map(Number) });
  if (reading.drop) Object.assign(table, { drop: reading.drop.split(",").map((p) => p.trim()) });
  await edit([
    { do: "remove", at: ["sensors"] }, { do: "set", at: ["sensors"], value: sensors.map(entry) },
    { do: "remove", at: ["excitation"] }, { do: "set", at: ["excitation"], value: { channels: ground.map(entry) } },
    { do: "remove", at: ["records"] }, { do: "set", at: ["records"], value: table },
  ]);
  say(`The project now uses ${sensors.length} sensors and ${ground.length} excitation of ${file}. Next: the structure.`, true);
}
