// Draws every chart of a page from the data that stands beside it, anew when its width changes.

import { bars, parts } from "./bars.js";
import { boxes, ranges } from "./boxes.js";
import { columns } from "./columns.js";
import { dots } from "./dots.js";
import { heat } from "./heat.js";
import { lines } from "./lines.js";

const KINDS = { bars, boxes, columns, dots, heat, lines, parts, ranges };

const watched = new ResizeObserver((entries) => {
  for (const entry of entries) {
    if (Math.round(entry.contentRect.width) !== entry.target.drawnAt) draw(entry.target);
  }
});

function draw(place) {
  const data = place.chartData;
  place.drawnAt = Math.round(place.clientWidth);
  if (!place.drawnAt) return;
  place.replaceChildren();
  KINDS[place.dataset.chart](place, data, place.dataset.title, place.dataset.says);
  place.dataset.drawn = "yes";
}

export function drawAll(root) {
  for (const place of root.querySelectorAll("[data-chart]:not([data-drawn])")) {
    place.chartData = JSON.parse(place.querySelector("script").textContent);
    draw(place);
    watched.observe(place);
  }
}
