"""YAML files that know where in the file each value stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from prophase.errors import FormatError, MissingFileError, storage_error

Path_ = tuple[str | int, ...]


class YamlFile:
    """The value of a YAML file, and the line and column of each part of it."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self._marks: dict[Path_, yaml.Mark] = {}
        try:
            node = yaml.compose(text, yaml.SafeLoader)
            self._note(node, ())
            self.value: Any = yaml.safe_load(text)
        except yaml.MarkedYAMLError as cause:
            mark = cause.problem_mark or cause.context_mark
            place = f" line {mark.line + 1} column {mark.column + 1}" if mark else ""
            raise FormatError(
                f"{name}{place}: is not valid YAML: {cause.problem or cause.context}. "
                "Correct that line."
            ) from cause
        except (
            yaml.YAMLError, ValueError, AttributeError, LookupError, OverflowError, RecursionError,
        ) as cause:  # fmt: skip
            raise FormatError(f"{name}: is not valid YAML: {cause}.") from cause

    @classmethod
    def read(cls, path: Path | str) -> YamlFile:
        """Read a file."""
        path = Path(path)
        try:
            return cls(path.read_text(encoding="utf-8"), str(path))
        except FileNotFoundError as cause:
            raise MissingFileError(f"{path}: there is no such file.") from cause
        except UnicodeDecodeError as cause:
            raise FormatError(f"{path}: is not a text file in UTF-8.") from cause
        except OSError as cause:
            raise storage_error(cause, path) from cause

    def where(self, *path: str | int) -> str:
        """Return ``FILE line L column C`` of a value, or of the nearest thing around it."""
        while path and path not in self._marks:
            path = path[:-1]
        mark = self._marks.get(path)
        return f"{self.name} line {mark.line + 1} column {mark.column + 1}" if mark else self.name

    def wrong(self, said: str, *path: str | int) -> FormatError:
        """Return an error that says what is wrong at a place."""
        return FormatError(f"{self.where(*path)}: {said}")

    def _note(self, node: yaml.Node | None, path: Path_) -> None:
        if node is None:
            return
        self._marks.setdefault(path, node.start_mark)
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                below = (*path, key.value)
                if below in self._marks:
                    place = f"line {key.start_mark.line + 1} column {key.start_mark.column + 1}"
                    raise FormatError(
                        f"{self.name} {place}: {key.value!r} stands here a second time."
                    )
                self._marks[below] = key.start_mark
                self._note(value, below)
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                self._note(value, (*path, index))
