"""Recommendations in the form each system reads: configuration to review and apply, or a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence

from prophase.errors import ParameterError, not_among
from prophase.sizing.exports import ENGINES, EngineFile, write_for
from prophase.sizing.exports.kind_requests import kind_requests
from prophase.sizing.kind_recommendation import ResourceRecommendations, rows_with_code


def export(found: ResourceRecommendations | Sequence[ResourceRecommendations], form: str) -> str:
    """Return the recommendations of one or more resources as text.

    Parameters
    ----------
    form : str
        One of :data:`FORMS`. Tasks that keep their request are left out of configurations.
    """
    return exported(found, form).text


def exported(
    found: ResourceRecommendations | Sequence[ResourceRecommendations], form: str
) -> EngineFile:
    """Return the recommendations as text, and what the text could not say."""
    several = [found] if isinstance(found, ResourceRecommendations) else list(found)
    form = _FORMER.get(form, form)
    if form not in FORMS:
        raise ParameterError(not_among(f"export {form!r} is unknown.", form, FORMS))
    if form in ENGINES:
        return write_for(form, kind_requests(*several))
    if len(several) != 1:
        named = ", ".join(one.resource for one in several)
        raise ParameterError(
            f"export {form!r} is a table of one resource, but {named} were sized. "
            f"Name one of them, or export for one of {', '.join(ENGINES)}."
        )
    return EngineFile(_TABLES[form](several[0]))


def _csv(found: ResourceRecommendations) -> str:
    rows = rows_with_code(found)
    out = io.StringIO()
    named = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(out, named, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _json(found: ResourceRecommendations) -> str:
    return json.dumps(found.to_dict(), indent=2) + "\n"


_TABLES: dict[str, Callable[[ResourceRecommendations], str]] = {"csv": _csv, "json": _json}
_FORMER = {"sbatch": "slurm"}
#: what recommendations can be written as
FORMS = (*ENGINES, *_TABLES)
