"use strict";
// The timeline, on a canvas: a track for this process and one for each worker. The wheel
// and two buttons zoom, dragging moves, a click on a slice opens its function.

const TRACK = 30; // pixels
const AXIS = 26;
const shownTime = { from: 0, to: 0 }; // microseconds; kept while other parts are shown

// A colour of its own for each kind, to be seen on white and on black: neighbours are a
// golden angle apart.
function colourOf(kind) {
  return `oklch(${[0.68, 0.58, 0.78][kind % 3]} 0.15 ${((kind * 137.508) % 360).toFixed(2)})`;
}

function measured(font) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = font;
  return (text) => context.measureText(text).width;
}

// A text that is cut so that it is at most so many pixels wide.
function fitted(text, width, widthOf) {
  if (widthOf(text) <= width) return text;
  let size = Math.floor((text.length * width) / widthOf(text));
  while (size > 0 && widthOf(`${text.slice(0, size)}…`) > width) size -= 1;
  return size ? `${text.slice(0, size)}…` : "";
}

function ticksOf(from, to, most) {
  const wanted = (to - from) / most;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= wanted);
  const made = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) made.push(at);
  return made;
}

function timelineChart(slices) {
  const end = slices.stop.reduce((most, one) => Math.max(most, one), 1);
  if (!shownTime.to) shownTime.to = end;
  const canvas = element("canvas", { role: "img", "aria-label": "timeline", tabindex: 0 });
  const tip = element("div", { class: "tip", hidden: "" });
  const frame = element("div", { class: "timeline" }, canvas, tip);
  const context = canvas.getContext("2d");
  const height = TRACK * slices.tracks.length + AXIS;
  let width = 0;
  let gutter = 0;
  const xOf = (time) => gutter + ((time - shownTime.from) / (shownTime.to - shownTime.from)) * (width - gutter);
  const timeOf = (x) => shownTime.from + ((x - gutter) / (width - gutter)) * (shownTime.to - shownTime.from);

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    width = frame.clientWidth;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = `${height}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(document.body);
    context.font = `12px ${style.fontFamily}`;
    const widthOf = (text) => context.measureText(text).width;
    gutter = Math.min(Math.max(...slices.tracks.map(widthOf)) + 8, width / 4);
    context.fillStyle = style.color;
    context.textBaseline = "middle";
    slices.tracks.forEach((name, at) => context.fillText(fitted(name, gutter - 8, widthOf), 0, at * TRACK + TRACK / 2));
    context.textAlign = "center";
    for (const time of ticksOf(shownTime.from, shownTime.to, Math.max(2, (width - gutter) / 90))) {
      const text = shortTime(time / 1e6);
      const half = widthOf(text) / 2;
      if (xOf(time) + half <= width && xOf(time) - half >= gutter) context.fillText(text, xOf(time), height - AXIS / 2);
      context.globalAlpha = 0.15;
      context.fillRect(xOf(time), 0, 1, height - AXIS);
      context.globalAlpha = 1;
    }
    context.textAlign = "start";
    context.save();
    context.beginPath();
    context.rect(gutter, 0, width - gutter, height);
    context.clip();
    slices.start.forEach((start, at) => {
      const from = xOf(start);
      const to = xOf(slices.stop[at]);
      if (to < gutter || from > width) return;
      context.fillStyle = colourOf(slices.name[at]);
      context.fillRect(from, slices.track[at] * TRACK + 3, Math.max(to - from, 0.7), TRACK - 6);
    });
    context.restore();
  }

  function sliceAt(event) {
    const box = canvas.getBoundingClientRect();
    const track = Math.floor((event.clientY - box.top) / TRACK);
    const x = event.clientX - box.left;
    if (x < gutter) return -1;
    return slices.start.findIndex((start, at) => slices.track[at] === track && xOf(start) - 1 <= x && x <= Math.max(xOf(slices.stop[at]), xOf(start) + 1));
  }

  function moveTo(from, size) {
    const kept = Math.min(Math.max(size, 5), end);
    shownTime.from = Math.min(Math.max(from, 0), end - kept);
    shownTime.to = shownTime.from + kept;
    draw();
  }

  function zoom(factor, time = (shownTime.from + shownTime.to) / 2) {
    moveTo(time - (time - shownTime.from) * factor, (shownTime.to - shownTime.from) * factor);
  }

  let drag = null; // where it began, and the time that was at the left then
  let moved = false;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(1.2 ** Math.sign(event.deltaY), timeOf(event.clientX - canvas.getBoundingClientRect().left));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, from: shownTime.from };
    moved = false;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      moved ||= Math.abs(event.clientX - drag.x) > 3;
      const size = shownTime.to - shownTime.from;
      if (moved) moveTo(drag.from - ((event.clientX - drag.x) / (width - gutter)) * size, size);
      return;
    }
    const at = sliceAt(event);
    tip.hidden = at < 0;
    if (at < 0) return;
    const name = data.functions[slices.function[at]]?.name;
    tip.textContent = [slices.names[slices.name[at]], name, shortTime((slices.stop[at] - slices.start[at]) / 1e6)].filter(Boolean).join(", ");
    const box = frame.getBoundingClientRect();
    tip.style.left = `${Math.max(0, Math.min(event.clientX - box.left + 12, width - tip.offsetWidth))}px`;
    tip.style.top = `${event.clientY - box.top + 16}px`;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("pointerup", (event) => {
    drag = null;
    const at = moved ? -1 : sliceAt(event);
    const one = data.functions[slices.function[at]];
    if (one) location.hash = address(one.name, "last", state.view);
  });
  canvas.addEventListener("keydown", (event) => {
    const size = shownTime.to - shownTime.from;
    const steps = {
      "+": () => zoom(0.5), "-": () => zoom(2), "0": () => moveTo(0, end),
      ArrowLeft: () => moveTo(shownTime.from - size / 4, size), ArrowRight: () => moveTo(shownTime.from + size / 4, size),
    };
    if (event.key in steps) { event.preventDefault(); event.stopPropagation(); steps[event.key](); }
  });
  new ResizeObserver(draw).observe(frame);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  const button = (text, label, click) => element("button", { type: "button", "aria-label": label, onclick: click }, text);
  return [
    element(
      "div", { class: "controls" },
      button("+", "zoom in", () => zoom(0.5)), button("−", "zoom out", () => zoom(2)), button("All", "show all", () => moveTo(0, end)),
      traceLinks(),
    ),
    frame,
  ];
}

// Gives the trace to Perfetto's page, as that asks to be given one: it is sent when the
// page answers, and nothing but the browser sees it.
function openInPerfetto(at = "https://ui.perfetto.dev") {
  const opened = window.open(at);
  const asking = setInterval(() => opened.postMessage("PING", at), 50);
  window.addEventListener("message", function answered(event) {
    if (event.source !== opened || event.data !== "PONG") return;
    clearInterval(asking);
    window.removeEventListener("message", answered);
    const buffer = Uint8Array.from(atob(data.trace), (char) => char.charCodeAt(0)).buffer;
    opened.postMessage({ perfetto: { buffer, title: document.title, fileName: "trace.json.gz" } }, at);
  });
}

function traceLinks() {
  if (!data.trace) return [];
  const saved = `data:application/gzip;base64,${data.trace}`;
  return [
    element("button", { type: "button", onclick: () => openInPerfetto() }, "Open the trace in Perfetto"),
    element("a", { href: saved, download: "trace.json.gz" }, "Save the trace"),
  ];
}

function timeline() {
  const slices = data.timeline;
  if (!slices) return [element("p", { class: "dim" }, "No timeline was recorded: see Runner.record, or --report.")];
  const legend = slices.names.map((name, at) => element("li", {}, element("span", { style: `background:${colourOf(at)}` }), name));
  return [
    element("p", { class: "dim" }, "A track for this process and one for each worker; a colour for each pass. Drag and zoom; click on a slice to open its function."),
    ...timelineChart(slices),
    element("ul", { class: "legend" }, legend),
  ];
}
