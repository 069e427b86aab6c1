"""Read an uploaded file into the workspace, as ``prophase import`` does."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prophase.errors import BadRowsError, InputError, ProphaseError
from prophase.serve.background.kinds import Progress
from prophase.trace.places import UPLOADS


def import_upload(folder: Path, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Import ``upload/name`` below the uploads; the file is gone afterwards, whatever happens."""
    room = folder / UPLOADS / arguments["upload"]
    try:
        return _imported(folder, room / arguments["name"], arguments, progress)
    except ProphaseError as error:
        # where the service keeps uploads says nothing to the one who sent the file
        raise InputError(str(error).replace(f"{room}/", "")) from error
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _imported(
    folder: Path, path: Path, arguments: Mapping[str, Any], progress: Progress
) -> dict[str, Any]:
    from prophase.trace.importing import import_trace
    from prophase.trace.recognising import recognise, telling_mapping, unsure_of
    from prophase.trace.schema import SCHEMAS
    from prophase.trace.workspace import Workspace

    def read(source: str, mapping: str | None) -> dict[str, Any]:
        options = {}
        if mapping is not None:
            options["map"] = str(path.with_name(".mapping.toml"))
            Path(options["map"]).write_text(mapping, encoding="utf-8")
        report = import_trace(
            source, path, Workspace(folder), options=options, keep=arguments["keep"],
            max_bad=arguments["max_bad"], mode=arguments["mode"], command="POST /v1/import",
            progress=progress,
        )  # fmt: skip
        used = {"path": path.name, "mapping": mapping, "unsure": unsure_of(mapping or "")}
        return report.to_dict() | used

    source, mapping = arguments["source"], arguments["mapping"]
    if mapping is not None:
        return read(source or "csv", mapping)
    if source is not None:
        return read(source, None)
    source, mapping = recognise(path, [*SCHEMAS])
    try:
        return read(source, mapping)
    except BadRowsError:
        # our names, but times or amounts written in a form that only a mapping tells
        if source != "csv" or mapping is not None:
            raise
        return read(source, telling_mapping(path, [*SCHEMAS]))
