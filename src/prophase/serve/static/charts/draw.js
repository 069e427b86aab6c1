// What every chart shares: elements, scales, axes, the tip that follows the pointer.

import { linearTicks, logTicks, clockTicks } from "./numbers.js";

const SVG = "http://www.w3.org/2000/svg";
let made = 0;

export function add(parent, name, attributes = {}, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) element.setAttribute(key, value);
  }
  if (text !== undefined) element.textContent = text;
  parent.appendChild(element);
  return element;
}

// An empty picture with a title and a description for those who cannot see it.
export function canvas(place, height, title, says) {
  const width = Math.max(place.clientWidth, 220);
  made += 1;
  const svg = add(place, "svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-labelledby": `chart-${made}-title chart-${made}-desc`,
  });
  add(svg, "title", { id: `chart-${made}-title` }, title);
  add(svg, "desc", { id: `chart-${made}-desc` }, says);
  return { svg, width, height };
}

export function scale(low, high, from, to, log = false) {
  const span = log ? Math.log(high / low) : high - low;
  const at = (value) => {
    if (!span) return (from + to) / 2;
    const share = log ? Math.log(Math.max(value, low * 1e-6) / low) / span : (value - low) / span;
    return from + share * (to - from);
  };
  at.low = low;
  at.high = high;
  at.log = log;
  return at;
}

export function ticksOf(at, count, unit, clock) {
  if (clock) return clockTicks(at.low, at.high, count, clock === "date");
  return at.log ? logTicks(at.low, at.high, count, unit) : linearTicks(at.low, at.high, count, unit);
}

export function xAxis(svg, at, box, { unit, label, clock, grid = true } = {}) {
  const count = Math.max(3, Math.floor((box.right - box.left) / 80));
  let last = -Infinity;
  for (const [value, text] of ticksOf(at, count, unit, clock)) {
    const x = at(value);
    if (x < box.left - 1 || x > box.right + 1) continue;
    if (grid) add(svg, "line", { class: "grid", x1: x, x2: x, y1: box.top, y2: box.bottom });
    const anchor = x > box.right - 14 ? "end" : x < box.left + 10 ? "start" : "middle";
    const wide = 6.5 * text.length;
    const from = x - { end: wide, start: 0, middle: wide / 2 }[anchor];
    if (from < last + 6) continue;
    last = from + wide;
    add(svg, "text", { class: "tick", x, y: box.bottom + 16, "text-anchor": anchor }, text);
  }
  if (label) {
    add(svg, "text", { class: "axis", x: (box.left + box.right) / 2, y: box.bottom + 34, "text-anchor": "middle" }, label);
  }
}

export function yAxis(svg, at, box, { unit, label } = {}) {
  const count = Math.max(2, Math.floor((box.bottom - box.top) / 45));
  for (const [value, text] of ticksOf(at, count, unit)) {
    const y = at(value);
    if (y < box.top - 1 || y > box.bottom + 1) continue;
    add(svg, "line", { class: "grid", x1: box.left, x2: box.right, y1: y, y2: y });
    add(svg, "text", { class: "tick", x: box.left - 6, y: y + 4, "text-anchor": "end" }, text);
  }
  if (label) add(svg, "text", { class: "axis", x: Math.max(box.left - 44, 0), y: box.top - 8 }, label);
}

// Names below a chart: a swatch and a word each, on as many lines as they need.
export function legend(place, names) {
  const list = document.createElement("ul");
  list.className = "legend";
  list.setAttribute("aria-hidden", "true");
  for (const [name, kind] of names) {
    const item = document.createElement("li");
    const swatch = document.createElement("span");
    swatch.className = `swatch ${kind}`;
    item.append(swatch, name);
    list.appendChild(item);
  }
  place.appendChild(list);
}

let tip = null;

// Show words beside the pointer while it is over an element.
export function tipFor(element, words) {
  element.addEventListener("pointermove", (event) => {
    const text = typeof words === "function" ? words(event) : words;
    if (!text) return hideTip();
    if (!tip) {
      tip = document.createElement("div");
      tip.className = "tip";
      tip.setAttribute("aria-hidden", "true");
      document.body.appendChild(tip);
    }
    tip.textContent = text;
    tip.hidden = false;
    const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(left, 4)}px`;
    tip.style.top = `${Math.max(event.clientY - tip.offsetHeight - 12, 4)}px`;
  });
  element.addEventListener("pointerleave", hideTip);
}

export function hideTip() {
  if (tip) tip.hidden = true;
}

export function extent(values, { zero = false, log = false, pad = 0.05 } = {}) {
  const known = values.filter((one) => Number.isFinite(one) && (!log || one > 0));
  if (!known.length) return log ? [1, 10] : [0, 1];
  let low = known.reduce((a, b) => Math.min(a, b));
  let high = known.reduce((a, b) => Math.max(a, b));
  if (log) return low === high ? [low / 2, high * 2] : [low / 1.15, high * 1.15];
  if (zero) low = Math.min(low, 0);
  if (low === high) high = low + (Math.abs(low) || 1);
  const room = pad * (high - low);
  return [zero && low === 0 ? 0 : low - room, high + room];
}

// Shorten a name so that it fits, keeping both its ends.
export function fitted(text, most) {
  const words = String(text);
  if (words.length <= most) return words;
  const half = Math.max(Math.floor((most - 1) / 2), 2);
  return `${words.slice(0, half)}…${words.slice(-half)}`;
}
