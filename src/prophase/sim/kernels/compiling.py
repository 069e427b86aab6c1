"""How the steps of a loop are compiled.

They are melted into the loop, and nothing counts references to arrays: a step takes a dozen
arrays and lasts some nanoseconds, so passing and counting them costs more than the step itself
(a replay of a million jobs takes half the time). Whoever calls a loop holds the arrays; without
counting, compiled code cannot make new ones, so they all come from outside.
"""

from __future__ import annotations

from typing import Any

LOOP: dict[str, Any] = {"cache": True, "_nrt": False}
STEP: dict[str, Any] = {**LOOP, "forceinline": True}
