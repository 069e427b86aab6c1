// A heat map: rows by columns, pale to strong, each cell with its words.
//
// data: {rows: [...], columns: [...], shares: [[0..1]], words: [[...]], two_sided, links: [...]}

import { add, canvas, fitted, tipFor } from "./draw.js";

export function heat(place, data, title, says) {
  const wide = Math.max(place.clientWidth, 220);
  const longest = Math.max(...data.rows.map((one) => String(one).length));
  const left = Math.min(wide * 0.32, 16 + longest * 7.4);
  const cell = Math.max((wide - left - 4) / data.columns.length, 12);
  const upright = cell < 76;
  const top = upright ? 14 + Math.max(...data.columns.map((one) => Math.min(String(one).length, 18))) * 7.4 : 26;
  const tall = data.rows.length > 14 ? 24 : 30;
  const { svg } = canvas(place, top + data.rows.length * tall + 8, title, says);
  data.columns.forEach((name, number) => {
    const x = left + (number + 0.5) * cell;
    const turn = upright ? `rotate(-90 ${x} ${top - 8})` : undefined;
    add(svg, "text", { class: "name", x, y: top - 8 + (upright ? 4 : 0), "text-anchor": upright ? "start" : "middle", transform: turn }, fitted(name, upright ? 18 : Math.floor(cell / 7.6)));
  });
  data.rows.forEach((name, down) => {
    const y = top + down * tall;
    add(svg, "text", { class: "name", x: left - 8, y: y + tall / 2 + 4, "text-anchor": "end" }, fitted(name, Math.floor((left - 8) / 6.6)));
    data.columns.forEach((column, across) => {
      const share = data.shares[down][across];
      const words = data.words[down][across];
      const group = add(svg, "g", {});
      const known = Number.isFinite(share);
      const side = data.two_sided && share < 0 ? "cold" : "hot";
      const strong = known ? Math.min(Math.abs(share), 1) : 0;
      add(group, "rect", {
        class: known ? `cell ${side}` : "cell none", x: left + across * cell + 1, y: y + 1,
        width: cell - 2, height: tall - 2, rx: 3, "fill-opacity": known ? (0.06 + 0.94 * strong).toFixed(3) : undefined,
      });
      if (cell > 46) {
        add(group, "text", { class: strong > 0.55 ? "in strong" : "in", x: left + (across + 0.5) * cell, y: y + tall / 2 + 4, "text-anchor": "middle" }, fitted(words ?? "–", Math.floor(cell / 6)));
      }
      tipFor(group, `${name}, ${column}: ${words ?? "not known"}`);
    });
  });
}
