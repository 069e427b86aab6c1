"""The types of a JSON object as Python holds it: a document read, or rows to be written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

#: values are checked where they are read, so their type is open
JsonObject: TypeAlias = dict[str, Any]
#: the same where it is only read
JsonMapping: TypeAlias = Mapping[str, Any]
