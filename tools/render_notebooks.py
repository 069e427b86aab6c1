"""Run the notebooks of examples/ and write them with their results into docs/notebooks/.

    python tools/render_notebooks.py

The notebooks themselves are stored without output. Look at what it wrote before you commit it.
"""

from __future__ import annotations

import base64
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat

ROOT = Path(__file__).parent.parent
NOTEBOOKS = ROOT / "examples" / "notebooks"
PAGES = ROOT / "docs" / "notebooks"
_HEAD = "<!-- made by tools/render_notebooks.py from examples/notebooks/{}.ipynb -->\n"


def main() -> None:
    """Render every notebook."""
    PAGES.mkdir(exist_ok=True)
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            resources = {"metadata": {"path": folder}}
            nbclient.NotebookClient(notebook, timeout=900, resources=resources).execute()
        parts = [_HEAD.format(path.stem), *_parts(notebook, path.stem)]
        target = PAGES / f"{path.stem}.md"
        target.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")
        print(f"Wrote {target.relative_to(ROOT)}")


def _parts(notebook: Any, name: str) -> Iterator[str]:
    """Yield the notebook as Markdown: texts, code, and what the code shows."""
    figures = 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            # a page lies elsewhere than its notebook
            yield cell.source.replace("](../../docs/", "](../") + "\n"
            continue
        yield f"```python\n{cell.source}\n```\n"
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                figures += 1
                picture = PAGES / f"{name}-{figures}.png"
                picture.write_bytes(base64.b64decode(data["image/png"]))
                yield f"![What the code above draws]({picture.name})\n"
            elif "text/html" in data:
                yield _html(data["text/html"])
            elif "text/markdown" in data:
                yield f"{data['text/markdown']}\n"
            else:
                yield _text(output.get("text") or data.get("text/plain", ""))


def _html(shown: str) -> str:
    """Return what a notebook shows, wide tables in a box that scrolls."""
    bare = re.sub(r"<style.*?</style>", "", shown, flags=re.DOTALL)
    bare = re.sub(r"<table[^>]*>", '<table class="docutils align-default">', bare)
    bare = re.sub(r"\s+(?=</?(?:td|th|tr)\b)", "", bare)
    bare = bare.replace("<tr", "\n<tr")
    # an empty line would end the block
    lines = [line.strip() for line in bare.splitlines() if line.strip()]
    return "\n".join(['<div style="overflow-x: auto">', *lines, "</div>"]) + "\n"


def _text(said: str) -> str:
    """Return printed text as a block, without the colours of a terminal."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said).rstrip()
    return f"```text\n{plain}\n```\n" if plain else ""


if __name__ == "__main__":
    main()
