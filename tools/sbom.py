"""Write what a release is made of, as CycloneDX 1.6: python tools/sbom.py [--out sbom.json]

The components are those of `requirements/hashed/service.txt`: what the container image holds and
what `pip install "prophase[serve,learn,runs]"` was tested with, each with the hashes of its files.
The same lock file gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)(?:\s*;\s*(.*?))?\s*\\?$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def components(lock: str) -> list[dict[str, Any]]:
    """Return a component per library of a lock file with hashes."""
    found: list[dict[str, Any]] = []
    for line in lock.splitlines():
        if pin := _PIN.match(line):
            name, version, marker = pin[1].lower(), pin[2], pin[3]
            purl = f"pkg:pypi/{name}@{version}"
            part: dict[str, Any] = {
                "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
            }  # fmt: skip
            if marker:
                part["properties"] = [{"name": "prophase:marker", "value": marker}]
            found.append(part)
        elif found and (digest := _HASH.search(line)):
            # one per file: every wheel and the source of a version has its own
            files = found[-1].setdefault("externalReferences", [])
            place = f"https://pypi.org/project/{found[-1]['name']}/{found[-1]['version']}/#files"
            hashes = [{"alg": "SHA-256", "content": digest[1]}]
            files.append({"type": "distribution", "url": place, "hashes": hashes})
    return found


def document(root: Path = ROOT) -> dict[str, Any]:
    """Return the whole document."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    version = re.search(r'"(.+?)"', (root / "src/prophase/version.py").read_text().split("=")[1])
    assert version is not None
    lock = (root / "requirements" / "hashed" / "service.txt").read_text()
    purl = f"pkg:pypi/prophase@{version[1]}"
    parts = components(lock)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # the same content has the same number
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, purl + lock)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": purl, "name": "prophase",
                "version": version[1], "purl": purl,
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": parts,
        "dependencies": [{"ref": purl, "dependsOn": [one["bom-ref"] for one in parts]}],
    }  # fmt: skip


def main() -> int:
    """Write the document to a file, or print it."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--out", type=Path, help="file to write")
    chosen = words.parse_args()
    text = json.dumps(document(), indent=1, sort_keys=True) + "\n"
    if chosen.out is None:
        sys.stdout.write(text)
    else:
        chosen.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
