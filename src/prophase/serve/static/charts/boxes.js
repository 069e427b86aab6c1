// Boxes and ranges: where most values lie, on one axis.
//
// boxes:  {unit, log, rows: [{name, q05, q25, q50, q75, q95, colour}]}
// ranges: {unit, log, rows: [{name, value, low, high, asked, colour}]}

import { add, canvas, extent, fitted, scale, tipFor, xAxis } from "./draw.js";
import { say } from "./numbers.js";

export function boxes(place, data, title, says) {
  frame(place, data, title, says, ["q05", "q25", "q50", "q75", "q95"], (group, one, x, top) => {
    const [a, b, c, d, e] = [one.q05, one.q25, one.q50, one.q75, one.q95].map(x);
    const colour = `c${(one.colour ?? 0) % 8}`;
    add(group, "path", { class: `stem ${colour}`, d: `M${a},${top + 11}H${b}M${d},${top + 11}H${e}M${a},${top + 6}v10M${e},${top + 6}v10` });
    add(group, "rect", { class: `boxed ${colour}`, x: b, y: top + 2, width: Math.max(d - b, 2), height: 18, rx: 3 });
    add(group, "line", { class: `middle ${colour}`, x1: c, x2: c, y1: top + 2, y2: top + 20 });
    return `${one.name}\nmedian ${say(one.q50, data.unit)}\nhalf of the jobs: ${say(one.q25, data.unit)} to ${say(one.q75, data.unit)}\n` +
      `nine of ten: ${say(one.q05, data.unit)} to ${say(one.q95, data.unit)}`;
  });
}

export function ranges(place, data, title, says) {
  frame(place, data, title, says, ["value", "low", "high", "asked"], (group, one, x, top) => {
    const colour = `c${(one.colour ?? 0) % 8}`;
    const [low, high, middle] = [one.low, one.high, one.value].map(x);
    add(group, "rect", { class: `range ${colour}`, x: low, y: top + 5, width: Math.max(high - low, 2), height: 12, rx: 6 });
    add(group, "circle", { class: `dot ${colour}`, cx: middle, cy: top + 11, r: 6 });
    if (Number.isFinite(one.asked)) {
      const at = x(one.asked);
      add(group, "path", { class: "asked", d: `M${at},${top - 1}v24` });
    }
    const asked = Number.isFinite(one.asked) ? `\nasked for: ${say(one.asked, data.unit)}` : "";
    return `${one.name}: ${say(one.value, data.unit)}\n90 % range: ${say(one.low, data.unit)} to ${say(one.high, data.unit)}${asked}`;
  });
}

function frame(place, data, title, says, keys, draw) {
  const row = 32;
  const height = data.rows.length * row + 36;
  const { svg, width } = canvas(place, height, title, says);
  const longest = Math.max(...data.rows.map((one) => String(one.name).length));
  const named = longest > 0;
  const left = named ? Math.min(width * 0.36, 16 + longest * 7.4) : 14;
  const box = { left, right: width - 16, top: 6, bottom: height - 28 };
  const values = data.rows.flatMap((one) => keys.map((key) => one[key]));
  const least = data.log ? Math.min(...values.filter((one) => one > 0)) : undefined;
  const [low, high] = extent(values, { zero: !data.log, log: data.log });
  const at = scale(low, high, box.left, box.right, data.log);
  // a zero has no place on a logarithmic axis: it stands at the left end
  const x = (value) => at(data.log ? Math.max(value ?? least, low) : value ?? 0);
  xAxis(svg, at, box, { unit: data.unit });
  data.rows.forEach((one, number) => {
    const top = box.top + number * row + 5;
    const group = add(svg, "g", {});
    add(group, "rect", { class: "field", x: 0, y: top - 5, width, height: row });
    if (named) add(group, "text", { class: "name", x: left - 10, y: top + 15, "text-anchor": "end" }, fitted(one.name, Math.floor((left - 10) / 6.4)));
    tipFor(group, draw(group, one, x, top));
  });
}
