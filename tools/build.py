"""Build wheel and source so that the same commit gives the same bytes: python tools/build.py [OUT]

Every file in them carries the time of the last commit (SOURCE_DATE_EPOCH), and the SHA-256 of what
was built goes into SHA256SUMS beside it; so does the list of components, sbom.json.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def build(out: Path, root: Path = ROOT) -> dict[str, str]:
    """Build into a folder and return the SHA-256 of each file."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _commit_time(root)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(out.resolve())],
        cwd=root,
        env={**os.environ, "SOURCE_DATE_EPOCH": epoch},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    built = sorted([*out.glob("*.whl"), *out.glob("*.tar.gz")])
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in built}


def _commit_time(root: Path) -> str:
    asked = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """Build, and say what was built."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "dist")
    out.mkdir(parents=True, exist_ok=True)
    sums = build(out)
    text = "".join(f"{digest}  {name}\n" for name, digest in sums.items())
    (out / "SHA256SUMS").write_text(text, encoding="utf-8")
    subprocess.run(
        [sys.executable, str(ROOT / "tools" / "sbom.py"), "--out", str(out / "sbom.json")],
        check=True,
    )
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
