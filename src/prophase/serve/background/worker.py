"""The process of background tasks: an order per line of stdin, progress and result to stdout.

python -m prophase.serve.background.worker < orders.jsonl
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prophase.errors import ProphaseError
from prophase.serve.background.task_kinds import result_of


def main() -> None:
    """Do what the orders say, one by one; every line that is written is a JSON object."""
    # answers come first
    os.nice(10)
    # libraries may print; only our lines go to the service
    lines = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def tell(**said: Any) -> None:
        lines.write(json.dumps(said, allow_nan=False, default=str) + "\n")
        lines.flush()

    for line in sys.stdin:
        order = json.loads(line)
        try:
            result = result_of(
                order["kind"],
                Path(order["workspace"]),
                order["arguments"],
                lambda step, percent: tell(step=step, percent=percent),
            )
            tell(result=result)
        except ProphaseError as error:
            tell(
                error=as_fields(str(error), order["arguments"]),
                code=type(error).__name__,
            )


def as_fields(words: str, arguments: Iterable[str]) -> str:
    """Name the fields of a request where a message names the options of a command.

    Examples
    --------
    >>> as_fields("leave them out (--leave-out-unfit).", ["leave_out_unfit"])
    'leave them out (leave_out_unfit).'
    """
    for name in arguments:
        option = "--" + name.removesuffix("_s").removesuffix("_h").replace("_", "-")
        words = re.sub(rf"{option}(?![\w-])", name, words)
    return words


if __name__ == "__main__":
    main()
