"""Run every benchmark, one after the other: python benchmarks/run.py [NAME ...]."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
#: what benchmarks compare with; in the extra "bench"
BASELINES = ("ciw", "simpy")


def install_baselines() -> None:
    """Install what is compared with, if it is not here yet."""
    if all(importlib.util.find_spec(name) for name in BASELINES):
        return
    uv = Path(sys.executable).parent / "uv"
    installer = [str(uv), "pip"] if uv.exists() else [sys.executable, "-m", "pip"]
    wanted = f"{HERE.parent}[bench]"
    tested = ("-c", "requirements/dev.txt")
    subprocess.run(
        [*installer, "install", "--quiet", *tested, "-e", wanted], cwd=HERE.parent, check=True
    )


def main() -> int:
    scripts = sorted([*HERE.glob("speed/*.py"), *HERE.glob("quality/*.py")])
    wanted = [s for s in scripts if not sys.argv[1:] or s.stem in sys.argv[1:]]
    if not wanted:
        print(f"No such benchmark. There are: {', '.join(s.stem for s in scripts)}")
        return 2
    install_baselines()
    failed = []
    for script in wanted:
        print(f"== {script.relative_to(HERE)}", flush=True)
        if subprocess.run([sys.executable, str(script)], check=False).returncode:
            failed.append(script.stem)
    if failed:
        print(f"Failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
