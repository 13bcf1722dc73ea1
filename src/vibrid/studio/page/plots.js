// @ts-check
/** Traces by uPlot, in the colours of the page. */

import { h, printed } from "./dom.js";

const UPlot = /** @type {any} */ (window).uPlot;
/** @param {string} name */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A number on an axis. @param {number} value */
const tick = (value) => (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5) ? value.toExponential(1) : String(Number(value.toPrecision(4))));

/** Plots on the page: they follow the width of their box and the colours of the theme. @type {Set<any>} */
const shown = new Set();
const sizes = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const width = Math.floor(contentRect.width);
    for (const made of shown) if (made.box === target && width > 0 && width !== made.plot.width) made.plot.setSize({ width, height: made.plot.height });
  }
});

/** @param {any} plot @param {HTMLElement} box */
function follow(plot, box) {
  shown.add({ plot, box });
  sizes.observe(box);
  return plot;
}

/** Remove all plots in an element, and what else it holds. @param {HTMLElement} element */
export function clear(element) {
  for (const made of shown) {
    if (!element.contains(made.box)) continue;
    sizes.unobserve(made.box);
    shown.delete(made);
    made.plot.destroy();
  }
  element.replaceChildren();
}

/** Draw all plots again, in the colours of another theme. */
export function recolour() {
  for (const made of shown) made.plot.redraw(false, true);
}

/** Axes in the colours of the page. @param {string[]} labels */
function axes(labels) {
  const lines = { stroke: () => colour("--grid"), width: 1 };
  return labels.map((label) => ({
    label, stroke: () => colour("--ink"), grid: lines, ticks: lines,
    values: (/** @type {any} */ _, /** @type {number[]} */ ticks) => ticks.map(tick), font: "12px system-ui", labelFont: "12px system-ui", labelSize: 18, size: label === labels[0] ? 34 : 62, space: label === labels[0] ? 60 : 22,
  }));
}

/**
 * A plot of series over the same axis; missing values are null. A limit is drawn once values are near it.
 * @param {HTMLElement} box @param {string} title @param {string} unit @param {{label: string, colour: string, width?: number, dash?: number[]}[]} series
 * @param {any[]} data @param {{height?: number, limit?: number | null}} [options]
 */
export function plot(box, title, unit, series, data, { height = 150, limit = null } = {}) {
  const range = (/** @type {any} */ _, /** @type {number | null} */ low, /** @type {number | null} */ high) => {
    let [a, b] = low === null || high === null ? [-1, 1] : [low, high];
    if (limit !== null && Math.max(Math.abs(a), Math.abs(b)) > 0.5 * limit) [a, b] = [Math.min(a, -limit), Math.max(b, limit)];
    const pad = 0.08 * (b - a) || 0.1 * Math.abs(b) || 1;
    return [a - pad, b + pad];
  };
  return follow(new UPlot({
    title, width: Math.max(240, box.clientWidth || 500), height, axes: axes(["time [s]", unit ? `[${printed(unit)}]` : ""]),
    scales: { x: { time: false }, y: { range } }, legend: { show: false }, cursor: { drag: { x: true, y: false } },
    hooks: { draw: limit === null ? [] : [(/** @type {any} */ u) => bounds(u, limit)] },
    series: [{}, ...series.map((s) => ({ label: s.label, stroke: () => colour(s.colour), width: s.width ?? 1.3, dash: s.dash, spanGaps: false, points: { show: false } }))],
  }, data, box), box);
}

/** Lines at both limits. @param {any} u @param {number} limit */
function bounds(u, limit) {
  u.ctx.save();
  u.ctx.strokeStyle = colour("--bad");
  u.ctx.lineWidth = 1.4 * devicePixelRatio;
  u.ctx.setLineDash([8 * devicePixelRatio, 5 * devicePixelRatio]);
  for (const at of [-limit, limit]) {
    if (at < u.scales.y.min || at > u.scales.y.max) continue;
    const y = u.valToPos(at, "y", true);
    u.ctx.beginPath();
    u.ctx.moveTo(u.bbox.left, y);
    u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
    u.ctx.stroke();
  }
  u.ctx.restore();
}

/** Traces with times of their own on one axis. @param {{at: number[], values: (number | null)[]}[]} traces @returns {any[]} */
export function joined(...traces) {
  return UPlot.join(traces.map((t) => [t.at, t.values]));
}

/** Numbers that the server packed, see `vibrid.studio.thin`. @template {Int32Array | Float32Array} T @param {string} text @param {new (buffer: ArrayBuffer) => T} kind @returns {T} */
export function unpacked(text, kind) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new kind(bytes.buffer);
}

/** A trace with its times; missing values are null. @param {{places: string, values: string}} trace @param {number} start @param {number} step */
export function timed(trace, start, step) {
  return {
    at: Array.from(unpacked(trace.places, Int32Array), (place) => start + place * step),
    values: Array.from(unpacked(trace.values, Float32Array), (value) => (Number.isFinite(value) ? value : null)),
  };
}

/** A force over a displacement. @param {HTMLElement} box @param {string} title @param {string[]} labels @param {any[]} data */
export function loop(box, title, labels, data) {
  return follow(new UPlot({
    title, mode: 2, width: Math.max(240, box.clientWidth || 300), height: 240, axes: axes(labels), legend: { show: false },
    scales: { x: { time: false, range: padded }, y: { range: padded } },
    series: [{}, { facets: [{ scale: "x", auto: true }, { scale: "y", auto: true }], stroke: () => colour("--computed"), paths: trail }],
  }, data, box), box);
}

/** @param {any} u @param {number} low @param {number} high */
function padded(u, low, high) {
  const pad = 0.05 * (high - low || 1);
  return [low - pad, high + pad];
}

/** The path of a loop. @param {any} u @param {number} index */
function trail(u, index) {
  const [xs, ys] = u.data[index];
  const path = new Path2D();
  for (let i = 0; i < xs.length; i += 1) {
    if (xs[i] === null || ys[i] === null) continue;
    const [x, y] = [u.valToPos(xs[i], "x", true), u.valToPos(ys[i], "y", true)];
    if (i === 0) path.moveTo(x, y);
    else path.lineTo(x, y);
  }
  u.ctx.save();
  u.ctx.strokeStyle = colour("--computed");
  u.ctx.lineWidth = 1.2 * devicePixelRatio;
  u.ctx.stroke(path);
  u.ctx.restore();
  return null;
}

/** A small plot without axes, as SVG. @param {(number | null)[]} at @param {(number | null)[]} values @param {string} label */
export function spark(at, values, label) {
  const [width, height] = [150, 34];
  const known = values.filter((v) => v !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const [first, last] = [at[0] ?? 0, at[at.length - 1] ?? 1];
  let d = "";
  let pen = "M";
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i];
    if (value === null) { pen = "M"; continue; }
    const x = ((at[i] ?? 0) - first) / (last - first || 1) * width;
    const y = 2 + (high === low ? 0.5 : (high - value) / (high - low)) * (height - 4);
    d += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = "L";
  }
  return h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "spark", role: "img", "aria-label": label }, h("path", { svg: true, d }));
}
