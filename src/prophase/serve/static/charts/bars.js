// Lying bars with the interval of each, and one bar cut into parts.
//
// bars:  {unit, rows: [{name, value, low, high, colour, of}], least, most}  "of" draws a pale bar behind
// parts: {unit, rows: [{name, value}]}

import { add, canvas, extent, fitted, legend, scale, tipFor, xAxis } from "./draw.js";
import { say } from "./numbers.js";

export function bars(place, data, title, says) {
  const row = 34;
  const height = data.rows.length * row + 34;
  const { svg, width } = canvas(place, height, title, says);
  const narrow = width < 460;
  const longest = Math.max(...data.rows.map((one) => String(one.name).length));
  const left = Math.min(narrow ? width * 0.38 : width * 0.42, 14 + longest * 7.6);
  const widest = Math.max(...data.rows.map((one) => say(one.value, data.unit).length));
  const box = { left, right: width - (14 + widest * 7.4), top: 6, bottom: height - 26 };
  const ends = data.rows.flatMap((one) => [one.value, one.low, one.high, one.of]).filter((one) => Number.isFinite(one));
  // one endless interval must not flatten every bar
  const held = data.most === undefined ? ends : ends.map((one) => Math.min(one, data.most));
  let [low, high] = extent([0, ...held], { zero: true });
  if (data.least !== undefined) low = Math.max(low, data.least);
  if (data.most !== undefined) high = data.most;
  const x = scale(low, high, box.left, box.right);
  const inside = (value) => Math.min(Math.max(x(value), box.left), box.right);
  xAxis(svg, x, box, { unit: data.unit });
  data.rows.forEach((one, place_) => {
    const top = box.top + place_ * row + 7;
    const group = add(svg, "g", {});
    add(group, "text", { class: "name", x: box.left - 8, y: top + 14, "text-anchor": "end" }, fitted(one.name, Math.floor((left - 8) / 7)));
    add(group, "rect", { class: "field", x: 0, y: top - 7, width, height: row });
    if (one.of !== undefined) bar(group, x(0), inside(one.of), top, "of");
    if (Number.isFinite(one.value)) bar(group, x(0), inside(one.value), top, `c${(one.colour ?? 0) % 8}`);
    if (Number.isFinite(one.mark)) add(group, "path", { class: "asked", d: `M${inside(one.mark)},${top - 3}v26` });
    const certain = !Number.isFinite(one.low) || !Number.isFinite(one.high);
    if (!certain) {
      const [from, to] = [inside(one.low), inside(one.high)];
      add(group, "path", { class: "whisker", d: `M${from},${top + 10}H${to}M${from},${top + 5}v10M${to},${top + 5}v10` });
    }
    add(group, "text", { class: "value", x: width - 4, y: top + 14, "text-anchor": "end" }, say(one.value, data.unit));
    const range = certain ? "" : `\n${data.level || "95 %"} interval: ${say(one.low, data.unit)} to ${say(one.high, data.unit)}`;
    tipFor(group, `${one.name}: ${say(one.value, data.unit)}${range}${one.note ? `\n${one.note}` : ""}`);
  });
  add(svg, "line", { class: "zero", x1: x(0), x2: x(0), y1: box.top, y2: box.bottom });
}

function bar(group, from, to, top, kind) {
  add(group, "rect", { class: `bar ${kind}`, x: Math.min(from, to), y: top, width: Math.max(Math.abs(to - from), 1), height: 20, rx: 3 });
}

export function parts(place, data, title, says) {
  const { svg, width } = canvas(place, 46, title, says);
  const whole = data.rows.reduce((sum, one) => sum + (one.value || 0), 0) || 1;
  let from = 0;
  data.rows.forEach((one, number) => {
    const wide = (width * (one.value || 0)) / whole;
    if (wide <= 0) return;
    const part = add(svg, "rect", { class: `part c${number % 8}`, x: from, y: 4, width: Math.max(wide - 2, 1), height: 36, rx: 4 });
    tipFor(part, `${one.name}: ${say(one.value, data.unit)}`);
    from += wide;
  });
  legend(place, data.rows.map((one, number) => [one.name, `box c${number % 8}`, one]).filter(([, , one]) => one.value > 0)
    .map(([name, kind, one]) => [`${name} ${say(one.value, data.unit)}`, kind]));
}
