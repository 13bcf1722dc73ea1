"use strict";
(function () {
  const MISSING = -32768;
  const box = document.getElementById("explore");
  if (!box) return;
  const records = JSON.parse(document.getElementById("traces").textContent);
  const canvas = box.querySelector("canvas");
  const recordChoice = box.querySelector("[data-choose=record]");
  const channelChoice = box.querySelector("[data-choose=channel]");
  const readout = box.querySelector("output");
  const pen = canvas.getContext("2d");
  const left = 64, right = 12, top = 10, bottom = 34, between = 14;
  let channel, from, to, pointer = null, grip = null;

  function decode(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const view = new DataView(bytes.buffer), values = new Float64Array(bytes.length / 2);
    for (let i = 0; i < values.length; i++) {
      const whole = view.getInt16(2 * i, true);
      values[i] = whole === MISSING ? NaN : whole;
    }
    return values;
  }

  function fill(select, names) {
    select.replaceChildren(...names.map((name, i) => {
      const option = document.createElement("option");
      option.value = i;
      option.textContent = name;
      return option;
    }));
  }

  function choose() {
    const raw = records[recordChoice.value].channels[channelChoice.value];
    const scaled = (text, scale) => decode(text).map((v) => v * scale);
    channel = {
      ...raw, measured: scaled(raw.measured, raw.scale), predicted: scaled(raw.predicted, raw.scale),
      residual: scaled(raw.residual, raw.residual_scale),
    };
    channel.end = raw.start + raw.step * (channel.measured.length - 1);
    whole();
  }

  function whole() {
    from = channel.start;
    to = channel.end;
    draw();
  }

  function ticks(low, high, count) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find((m) => m * power >= raw) * power, places = [];
    for (let k = Math.ceil(low / step); k * step <= high; k++) places.push(k * step);
    return [places, Math.max(0, -Math.floor(Math.log10(step) + 1e-9))];
  }

  function panel(series, y0, y1, width, title) {
    const first = Math.max(0, Math.floor((from - channel.start) / channel.step));
    const last = Math.min(series[0].values.length - 1, Math.ceil((to - channel.start) / channel.step));
    let low = Infinity, high = -Infinity;
    for (const s of series) for (let i = first; i <= last; i++) {
      if (s.values[i] < low) low = s.values[i];
      if (s.values[i] > high) high = s.values[i];
    }
    if (!(high > low)) { const at = isFinite(low) ? low : 0; low = at - 1; high = at + 1; }
    const pad = 0.06 * (high - low);
    low -= pad; high += pad;
    const x = (t) => left + (t - from) / (to - from) * (width - left - right);
    const y = (v) => y1 - (v - low) / (high - low) * (y1 - y0);
    pen.font = "11px system-ui, sans-serif";
    pen.lineWidth = 1;
    const [levels, digits] = ticks(low, high, y1 - y0 > 120 ? 6 : 5);
    pen.textAlign = "right"; pen.textBaseline = "middle";
    for (const v of levels) {
      pen.strokeStyle = "#e4e8ec"; pen.beginPath(); pen.moveTo(left, y(v)); pen.lineTo(width - right, y(v)); pen.stroke();
      pen.fillStyle = "#4b5660"; pen.fillText(v.toFixed(digits), left - 6, y(v));
    }
    const [times] = ticks(from, to, 10);
    for (const t of times) {
      pen.strokeStyle = "#e4e8ec"; pen.beginPath(); pen.moveTo(x(t), y0); pen.lineTo(x(t), y1); pen.stroke();
    }
    pen.save();
    pen.beginPath(); pen.rect(left, y0, width - left - right, y1 - y0); pen.clip();
    for (const s of series) {
      pen.strokeStyle = s.colour; pen.lineWidth = s.width; pen.lineJoin = "round"; pen.beginPath();
      let down = false;
      for (let i = first; i <= last; i++) {
        const v = s.values[i];
        if (Number.isNaN(v)) { down = false; continue; }
        const px = x(channel.start + i * channel.step), py = y(v);
        if (down) pen.lineTo(px, py); else pen.moveTo(px, py);
        down = true;
      }
      pen.stroke();
    }
    pen.restore();
    pen.save();
    pen.translate(12, 0.5 * (y0 + y1)); pen.rotate(-Math.PI / 2);
    pen.textAlign = "center"; pen.fillStyle = "#26303a"; pen.fillText(title, 0, 0);
    pen.restore();
    return { x, times };
  }

  function draw() {
    const width = canvas.clientWidth, height = canvas.clientHeight, dense = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(height * dense);
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.fillStyle = "#fff"; pen.fillRect(0, 0, width, height);
    const split = top + 0.68 * (height - top - bottom - between);
    const { x, times } = panel([
      { values: channel.measured, colour: "#a7b1bb", width: 2.6 },
      { values: channel.predicted, colour: "#0072b2", width: 1.1 },
    ], top, split, width, channel.label);
    panel([{ values: channel.residual, colour: "#d55e00", width: 1 }], split + between, height - bottom, width, "residual");
    pen.fillStyle = "#4b5660"; pen.textAlign = "center"; pen.textBaseline = "top";
    const digits = ticks(from, to, 10)[1];
    for (const t of times) pen.fillText(t.toFixed(digits), x(t), height - bottom + 5);
    pen.fillText("time [s]", 0.5 * (left + width - right), height - 14);
    if (pointer !== null && pointer >= from && pointer <= to) {
      const i = Math.round((pointer - channel.start) / channel.step);
      const px = x(channel.start + i * channel.step);
      pen.strokeStyle = "#26303a"; pen.lineWidth = 0.7; pen.beginPath(); pen.moveTo(px, top); pen.lineTo(px, height - bottom); pen.stroke();
      const say = (v) => (Number.isNaN(v) || v === undefined ? "–" : v.toPrecision(4));
      readout.textContent = `t = ${(channel.start + i * channel.step).toFixed(3)} s   measured ${say(channel.measured[i])}   predicted ${say(channel.predicted[i])}`;
    } else {
      const thinned = channel.group > 1 ? `, extremes of every ${channel.group} samples` : "";
      readout.textContent = `${from.toFixed(2)} s to ${to.toFixed(2)} s${thinned}`;
    }
    box.dataset.drawn = "yes";
  }

  function timeAt(event) {
    const edge = canvas.getBoundingClientRect();
    return from + (event.clientX - edge.left - left) / (edge.width - left - right) * (to - from);
  }

  function zoom(about, factor) {
    const span = Math.min(Math.max((to - from) * factor, 8 * channel.step), channel.end - channel.start);
    const share = (about - from) / (to - from);
    move(about - share * span, span);
  }

  function move(start, span) {
    from = Math.min(Math.max(start, channel.start), channel.end - span);
    to = from + span;
    draw();
  }

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(timeAt(event), event.deltaY < 0 ? 0.8 : 1.25);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    grip = { at: event.clientX, from };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    pointer = timeAt(event);
    if (grip) {
      const perPixel = (to - from) / (canvas.clientWidth - left - right);
      move(grip.from - (event.clientX - grip.at) * perPixel, to - from);
    } else draw();
  });
  canvas.addEventListener("pointerup", () => { grip = null; });
  canvas.addEventListener("pointerleave", () => { pointer = null; draw(); });
  canvas.addEventListener("dblclick", whole);
  canvas.addEventListener("keydown", (event) => {
    const span = to - from, middle = 0.5 * (from + to);
    const act = {
      "+": () => zoom(middle, 0.7), "-": () => zoom(middle, 1.4), ArrowLeft: () => move(from - 0.2 * span, span),
      ArrowRight: () => move(from + 0.2 * span, span), Home: whole,
    }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  box.querySelector("[data-do=closer]").addEventListener("click", () => zoom(0.5 * (from + to), 0.6));
  box.querySelector("[data-do=further]").addEventListener("click", () => zoom(0.5 * (from + to), 1 / 0.6));
  box.querySelector("[data-do=whole]").addEventListener("click", whole);
  fill(recordChoice, records.map((r) => r.name || "record"));
  recordChoice.closest("label").hidden = records.length < 2;
  const list = () => { fill(channelChoice, records[recordChoice.value].channels.map((c) => c.name)); choose(); };
  recordChoice.addEventListener("change", list);
  channelChoice.addEventListener("change", choose);
  window.addEventListener("resize", draw);
  list();
})();
