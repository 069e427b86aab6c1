"""The stylesheet of every page: light and dark, wide and narrow, screen and paper."""

from __future__ import annotations

from prophase.result.colours import COLOURS, DARK, GRID, INK, MUTED, PAPER, css_name


def _variables(*, dark: bool) -> str:
    """Return the colours of the figures and of the page as CSS variables."""
    drawn = (INK, MUTED, GRID, PAPER, *COLOURS)
    colours = [f"{css_name(c)}:{DARK[c] if dark else c}" for c in drawn]
    page = {
        "ink": DARK[INK] if dark else INK,
        "muted": DARK[MUTED] if dark else MUTED,
        "line": DARK[GRID] if dark else GRID,
        "paper": DARK[PAPER] if dark else PAPER,
        "desk": "#0d1117" if dark else "#f6f8fa",
        "link": "#4ea3dd" if dark else "#0061a0",
        "good": "#33c69a" if dark else "#00734f",
        "warning": "#f0b429" if dark else "#9a6700",
        "bad": "#ff7b6b" if dark else "#b3261e",
    }
    return ";".join([*colours, *(f"--{name}:{value}" for name, value in page.items())])


STYLESHEET = (
    ":root{--font:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,"
    "'DejaVu Sans',sans-serif;" + _variables(dark=False) + "}\n"
    "@media (prefers-color-scheme: dark){:root{" + _variables(dark=True) + "}}\n"
    """*{box-sizing:border-box}
html{font-family:var(--font);font-size:16px;line-height:1.5;color:var(--ink);background:var(--desk);
-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:76rem;padding:1.5rem 1.25rem 4rem}
h1{font-size:1.9rem;line-height:1.2;margin:.5rem 0 .25rem}
h2{font-size:1.3rem;line-height:1.3;margin:0 0 .75rem}
h3{font-size:1rem;margin:1rem 0 .25rem}
h3.good{color:var(--good)} h3.warning{color:var(--warning)} h3.bad{color:var(--bad)}
p,ul{margin:.5rem 0;max-width:46rem;overflow-wrap:anywhere}
ul{padding-left:1.25rem} li{margin:.2rem 0}
a{color:var(--link)}
.subtitle{color:var(--muted);font-size:1.05rem;overflow-wrap:anywhere}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1rem;
font-size:.9rem;padding:0;max-width:none}
section,footer{background:var(--paper);border:1px solid var(--line);border-radius:10px;
padding:1.25rem 1.5rem;margin:1.25rem 0}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,27rem),1fr));
gap:1rem 1.5rem;margin:1rem 0;align-items:start}
.figures.one{grid-template-columns:minmax(0,42rem)}
@media (min-width:64rem){.told{display:grid;gap:0 2rem;align-items:start;
grid-template-columns:minmax(0,5fr) minmax(0,8fr)}
.told>.figures{margin-top:.25rem} .told>.figures.one{grid-template-columns:1fr}}
figure{margin:0;min-width:0;max-width:46rem;break-inside:avoid}
figure svg,figure img{display:block;width:100%;height:auto}
figcaption{color:var(--muted);font-size:.9rem;margin-top:.25rem}
.tables{display:flex;flex-wrap:wrap;gap:0 3rem;align-items:flex-start}
.tables>*{max-width:100%}
.beside{display:flex;flex-wrap:wrap;gap:0 2.5rem;align-items:flex-start}
.beside>.figures{flex:0 1 34rem} .beside>.tables{flex:0 1 auto;max-width:100%}
.beside>.figures{grid-template-columns:1fr}
.scroll{overflow-x:auto;margin:1rem 0}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--muted);padding-bottom:.35rem;font-size:.9rem}
th,td{padding:.3rem .75rem .3rem 0;text-align:left;vertical-align:top;white-space:nowrap;
border-bottom:1px solid var(--line)}
td:last-child,th:last-child{padding-right:0}
th{font-weight:600;border-bottom:2px solid var(--line)}
.n{text-align:right} td.w{white-space:normal;min-width:13rem;max-width:30rem}
.callout{border-left:4px solid var(--link);padding:.5rem .9rem;background:var(--desk);
border-radius:0 6px 6px 0}
.callout.good{border-color:var(--good)} .callout.good strong{color:var(--good)}
.callout.warning{border-color:var(--warning)} .callout.warning strong{color:var(--warning)}
.callout.bad{border-color:var(--bad)} .callout.bad strong{color:var(--bad)}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.75rem;
margin:1rem 0}
.facts div{display:flex;flex-direction:column-reverse;justify-content:flex-end;
background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:.6rem .9rem}
.facts dd{margin:0;font-size:1.35rem;font-weight:600;line-height:1.25;overflow-wrap:anywhere}
.facts dd small{display:block;font-size:.85rem;font-weight:400}
.facts dt{color:var(--muted);font-size:.85rem}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,16rem),1fr));gap:.75rem;
margin:1rem 0}
.cards div{background:var(--paper);border:1px solid var(--line);border-radius:10px;
padding:.8rem 1rem;break-inside:avoid}
.cards h2{font-size:.95rem;margin:0} .cards p{margin:.25rem 0 0;font-size:.9rem}
.cards strong{font-size:1.45rem;line-height:1.25;overflow-wrap:anywhere}
.cards small{font-size:.9rem;font-weight:400;white-space:nowrap}
pre{overflow-x:auto;background:var(--desk);padding:.6rem .9rem;border-radius:6px;font-size:.85rem}
summary{cursor:pointer;color:var(--link);margin:.75rem 0}
footer dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem;
margin:0;font-size:.9rem}
footer dt{color:var(--muted)} footer dd{margin:0;overflow-wrap:anywhere;
font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.85rem}
.made{font-size:.85rem} .made summary{margin:.35rem 0;color:var(--muted)}
.made pre{margin:.25rem 0;white-space:pre-wrap;overflow-wrap:anywhere} .made code{user-select:all}
.narrow{display:none}
@media screen and (max-width:36rem){.wide:has(+.narrow){display:none} .narrow{display:block}
.facts{grid-template-columns:1fr 1fr} .facts dd{font-size:1.1rem}}
@media (max-width:36rem){
body{padding:.75rem .5rem 3rem}
section,footer{padding:.9rem .8rem;border-radius:8px} h1{font-size:1.5rem}
footer dl{grid-template-columns:1fr} footer dt{margin-top:.4rem}}
"""
    # a dark scheme would paint the sheet dark behind the dark ink
    "@media print{:root{color-scheme:light only;" + _variables(dark=False) + "}"
    """
html{background:#fff;font-size:10.5pt} body{max-width:none;padding:0} nav{display:none}
section,footer{border:0;padding:0;margin:0 0 1.2rem;border-radius:0}
h2,h3,caption{break-after:avoid} tr,figure,.callout,.facts div,.cards div{break-inside:avoid}
.scroll{overflow:visible} th,td,.cards small{white-space:normal;overflow-wrap:break-word}
th,td{padding-right:.4rem} thead th,td.w{min-width:0;overflow-wrap:anywhere} table{font-size:8pt}
.tables>*{min-width:0}
.figures{grid-template-columns:1fr 1fr} pre{white-space:pre-wrap} .made{display:none}
details::details-content{content-visibility:visible;block-size:auto}
summary{color:var(--muted);list-style:none}
.figures.one{grid-template-columns:minmax(0,13cm)} .cards{grid-template-columns:1fr 1fr 1fr}}
"""
)
