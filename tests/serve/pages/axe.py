"""What axe-core finds on a page in Chromium."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Page

_RUN = """async () => {
  const said = await axe.run(document, {resultTypes: ["violations"]});
  return said.violations.flatMap((one) => one.nodes.map(
    (node) => `${one.id}: ${one.help} at ${node.target} (${node.html.slice(0, 120)})`));
}"""


def axe_findings(page: Page) -> list[str]:
    """Return every violation with the element it is at; an empty list is good."""
    found = find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("axe-playwright-python, which brings axe-core, is not installed")
    script = Path(found.origin).parent / "axe.min.js"
    page.evaluate(script.read_text(encoding="utf-8"))
    said: list[str] = page.evaluate(_RUN)
    return said
