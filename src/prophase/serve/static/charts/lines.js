// Lines over time, with bands, steps, a level to compare with, and a strip of phases below.
//
// data: {x: [...], clock: "date"|"elapsed"|null, xunit, xlabel, unit, ylabel, zero, log,
//        series: [{name, y: [...], low: [...], high: [...], step, area, quiet}],
//        levels: [{name, value}], strip: {name, values: [...], names: [...]}}

import { add, canvas, extent, legend, scale, tipFor, hideTip, xAxis, yAxis } from "./draw.js";
import { say, sayClock } from "./numbers.js";

export function lines(place, data, title, says) {
  const strip = data.strip ? 26 : 0;
  const height = (data.height || 240) + strip;
  const { svg, width } = canvas(place, height, title, says);
  const box = { left: 56, right: width - 14, top: data.ylabel ? 22 : 10, bottom: height - (data.xlabel ? 44 : 28) - strip };
  const all = data.series.flatMap((one) => [...one.y, ...(one.low || []), ...(one.high || [])])
    .concat((data.levels || []).map((one) => one.value));
  const [low, high] = extent(all, { zero: data.zero !== false && !data.log, log: data.log });
  const y = scale(low, data.most === undefined ? high : Math.max(data.most, high), box.bottom, box.top, data.log);
  const x = scale(data.x[0], data.x[data.x.length - 1], box.left, box.right);
  yAxis(svg, y, box, { unit: data.unit, label: data.ylabel });
  xAxis(svg, x, { ...box, bottom: box.bottom + strip }, {
    unit: data.xunit, clock: data.clock, label: data.xlabel, grid: false,
  });
  data.series.forEach((one, number) => drawSeries(svg, one, one.colour ?? number, data.x, x, y, box));
  (data.levels || []).forEach((one) => {
    const at = y(one.value);
    add(svg, "line", { class: "level", x1: box.left, x2: box.right, y1: at, y2: at });
    add(svg, "text", { class: "note", x: box.right, y: at - 5, "text-anchor": "end" }, `${one.name} ${say(one.value, data.unit)}`);
  });
  if (data.strip) drawStrip(svg, data, x, box);
  follow(svg, data, x, box);
  const names = data.series.map((one, number) => [one.name, `c${(one.colour ?? number) % 8}`]);
  if (data.strip) for (const [number, name] of data.strip.names.entries()) names.push([name, `box p${number % 8}`]);
  if (names.length > 1) legend(place, names);
}

function drawSeries(svg, one, number, xs, x, y, box) {
  const colour = `c${number % 8}`;
  if (one.low) {
    const up = xs.map((at, i) => [x(at), y(one.high[i])]);
    const down = xs.map((at, i) => [x(at), y(one.low[i])]).reverse();
    add(svg, "path", { class: `band ${colour}`, d: path([...up, ...down]) + "Z" });
  }
  const points = xs.map((at, i) => Number.isFinite(one.y[i]) ? [x(at), y(one.y[i])] : null);
  const d = one.step ? steps(points) : path(points);
  if (one.area) {
    const known = points.filter(Boolean);
    if (known.length) {
      const last = known[known.length - 1];
      add(svg, "path", { class: `area ${colour}`, d: `${d}L${last[0]},${box.bottom}L${known[0][0]},${box.bottom}Z` });
    }
  }
  add(svg, "path", { class: `line ${colour}${one.quiet ? " quiet" : ""}${one.dashed ? " dashed" : ""}`, d });
}

function path(points) {
  let d = "";
  let up = true;
  for (const point of points) {
    if (!point) { up = true; continue; }
    d += `${up ? "M" : "L"}${point[0].toFixed(1)},${point[1].toFixed(1)}`;
    up = false;
  }
  return d;
}

function steps(points) {
  let d = "";
  let before = null;
  for (const point of points) {
    if (!point) { before = null; continue; }
    d += before ? `H${point[0].toFixed(1)}V${point[1].toFixed(1)}` : `M${point[0].toFixed(1)},${point[1].toFixed(1)}`;
    before = point;
  }
  return d;
}

function drawStrip(svg, data, x, box) {
  const top = box.bottom + 8;
  const { values, names } = data.strip;
  let from = 0;
  for (let i = 1; i <= values.length; i += 1) {
    if (i < values.length && values[i] === values[from]) continue;
    const end = i < values.length ? data.x[i] : data.x[data.x.length - 1];
    if (values[from] !== null && values[from] >= 0) {
      const part = add(svg, "rect", {
        class: `phase p${values[from] % 8}`, x: x(data.x[from]), y: top,
        width: Math.max(x(end) - x(data.x[from]), 1), height: 14,
      });
      const words = `${names[values[from]]}, ${sayClock(data.x[from], data.clock === "date")} to ${sayClock(end, data.clock === "date")}`;
      tipFor(part, words);
    }
    from = i;
  }
}

// A thin upright line at the nearest sample, and what every line has there.
function follow(svg, data, x, box) {
  const hair = add(svg, "line", { class: "hair", y1: box.top, y2: box.bottom, visibility: "hidden" });
  const field = add(svg, "rect", {
    class: "field", x: box.left, y: box.top, width: Math.max(box.right - box.left, 1), height: Math.max(box.bottom - box.top, 1),
  });
  tipFor(field, (event) => {
    const inside = svg.getBoundingClientRect();
    const at = (event.clientX - inside.left) * (svg.viewBox.baseVal.width / inside.width);
    let best = 0;
    data.x.forEach((value, i) => { if (Math.abs(x(value) - at) < Math.abs(x(data.x[best]) - at)) best = i; });
    hair.setAttribute("x1", x(data.x[best]));
    hair.setAttribute("x2", x(data.x[best]));
    hair.setAttribute("visibility", "visible");
    const when = data.clock ? sayClock(data.x[best], data.clock === "date") : say(data.x[best], data.xunit);
    const told = data.series.map((one) => {
      const range = one.low ? ` (${say(one.low[best], data.unit)} to ${say(one.high[best], data.unit)})` : "";
      return `${one.name}: ${say(one.y[best], data.unit)}${range}`;
    });
    return [when, ...told].join("\n");
  });
  field.addEventListener("pointerleave", () => { hair.setAttribute("visibility", "hidden"); hideTip(); });
}
