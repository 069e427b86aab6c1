"""The job code as a version: a copy of a folder, or of a commit, named by what is in it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from prophase.atomic_files import make_whole_folder
from prophase.errors import FormatError, ParameterError
from prophase.json_types import JsonObject

#: never part of the job code
_LEFT_OUT = {".git", "__pycache__", ".venv", ".mypy_cache", ".pytest_cache"}


def keep_version(code: object, pipeline_text: str, base: Path, versions: Path) -> tuple[str, str]:
    """Keep the job code below ``versions`` and return its version and its place.

    Parameters
    ----------
    code : None, str or mapping
        What the pipeline says under ``code``: nothing, a folder, or ``{git: FOLDER, ref: REF}``.
    pipeline_text : str
        The pipeline is part of the version: other commands are another job.
    base : path
        Folder that relative paths start from: that of the pipeline file.
    """
    if code is None:
        return _digest(pipeline_text, "")[:40], ""
    if isinstance(code, dict):
        return _keep_commit(code, pipeline_text, base, versions)
    folder = base / str(code)
    if not folder.is_dir():
        raise FormatError(f"{folder}: the folder of the job code is not there. Correct 'code'.")
    version = _digest(pipeline_text, folder_hash(folder))[:40]
    ignored = shutil.ignore_patterns(*_LEFT_OUT)
    place = versions / version / "code"
    make_whole_folder(
        place, lambda fresh: shutil.copytree(folder, fresh, symlinks=True, ignore=ignored)
    )
    return version, str(place)


def folder_hash(folder: Path) -> str:
    """Return a hash of all files below a folder: names, modes and contents."""
    digest = hashlib.sha256()
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        for name in sorted(files):
            path = Path(parent) / name
            executable = os.access(path, os.X_OK)
            digest.update(f"{path.relative_to(folder)}\0{executable}\0".encode())
            if path.is_symlink():
                digest.update(str(path.readlink()).encode())
            else:
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _keep_commit(
    code: JsonObject, pipeline_text: str, base: Path, versions: Path
) -> tuple[str, str]:
    if set(code) - {"git", "ref"} or "git" not in code:
        raise ParameterError("code: write {git: FOLDER, ref: BRANCH-OR-COMMIT}.")
    repository = base / str(code["git"])
    asked = f"{code.get('ref', 'HEAD')}^{{commit}}"
    commit = _git(repository, "rev-parse", "--verify", asked).decode().strip()
    version = _digest(pipeline_text, commit)[:40]

    def unpack(fresh: Path) -> None:
        fresh.mkdir()
        archive = _git(repository, "archive", "--format=tar", commit)
        subprocess.run(["tar", "-x", "-C", str(fresh)], input=archive, check=True)

    place = versions / version / "code"
    make_whole_folder(place, unpack)
    return version, str(place)


def _git(repository: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", str(repository), *arguments], capture_output=True, check=False
        )
    except FileNotFoundError as cause:
        raise ParameterError("code: git is not installed; name a folder instead.") from cause
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise ParameterError(f"code: git says: {''.join(said)}. Correct 'git' or 'ref'.")
    return done.stdout


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def named_version(version: str) -> str:
    """Return a version as the rows of its jobs name it.

    Examples
    --------
    >>> named_version("0f3a9c1b77d2")
    '0f3a9c1b'
    """
    return version[:8]
