"""Run several commands of a page in one process: starting anew takes longer than most of them.

python one_process.py < commands, one per line; ends with the code of the first that fails.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from itertools import groupby

_HERE_TEXT = re.compile(r"<<'?(\w+)'?")


def joined(script: str) -> str:
    """Return the script with neighbouring plain commands of prophase as one process each.

    Examples
    --------
    >>> print(joined("prophase show ws\\nprophase lint ws  # ok?\\nls > all\\nprophase -h | cat"))
    python one_process.py <<'TOGETHER'
    prophase show ws
    prophase lint ws  # ok?
    TOGETHER
    ls > all
    prophase -h | cat
    """
    parts: list[str] = []
    for plain, lines in groupby(_marked(script.replace("\\\n", " ")), key=lambda one: one[1]):
        texts = [text for text, _ in lines]
        if plain:
            texts = ["python one_process.py <<'TOGETHER'", *texts, "TOGETHER"]
        parts += texts
    return "\n".join(parts)


def _marked(script: str) -> Iterator[tuple[str, bool]]:
    """Yield every line, and whether it is a plain command of prophase."""
    until = ""
    for line in script.splitlines():
        if until:
            until = "" if line == until else until
            yield line, False
            continue
        opened = _HERE_TEXT.search(line)
        until = opened.group(1) if opened else ""
        yield line, line.startswith("prophase ") and not until and _is_plain(line)


def _is_plain(line: str) -> bool:
    words = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    words.whitespace_split = True
    return not any(set(word) <= set("|&;<>") for word in words if word) and "$" not in line


def main() -> int:
    """Run the commands of the standard input."""
    from prophase.cli.main import run

    for line in sys.stdin.read().splitlines():
        sys.argv = shlex.split(line, comments=True)
        try:
            run()
        except SystemExit as leave:
            if leave.code:
                print(f"failed: {line}", file=sys.stderr)
                return int(leave.code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
