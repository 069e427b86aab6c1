"""The process of one background task: order in from stdin, progress and result to stdout.

python -m prophase.serve.background.worker < order.json
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from prophase.errors import ProphaseError
from prophase.serve.background.task_kinds import result_of


def main() -> None:
    """Do what the order says; every line that is written is a JSON object."""
    # answers come first
    os.nice(10)
    order = json.load(sys.stdin)
    # libraries may print; only our lines go to the service
    lines = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def tell(**said: Any) -> None:
        lines.write(json.dumps(said, allow_nan=False, default=str) + "\n")
        lines.flush()

    try:
        result = result_of(
            order["kind"],
            Path(order["workspace"]),
            order["arguments"],
            lambda step, percent: tell(step=step, percent=percent),
        )
        tell(result=result)
    except ProphaseError as error:
        tell(error=str(error), code=type(error).__name__)


if __name__ == "__main__":
    main()
