// Returns what keeps people from using the page: an empty list is good.
() => {
  const found = [];
  const all = (what) => [...document.querySelectorAll(what)];
  const visible = (one) => one.checkVisibility() && one.getClientRects().length > 0;
  for (const what of ["header", "main", "h1"]) {
    if (all(what).length !== 1) found.push(`${all(what).length} times ${what}`);
  }
  for (const one of all("input:not([type=hidden]), select, textarea")) {
    if (!one.labels.length && !one.ariaLabel) found.push(`no label: ${one.outerHTML.slice(0, 80)}`);
  }
  for (const one of all("button, a")) {
    const words = one.textContent.trim() || one.ariaLabel || one.querySelector("img[alt]:not([alt=''])");
    if (!words) found.push(`no words: ${one.outerHTML.slice(0, 80)}`);
  }
  for (const one of all("img:not([alt])")) found.push(`no alt: ${one.src}`);
  for (const one of all("table")) if (!one.caption?.textContent.trim()) found.push("table without caption");
  for (const one of all("svg[role=img]")) {
    const named = (one.getAttribute("aria-labelledby") || "").split(" ").map((id) => document.getElementById(id));
    if (named.length < 2 || !named.every((part) => part?.textContent.trim())) found.push("chart without title or description");
  }
  for (const one of all("[data-chart]")) if (!one.dataset.drawn) found.push(`chart not drawn: ${one.dataset.title}`);
  const ids = all("[id]").map((one) => one.id);
  for (const id of new Set(ids.filter((id, place) => ids.indexOf(id) !== place))) found.push(`id twice: ${id}`);
  let before = 1;
  for (const one of all("h1, h2, h3, h4").filter(visible)) {
    const level = Number(one.tagName[1]);
    if (level > before + 1) found.push(`heading skips a level: ${one.textContent.slice(0, 40)}`);
    before = level;
  }
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.a > 0.99) return colour;
    }
    return parse(getComputedStyle(document.documentElement).backgroundColor);
  };
  const light = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  for (const one of all("body *")) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !visible(one) || one.closest("svg, .unseen, .skip, option, datalist, :disabled")) continue;
    const style = getComputedStyle(one);
    const [a, b] = [light(parse(style.color)), light(behind(one))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`contrast ${ratio.toFixed(2)}: ${one.textContent.trim().slice(0, 40)}`);
  }
  return [...new Set(found)];
}
