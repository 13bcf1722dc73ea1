// @ts-check
/** The structure as SVG; every part has an id and can be clicked, or chosen by keyboard. */

import { byId, h } from "./dom.js";
import { changed, store } from "./store.js";

/** Keys of a path. @param {string} path */
const keys = (path) => path.split(/[.[\]]+/).filter(Boolean);

/** Whether an unknown path, in which * stands for every index, is of a part. @param {string} unknown @param {string[]} match */
export function covers(unknown, match) {
  const sought = keys(unknown);
  return match.some((own) => keys(own).every((key, i) => i >= sought.length || sought[i] === key || sought[i] === "*"));
}

/** Draw the structure of the project. */
export function draw() {
  const said = store.described;
  const box = byId("drawing");
  if (!said || !said.sketch) {
    box.replaceChildren(h("p", { class: "quiet" }, "The structure is drawn here once it is described."));
    return;
  }
  const items = said.sketch.items;
  const points = items.flatMap((/** @type {any} */ item) => item.points).concat([...said.sketch.sensors, ...said.sketch.loads, ...store.marks].map((/** @type {any} */ s) => s.at));
  const xs = points.map((/** @type {number[]} */ p) => p[0]);
  const ys = points.map((/** @type {number[]} */ p) => p[1]);
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min(300 / Math.max(right - left, 0.5), 230 / Math.max(high - low, 0.5), 90);
  const pushed = said.sketch.loads.some((/** @type {any} */ l) => l.quantity === "load") ? 24 : 0;
  const at = (/** @type {number[]} */ p) => [24 + pushed + (p[0] - left) * scale, 20 + (high - p[1]) * scale];
  const [width, height] = [48 + pushed + (right - left) * scale, 44 + (high - low) * scale];
  const svg = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "Drawing of the structure" });
  for (const item of items) {
    const unknown = said.unknown.some((/** @type {string} */ path) => covers(path, item.match));
    const known = item.match.length > 0;
    const classes = ["part", item.shape, unknown && "is-unknown", store.chosen === item.id.split(":")[0] && "is-chosen", known && "can-choose"];
    const choose = () => { store.chosen = item.id.split(":")[0]; changed(); };
    const attributes = known ? {
      id: item.id, class: classes.filter(Boolean).join(" "), tabindex: item.id.endsWith(":1") ? "-1" : "0", role: "button", "aria-label": item.label,
      "aria-pressed": String(store.chosen === item.id.split(":")[0]),
      onclick: choose,
      onkeydown: (/** @type {KeyboardEvent} */ e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); choose(); } },
    } : { id: item.id, class: classes.filter(Boolean).join(" ") };
    svg.append(h("g", { svg: true, ...attributes }, h("title", { svg: true }, item.label), shape(item, at)));
  }
  for (const sensor of said.sketch.sensors) {
    const [x, y] = at(sensor.at);
    svg.append(h("g", { svg: true, class: "sensor", id: sensor.id }, h("title", { svg: true }, `${sensor.label}: ${sensor.quantity.replace(/_/g, " ")}`),
      h("path", { svg: true, d: `M${x - 6} ${y}L${x + 5} ${y - 6}V${y + 6}Z` })));
  }
  for (const load of said.sketch.loads) {
    const [x, y] = at(load.at);
    const ground = load.quantity !== "load"; // both ways under the ground, or against a place
    const d = ground ? `M${x - 26} ${y}H${x + 26}M${x - 19} ${y - 5}L${x - 26} ${y}l7 5M${x + 19} ${y - 5}L${x + 26} ${y}l-7 5` : `M${x - 34} ${y}H${x - 3}M${x - 11} ${y - 5}L${x - 3} ${y}l-8 5`;
    svg.append(h("g", { svg: true, class: "load", id: load.id }, h("title", { svg: true }, load.label), h("path", { svg: true, d })));
  }
  for (const mark of store.marks) {
    const [x, y] = at(mark.at);
    svg.append(h("g", { svg: true, class: "sensor suggested" }, h("title", { svg: true }, `suggested: ${mark.label}`), h("path", { svg: true, d: `M${x - 7} ${y}L${x + 6} ${y - 7}V${y + 7}Z` })));
  }
  const focused = document.activeElement?.id;
  box.replaceChildren(svg);
  if (focused && items.some((/** @type {any} */ i) => i.id === focused)) byId(focused)?.focus();
}

/** @param {any} item @param {(p: number[]) => number[]} at @returns {any[]} */
function shape(item, at) {
  const p = item.points.map(at);
  const line = (/** @type {string} */ d, /** @type {string} */ name = "") => h("path", { svg: true, d, class: name });
  if (item.shape === "box") {
    const [[x1, y1], [x2, y2]] = p;
    return [h("rect", { svg: true, x: Math.min(x1, x2), y: Math.min(y1, y2), width: Math.abs(x2 - x1), height: Math.max(Math.abs(y2 - y1), 7), rx: 2 })];
  }
  if (item.shape === "node") return [h("circle", { svg: true, cx: p[0][0], cy: p[0][1], r: 6 })];
  if (item.shape === "support") return [line(`M${p[0][0]} ${p[0][1]}l-8 12h16z`)];
  if (item.shape === "ground") {
    const [[x1, y], [x2]] = p;
    let hatch = "";
    for (let x = x1; x < x2; x += 9) hatch += `M${x} ${y + 8}l7 -7`;
    return [line(`M${x1} ${y}H${x2}`), line(hatch, "thin")];
  }
  const [[x1, y1], [x2, y2]] = p;
  if (item.shape === "spring") {
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
    let d = `M${x1} ${y1}`;
    for (let i = 1; i < 8; i += 1) {
      const side = i % 2 ? 5 : -5;
      d += `L${x1 + ux * length * (0.25 + i / 16) - uy * side} ${y1 + uy * length * (0.25 + i / 16) + ux * side}`;
    }
    return [line(`${d}L${x2} ${y2}`), line(`M${x1} ${y1}L${x2} ${y2}`, "hit")];
  }
  return [line(`M${x1} ${y1}L${x2} ${y2}`, "stroke"), line(`M${x1} ${y1}L${x2} ${y2}`, "hit")];
}
