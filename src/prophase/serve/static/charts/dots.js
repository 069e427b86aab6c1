// Dots: one per run, in their order, with levels to compare with.
//
// data: {x: [...], y: [...], unit, xlabel, ylabel, above: value, levels: [{name, value, colour}], log}

import { add, canvas, extent, scale, tipFor, xAxis, yAxis } from "./draw.js";
import { plain, say } from "./numbers.js";

export function dots(place, data, title, says) {
  const height = data.height || 280;
  const { svg, width } = canvas(place, height, title, says);
  const box = { left: 60, right: width - 14, top: 24, bottom: height - 44 };
  const [low, high] = extent([...data.y, ...(data.levels || []).map((one) => one.value)], { zero: !data.log, log: data.log });
  const [first, last] = extent(data.x, { pad: 0.02, log: data.xlog });
  const x = scale(first, last, box.left, box.right, data.xlog);
  const y = scale(low, high, box.bottom, box.top, data.log);
  yAxis(svg, y, box, { unit: data.unit, label: data.ylabel });
  xAxis(svg, x, box, { unit: data.xunit, label: data.xlabel, grid: false });
  data.x.forEach((at, i) => {
    const above = data.above !== undefined && data.y[i] > data.above;
    const dot = add(svg, "circle", { class: `point ${above ? "c1" : "c0"}`, cx: x(at), cy: y(data.y[i]), r: data.names ? 6 : 3.2 });
    const name = data.names ? data.names[i] : `${data.each || "run"} ${plain(at)}`;
    tipFor(dot, `${name}: ${say(data.y[i], data.unit)}${data.names ? `, ${say(at, data.xunit)}` : ""}`);
    if (data.names) add(svg, "text", { class: "note", x: x(at) + 9, y: y(data.y[i]) + 4 }, data.names[i]);
  });
  let before = -100;
  const ordered = [...(data.levels || [])].sort((a, b) => b.value - a.value);
  for (const one of ordered) {
    const at = y(one.value);
    add(svg, "line", { class: `level c${one.colour ?? 0}`, x1: box.left, x2: box.right, y1: at, y2: at });
    const words = Math.max(at - 5, before + 15);
    before = words;
    add(svg, "text", { class: "note", x: box.right, y: words, "text-anchor": "end" }, `${one.name} ${say(one.value, data.unit)}`);
  }
}
