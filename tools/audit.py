"""Ask whether a library that is installed here has a known weakness: python tools/audit.py

Fails for known weaknesses alone. Without the advisory service (offline, or behind a mirror that
does not pass its answers on) it says that nothing was checked, and does not fail.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_PATIENCE_S = 120


def main() -> int:
    """Return 1 if there are known weaknesses."""
    try:
        asked = subprocess.run(
            [
                str(Path(sys.executable).parent / "pip-audit"),
                *("--local", "--progress-spinner", "off", "--format", "json", "--timeout", "10"),
            ],
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as cause:
        print(f"Dependencies were not audited: {cause}.")
        return 0
    return judge(asked.stdout)


def judge(told: str) -> int:
    """Say what pip-audit found; returns 1 for weaknesses."""
    try:
        libraries: list[dict[str, Any]] = json.loads(told)["dependencies"]
    except (ValueError, KeyError, TypeError):
        print("Dependencies were not audited: the advisory service cannot be reached.")
        return 0
    audited = [one for one in libraries if "vulns" in one]
    weak = [one for one in audited if one["vulns"]]
    for one in weak:
        for found in one["vulns"]:
            fixed = ", ".join(found.get("fix_versions", [])) or "no version yet"
            print(f"{one['name']} {one['version']}: {found['id']}; mended in {fixed}.")
    if not audited:
        print("Dependencies were not audited: the advisory service knows none of them from here.")
    elif not weak:
        print(f"No known weakness in {len(audited)} libraries.")
    return 1 if weak else 0


if __name__ == "__main__":
    sys.exit(main())
