"""How long does Prophase take to start? Processor time, beside Python importing pandas.

    python benchmarks/speed/start_up.py

The help page, ``import prophase``, and one ``ask`` from the model of a workspace, each in processes
of their own, in turn with Python that imports pandas. The first process of each, which writes
bytecode, is not counted.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from record import ROOT, Measurement, record

REPEATS = 5
_RUN = "import sys; from prophase.cli.main import run; sys.exit(run())"
#: what is asked of each, in processor seconds
_ASKED = {"import prophase": 0.1, "prophase --help": 0.3, "prophase ask": 1.0}


def seconds(command: list[str], folder: Path) -> float:
    """Return the processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    python = [sys.executable, "-c"]
    prophase = [*python, _RUN]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for words in (["synth", "pai", "--jobs", "2000", "--out", "ws"],
                      ["learn", "ws", "--target", "duration_s"]):  # fmt: skip
            seconds([*prophase, *words], folder)
        (folder / "job.yaml").write_text("user: user-1\ngpus: 1\n", encoding="utf-8")
        commands = {
            "import prophase": [*python, "import prophase"],
            "prophase --help": [*prophase, "--help"],
            "prophase ask": [*prophase, "ask", "job.yaml", "--workspace", "ws"],
        }
        plain = [*python, "import pandas"]
        for what, command in commands.items():
            seconds(command, folder)
            pairs = [(seconds(command, folder), seconds(plain, folder)) for _ in range(REPEATS)]
            ours, theirs = (list(values) for values in zip(*pairs, strict=True))
            record(
                Measurement(
                    what,
                    "s",
                    ours,
                    "python -c 'import pandas'",
                    theirs,
                    remark=f"at most {_ASKED[what]:g} processor seconds asked",
                )
            )


if __name__ == "__main__":
    main()
