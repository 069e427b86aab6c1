"""Registration: a composite file of scenarios becomes one run per scenario and date."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from prophase.errors import ParameterError, not_among
from prophase.runs._yaml_file import YamlFile
from prophase.runs.pipeline import Pipeline, check_keys

_FILE_KEYS = ("scenarios", "dates", "defaults")


@dataclass(frozen=True)
class Scenario:
    """One scenario: its name, its attributes and the dates it is run for."""

    name: str
    attributes: dict[str, object]
    dates: tuple[date, ...]


def read_scenarios(file: YamlFile, pipeline: Pipeline, dates: Sequence[str] = ()) -> list[Scenario]:
    """Split a composite file into scenarios, each with all its attributes and dates.

    Parameters
    ----------
    file : YamlFile
        Has ``scenarios``, a list of mappings with ``scenario`` (a name) and the attributes the
        pipeline names; perhaps ``defaults`` for all, and ``dates`` for all or for one scenario.
    dates : sequence of str, optional
        Dates for all scenarios, in place of those of the file; see :func:`dates_of`.
    """
    top = file.value
    if not isinstance(top, dict) or not isinstance(top.get("scenarios"), list):
        raise file.wrong("the file must have a list under 'scenarios'.")
    check_keys(file, top, _FILE_KEYS, "a file of scenarios")
    defaults = top.get("defaults") or {}
    _check_keys(file, defaults, pipeline, "defaults")
    found: dict[str, Scenario] = {}
    for index, given in enumerate(top["scenarios"]):
        scenario = _scenario(file, index, given, pipeline, defaults, dates or top.get("dates"))
        if scenario.name in found:
            said = f"scenario {scenario.name!r} stands here a second time."
            raise file.wrong(said, "scenarios", index)
        found[scenario.name] = scenario
    return list(found.values())


def dates_of(text: object) -> Iterator[date]:
    """Yield the dates that a text means: one, several with commas, or a range with a step.

    Examples
    --------
    >>> [str(day) for day in dates_of("2024-01-30..2024-02-12/7")]
    ['2024-01-30', '2024-02-06']
    """
    if isinstance(text, date):
        yield text
        return
    for part in filter(None, (part.strip() for part in str(text).split(","))):
        first, dots, rest = part.partition("..")
        last, slash, step = rest.partition("/")
        day, end = _date(first), _date(last) if dots else _date(first)
        days = int(step) if step.isdigit() and int(step) else 1 if not slash else 0
        if not days or end < day:
            raise ParameterError(f"{part!r}: write a range as 2024-01-01..2024-03-31/7.")
        while day <= end:
            yield day
            day += timedelta(days=days)


def _scenario(
    file: YamlFile,
    index: int,
    given: Any,
    pipeline: Pipeline,
    defaults: dict[str, object],
    dates: object,
) -> Scenario:
    at = ("scenarios", index)
    if not isinstance(given, dict) or not str(given.get("scenario", "")).strip():
        raise file.wrong("a scenario needs a name: 'scenario: NAME'.", *at)
    own = {key: value for key, value in given.items() if key not in ("scenario", "dates")}
    _check_keys(file, own, pipeline, *at)
    attributes = {**defaults, **own}
    missing = [key for key in pipeline.scenario_keys if key not in attributes]
    if missing:
        raise file.wrong(f"scenario {given['scenario']!r} lacks {', '.join(missing)}.", *at)
    chosen = given.get("dates", dates) if not isinstance(dates, tuple) else dates
    if chosen is None:
        raise ParameterError(
            f"{file.where(*at)}: scenario {given['scenario']!r} has no dates. Pass "
            "--dates 2024-01-01..2024-03-31/7, or write 'dates' into the file."
        )
    listed = chosen if isinstance(chosen, list | tuple) else [chosen]
    try:
        days = sorted({day for text in listed for day in dates_of(text)})
    except ParameterError as cause:
        if chosen is dates and isinstance(dates, tuple):
            raise ParameterError(f"--dates: {cause}") from cause
        raise file.wrong(str(cause), *at, "dates") from cause
    return Scenario(str(given["scenario"]), attributes, tuple(days))


def _check_keys(file: YamlFile, given: Any, pipeline: Pipeline, *path: str | int) -> None:
    if not isinstance(given, dict):
        raise file.wrong("'key: value' lines are expected here.", *path)
    for key, value in given.items():
        if key not in pipeline.scenario_keys:
            said = f"the pipeline knows no scenario key {key!r}."
            raise file.wrong(not_among(said, str(key), pipeline.scenario_keys), *path, key)
        if isinstance(value, list | dict) or value is None:
            raise file.wrong(f"{key} must be one value: a text, number or yes/no.", *path, key)


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError as cause:
        raise ParameterError(f"{text.strip()!r} is no date. Write it as 2024-01-31.") from cause
