// Runs before the page is painted, so that a chosen theme does not flash.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("prophase-theme"); } catch { /* storage is switched off */ }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
