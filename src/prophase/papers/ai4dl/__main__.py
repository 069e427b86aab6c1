"""Run a script written for AI4DL, unchanged: python -m prophase.papers.ai4dl SCRIPT [ARGUMENTS].

``import AI4DL`` and ``from AI4DL import AI4DL`` find this package's class.
"""

from __future__ import annotations

import runpy
import sys
from types import ModuleType

from prophase.papers.ai4dl.model import AI4DL


def offer_as_ai4dl() -> None:
    """Let ``import AI4DL`` find our class in this process, as package and as module.

    Examples
    --------
    >>> offer_as_ai4dl()
    >>> from AI4DL import AI4DL as found
    >>> type(found()).__module__, type(found.AI4DL()).__name__
    ('prophase.papers.ai4dl.model', 'AI4DL')
    """
    offered = ModuleType("AI4DL", "AI4DL as Prophase offers it.")
    offered.AI4DL = AI4DL  # type: ignore[attr-defined]
    offered.__path__ = []
    sys.modules["AI4DL"] = offered
    for name in ("crbm_tools", "timeseries"):
        sys.modules[f"AI4DL.{name}"] = getattr(AI4DL, name)
        setattr(offered, name, getattr(AI4DL, name))


def main() -> int:
    """Run the script that is named first."""
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    offer_as_ai4dl()
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
