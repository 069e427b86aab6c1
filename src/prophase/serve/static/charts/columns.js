// Upright columns: a histogram, or a count per step of time.
//
// data: {edges: [n + 1], counts: [n], unit, xlabel, ylabel, clock, marks: [{name, value}], log}

import { add, canvas, extent, scale, tipFor, xAxis, yAxis } from "./draw.js";
import { plain, say, sayClock } from "./numbers.js";

export function columns(place, data, title, says) {
  const height = data.height || 220;
  const { svg, width } = canvas(place, height, title, says);
  const box = { left: 56, right: width - 14, top: data.marks ? 34 : 22, bottom: height - (data.xlabel ? 44 : 28) };
  const y = scale(0, extent(data.counts, { zero: true })[1], box.bottom, box.top);
  const x = scale(data.edges[0], data.edges[data.edges.length - 1], box.left, box.right, data.log);
  yAxis(svg, y, box, { unit: data.yunit, label: data.ylabel });
  xAxis(svg, x, box, { unit: data.unit, label: data.xlabel, clock: data.clock, grid: false });
  const shown = (value) => data.clock ? sayClock(value, data.clock === "date") : say(value, data.unit);
  data.counts.forEach((count, i) => {
    const [from, to] = [x(data.edges[i]), x(data.edges[i + 1])];
    const bar = add(svg, "rect", { class: "bar c0", x: from + 0.5, y: y(count), width: Math.max(to - from - 1, 0.8), height: Math.max(box.bottom - y(count), 0) });
    tipFor(bar, `${shown(data.edges[i])} to ${shown(data.edges[i + 1])}: ${plain(count)} ${data.what || "jobs"}`);
  });
  for (const one of data.marks || []) {
    const at = x(one.value);
    if (at < box.left - 1 || at > box.right + 1) continue;
    add(svg, "line", { class: "level c1", x1: at, x2: at, y1: box.top - 6, y2: box.bottom });
    const anchor = at > box.right - 90 ? "end" : "start";
    add(svg, "text", { class: "note", x: at + (anchor === "end" ? -5 : 5), y: box.top - 8, "text-anchor": anchor }, `${one.name} ${shown(one.value)}`);
  }
}
