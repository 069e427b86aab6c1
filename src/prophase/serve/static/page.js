// What makes pages live: charts, the theme, parts that load while work goes on, copy buttons.

import { drawAll } from "./charts/charts.js";

const POLL_MS = 1000;

function themeButton() {
  const button = document.querySelector("[data-theme-button]");
  if (!button) return;
  const dark = () => (document.documentElement.dataset.theme || "") === "dark" ||
    (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const show = () => button.setAttribute("aria-pressed", String(dark()));
  button.hidden = false;
  show();
  button.addEventListener("click", () => {
    const next = dark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try { localStorage.setItem("prophase-theme", next); } catch { /* it lasts for this page */ }
    show();
  });
}

// A part that is not ready, or that changes, is asked for again until it says it is done.
async function follow(part) {
  const every = Number(part.dataset.every || POLL_MS);
  await new Promise((resume) => setTimeout(resume, every));
  if (!part.isConnected) return;
  if (document.hidden) return follow(part);
  let fresh = null;
  try {
    const answer = await fetch(part.dataset.follow, { headers: { "X-Part": part.id }, credentials: "same-origin" });
    if (answer.status === 401 || answer.redirected) return location.reload();
    if (answer.ok) fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(part.id);
  } catch { /* the service restarts: try again */ }
  if (!fresh) return follow(part);
  if (fresh.innerHTML !== part.dataset.before) replace(part, fresh);
  else follow(part);
}

function replace(part, fresh) {
  const busy = part.contains(document.activeElement) && document.activeElement.matches("input, select, textarea");
  if (busy) return follow(part);
  const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
  fresh.dataset.before = fresh.innerHTML;
  part.replaceWith(fresh);
  ready(fresh);
  if (focused) document.getElementById(focused)?.focus();
  const said = fresh.dataset.said;
  if (said) document.getElementById("announcer").textContent = said;
}

function ready(root) {
  drawAll(root);
  for (const bar of root.querySelectorAll("[data-share]")) bar.style.width = `${bar.dataset.share}%`;
  for (const button of root.querySelectorAll("[data-copy]")) copyButton(button);
  for (const form of root.querySelectorAll("form[data-once]")) {
    form.addEventListener("submit", () => { for (const one of form.querySelectorAll("button")) one.disabled = true; });
  }
  for (const choice of root.querySelectorAll("select[data-submit]")) {
    choice.addEventListener("change", () => choice.form.requestSubmit());
  }
  const parts = root.matches?.("[data-follow]") ? [root] : root.querySelectorAll("[data-follow]");
  for (const part of parts) {
    part.dataset.before ??= part.innerHTML;
    follow(part);
  }
}

function copyButton(button) {
  if (!navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}

themeButton();
// on a phone the pages are a strip that scrolls: show where we are
document.querySelector("nav [aria-current=page]")?.scrollIntoView({ block: "nearest", inline: "center" });
ready(document);
document.documentElement.dataset.ready = "yes";
