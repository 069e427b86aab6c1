"""Ask whether a library that is installed here has a known weakness: python tools/audit.py

Fails for known weaknesses alone. Without the advisory service (offline, or behind a mirror that
does not pass its answers on) it looks into `requirements/advisories.json`, says how old that is,
and fails for what it finds there. `--refresh` renews that file from OSV, where it can be reached,
`--refresh FOLDER` from a checkout of the Python Packaging Authority's advisory database.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import yaml
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
SNAPSHOT = ROOT / "requirements" / "advisories.json"

_PATIENCE_S = 120


def main() -> int:
    """Return 1 if there are known weaknesses."""
    if "--refresh" in sys.argv:
        folder = sys.argv[sys.argv.index("--refresh") + 1 :]
        return refresh(Path(folder[0]) if folder else None)
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
    except (OSError, subprocess.TimeoutExpired):
        return judge("")
    return judge(asked.stdout)


def judge(told: str) -> int:
    """Say what pip-audit found; returns 1 for weaknesses."""
    try:
        libraries: list[dict[str, Any]] = json.loads(told)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return look_up(locked(), json.loads(SNAPSHOT.read_text(encoding="utf-8")))
    audited = [one for one in libraries if "vulns" in one]
    weak = [one for one in audited if one["vulns"]]
    for one in weak:
        for found in one["vulns"]:
            fixed = ", ".join(found.get("fix_versions", [])) or "no version yet"
            print(f"{one['name']} {one['version']}: {found['id']}; mended in {fixed}.")
    if not audited:
        return look_up(locked(), json.loads(SNAPSHOT.read_text(encoding="utf-8")))
    if not weak:
        print(f"No known weakness in {len(audited)} libraries.")
    return 1 if weak else 0


def locked() -> dict[str, str]:
    """Return the libraries of the lock file with their versions."""
    lock = (ROOT / "requirements" / "dev.txt").read_text()
    pins = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", lock, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in pins}


def look_up(libraries: dict[str, str], snapshot: dict[str, Any]) -> int:
    """Say what the kept advisories know of libraries; returns 1 for weaknesses."""
    weak = 0
    for one in snapshot["advisories"]:
        version = libraries.get(canonicalize_name(one["name"]))
        if version is not None and SpecifierSet(one["affected"]).contains(
            version, prereleases=True
        ):
            weak = 1
            print(f"{one['name']} {version}: {one['id']}; mended in {one['fixed']}.")
    known = {canonicalize_name(one["name"]) for one in snapshot["advisories"]} & libraries.keys()
    print(
        "The advisory service cannot be reached. The advisories kept here, until "
        f"{snapshot['until']}, speak of {len(known)} of {len(libraries)} libraries"
        f"{'.' if weak else ', and of none in the version installed.'}"
    )
    return weak


def refresh(checkout: Path | None = None) -> int:
    """Renew the kept advisories, for every library of the lock file."""
    found, until = [], datetime.now(UTC).date().isoformat()
    for name in sorted(locked()):
        try:
            told = _asked(name) if checkout is None else _read(checkout, name)
        except (OSError, ValueError) as cause:
            print(f"OSV cannot be reached, and the kept advisories stay: {cause}.")
            return 1
        for one in told:
            number = next((a for a in one.get("aliases", []) if a.startswith("CVE")), one["id"])
            found += [
                {"name": name, "id": number, **span}
                for part in one.get("affected", [])
                if canonicalize_name(part["package"]["name"]) == name
                for span in _spans(part.get("ranges", []))
            ]
    kept = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    if checkout is not None:
        until = _last_change(checkout)
        # a checkout may be older than what was written down since
        named = {(one["name"], one["id"]) for one in found}
        found += [one for one in kept["advisories"] if (one["name"], one["id"]) not in named]
        found.sort(key=lambda one: (one["name"], one["id"]))
    rows = ",\n  ".join(json.dumps(one) for one in found)
    head = f'{{"about": {json.dumps(kept["about"])},\n "until": "{until}",\n "advisories": [\n  '
    SNAPSHOT.write_text(f"{head}{rows}\n ]}}\n", encoding="utf-8")
    return 0


def _asked(name: str) -> list[dict[str, Any]]:
    asked = json.dumps({"package": {"name": name, "ecosystem": "PyPI"}}).encode()
    with urlopen("https://api.osv.dev/v1/query", asked, timeout=20) as said:
        told: list[dict[str, Any]] = json.load(said).get("vulns", [])
    return told


def _read(checkout: Path, name: str) -> list[dict[str, Any]]:
    files = sorted((checkout / "vulns" / name).glob("*.yaml"))
    told = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]
    return [one for one in told if "withdrawn" not in one]


def _last_change(checkout: Path) -> str:
    """Return the day of the newest advisory, of any library; some have a day that is to come."""
    today = datetime.now(UTC).date().isoformat()
    days = (
        re.search(r"^modified: '?\"?(\d{4}-\d\d-\d\d)", file.read_text(encoding="utf-8"), re.M)
        for file in checkout.glob("vulns/*/*.yaml")
    )
    return max(day.group(1) for day in days if day is not None and day.group(1) <= today)


def _spans(ranges: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return from which to which version a weakness reaches."""
    found = []
    for one in ranges:
        begin = None
        for event in one.get("events", []) if one.get("type") == "ECOSYSTEM" else []:
            if "introduced" in event:
                begin = "" if event["introduced"] == "0" else f">={event['introduced']}"
            for word, sign in (("fixed", "<"), ("last_affected", "<=")):
                if word in event and begin is not None:
                    affected = ",".join(filter(None, (begin, f"{sign}{event[word]}")))
                    mended = event[word] if word == "fixed" else f"what follows {event[word]}"
                    found.append({"affected": affected, "fixed": mended})
                    begin = None
        if begin is not None:
            # nobody has mended it
            found.append({"affected": begin, "fixed": "no version yet"})
    return found


if __name__ == "__main__":
    sys.exit(main())
