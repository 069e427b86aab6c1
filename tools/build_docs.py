"""Build the documentation into site/: make docs."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> int:
    """Install the builder if needed, refresh the reference, build."""
    if importlib.util.find_spec("sphinx") is None:
        wanted = f"{ROOT}[docs]"
        uv = Path(sys.executable).parent / "uv"
        installer = [str(uv), "pip"] if uv.exists() else [sys.executable, "-m", "pip"]
        tested = ("-c", "requirements/dev.txt")
        subprocess.run(
            [*installer, "install", "--quiet", *tested, "-e", wanted], cwd=ROOT, check=True
        )
    subprocess.run([sys.executable, str(ROOT / "tools" / "make_reference.py")], check=True)
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", "docs", "site"]
    code = subprocess.run(build, cwd=ROOT, check=False).returncode
    if code == 0:
        print(f"Open {ROOT / 'site' / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
