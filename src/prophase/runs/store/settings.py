"""Settings that work while the campaign runs: changed by one command, read at every cycle."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from prophase import units
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.runs.states import BRANCHES, STEPS
from prophase.runs.store.database import Database
from prophase.runs.store.tables import SETTINGS
from prophase.sizing.sizer import code_number

#: what holds unless somebody sets it: number, least value, what it means
_BRANCH_PARALLEL = {"deploy": 10, "execute": 2, "profile": 5}
_STUCK_AFTER_S = {"deploy": 600.0, "execute": 21_600.0, "profile": 1_800.0}


@dataclass(frozen=True)
class Setting:
    """One number that may be changed at any time."""

    default: float
    least: float
    text: str
    whole: bool = False


KNOWN: dict[str, Setting] = {
    **{
        f"{name}.parallel": Setting(
            _BRANCH_PARALLEL[branch.step] if branch.kind == "trigger" else 20,
            0,
            f"runs that may be in the step {branch.step} at once; 0 stops it"
            if branch.kind == "trigger"
            else "runs that a worker looks at in one cycle",
            whole=True,
        )
        for name, branch in BRANCHES.items()
    },
    **{
        f"{name}.interval_s": Setting(2.0, 0.01, "seconds between two cycles of this branch")
        for name in BRANCHES
    },
    "maintain.interval_s": Setting(300.0, 0.01, "seconds between two rounds of the maintainer"),
    "lease_s": Setting(60.0, 0.1, "seconds after which a silent worker loses its runs"),
    **{
        f"stuck.{step}_s": Setting(
            _STUCK_AFTER_S[step],
            1,
            f"seconds that the step {step} may take until it is stuck",
        )
        for step in STEPS
    },
}
#: allocation of one task: task.NAME.memory_gib and so on
TASK_SETTINGS: dict[str, Setting] = {
    "memory_gib": Setting(1.0, 0.001, "memory of the task's first attempt"),
    "most_memory_gib": Setting(0.0, 0.001, "memory no attempt exceeds"),
    "cpu_cores": Setting(1.0, 0.01, "cores of the task"),
    "attempts": Setting(4, 1, "attempts, with more memory after each OOM", whole=True),
}
#: keys under which the name of the campaign and the recommended requests are kept
_CAMPAIGN, _ADVICE = "_campaign", "_advice"
#: key of the version of the code that was registered last
_VERSION = "_version"
_TASK_KEY = re.compile(r"task\.(?P<task>.+)\.(?P<what>[a-z_]+)")


class LiveSettings:
    """The settings of a campaign, and what holds where nothing was set."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def read(self) -> dict[str, float]:
        """Return every setting that is known or set, as it is now."""
        rows = self.database.read(lambda connection: connection.execute(select(SETTINGS)).all())
        held = {key: setting.default for key, setting in KNOWN.items()}
        return held | {row.key: float(row.value) for row in rows if not row.key.startswith("_")}

    def set(self, assignment: str, *, actor: str) -> tuple[str, float]:
        """Take ``KEY=VALUE`` over and return both; ``KEY=default`` forgets the value."""
        key, text, value = check_assignment(assignment)

        def save(connection: Connection) -> None:
            connection.execute(delete(SETTINGS).where(SETTINGS.c.key == key))
            if text != "default":
                row = {"key": key, "value": repr(value), "changed_by": actor}
                connection.execute(insert(SETTINGS), {**row, "changed_at_s": time.time()})

        self.database.write(save)
        return key, value

    def allocations(self) -> dict[str, JsonObject]:
        """Return what is set or recommended per task: task -> memory_gib, advised_gib, ..."""
        found: dict[str, JsonObject] = {
            task: {"advised_gib": ladder} for task, ladder in self.recommended()[1].items()
        }
        for task, values in allocations_of(self.read()).items():
            found.setdefault(task, {}).update(values)
        return found

    def recommended(self) -> tuple[str, dict[str, list[float]]]:
        """Return where the recommended requests came from, and those of each task.

        Those of another version of the code than was registered last are stale and left out.
        """
        text, version = self._held(_ADVICE), self._held(_VERSION)
        if text is None:
            return "", {}
        kept = json.loads(text)
        codes = kept.get("codes", {}) if version else {}
        own = code_number({"version": version}) if version else None
        fresh = {
            task: rungs for task, rungs in kept["tasks"].items() if codes.get(task, own) == own
        }
        return kept["from"], fresh

    def set_recommended(
        self,
        source: str,
        ladders: Mapping[str, Sequence[float]],
        codes: Mapping[str, float] | None = None,
        *,
        actor: str,
    ) -> None:
        """Keep recommended requests for all workers; none forgets those before.

        ``codes`` has the version of the code of each task that names one, as a number.
        """
        kept = {
            "from": source,
            "tasks": {task: list(rungs) for task, rungs in ladders.items()},
            "codes": {task: code for task, code in (codes or {}).items() if task in ladders},
        }
        self._hold(_ADVICE, json.dumps(kept) if ladders else None, actor)

    def set_version(self, version: str, *, actor: str) -> None:
        """Keep which version of the code was registered last, as jobs name it."""
        self._hold(_VERSION, version, actor)

    def _held(self, key: str) -> str | None:
        asked = select(SETTINGS.c.value).where(SETTINGS.c.key == key)
        found = self.database.read(lambda connection: connection.execute(asked).scalar())
        return None if found is None else str(found)

    def _hold(self, key: str, text: str | None, actor: str) -> None:
        row = {"key": key, "value": text, "changed_by": actor}

        def save(connection: Connection) -> None:
            connection.execute(delete(SETTINGS).where(SETTINGS.c.key == key))
            if text is not None:
                connection.execute(insert(SETTINGS), {**row, "changed_at_s": time.time()})

        self.database.write(save)

    def campaign_key(self) -> str:
        """Return the name that distinguishes this campaign from others; it is made once."""

        def look_or_make(connection: Connection) -> str:
            _insert_once(connection, _CAMPAIGN, uuid.uuid4().hex[:6], by="init")
            asked = select(SETTINGS.c.value).where(SETTINGS.c.key == _CAMPAIGN)
            return str(connection.execute(asked).scalar_one())

        return self.database.write(look_or_make)

    def due(self, what: str, interval_s: float, *, at_first: bool = False) -> bool:
        """Say whether something is due that one worker does for all; if so, it is ours to do.

        What was never done is due ``at_first``, or only after its interval.
        """
        key, now = f"_last.{what}", time.time()

        def take_turn(connection: Connection) -> bool:
            last = connection.execute(
                select(SETTINGS.c.value).where(SETTINGS.c.key == key).with_for_update()
            ).scalar()
            if last is None:
                return _insert_once(connection, key, repr(now), by="clock") and at_first
            if now - float(last) < interval_s:
                return False
            connection.execute(
                update(SETTINGS).where(SETTINGS.c.key == key).values(value=repr(now))
            )
            return True

        return self.database.write(take_turn)


def check_assignment(assignment: str) -> tuple[str, str, float]:
    """Return key, text and value of ``KEY=VALUE``, or say what is wrong with it."""
    key, equals, text = (part.strip() for part in assignment.partition("="))
    if not equals:
        raise ParameterError(f"{assignment!r}: write KEY=VALUE, such as execute.parallel=4.")
    setting = known_setting(key)
    return key, text, setting.default if text == "default" else _number(key, text, setting)


def known_setting(key: str) -> Setting:
    """Return what is known of a setting, or say which there are."""
    match = _TASK_KEY.fullmatch(key)
    if match is not None:
        if match["what"] not in TASK_SETTINGS:
            said = f"{key!r}: a task has no setting {match['what']!r}."
            raise ParameterError.among(said, match["what"], TASK_SETTINGS)
        return TASK_SETTINGS[match["what"]]
    if key not in KNOWN:
        known = [*KNOWN, *(f"task.NAME.{what}" for what in TASK_SETTINGS)]
        raise ParameterError.among(f"Setting {key!r} is unknown.", key, known)
    return KNOWN[key]


def allocations_of(settings: JsonObject) -> dict[str, dict[str, float]]:
    """Return the settings of tasks, by task.

    Examples
    --------
    >>> allocations_of({"lease_s": 60.0, "task.train.memory_gib": 8.0})
    {'train': {'memory_gib': 8.0}}
    """
    found: dict[str, dict[str, float]] = {}
    for key, value in settings.items():
        match = _TASK_KEY.fullmatch(key)
        if match is not None:
            found.setdefault(match["task"], {})[match["what"]] = float(value)
    return found


def _insert_once(connection: Connection, key: str, value: str, *, by: str) -> bool:
    """Add a setting unless it is there, however many do so at once; say whether it was added."""
    kind = postgresql if connection.dialect.name == "postgresql" else sqlite
    row = {"key": key, "value": value, "changed_by": by, "changed_at_s": time.time()}
    added = connection.execute(kind.insert(SETTINGS).values(row).on_conflict_do_nothing())
    return added.rowcount == 1


def _number(key: str, text: str, setting: Setting) -> float:
    if key.endswith("_s"):
        value = units.parse_duration(text, bare="s", where=key)
    elif key.endswith("_gib"):
        value = units.parse_memory(text, g_is="binary", bare="GiB", where=key)
    else:
        value = units.parse_quantity(text, where=key)
    if not setting.least <= value < float("inf") or (setting.whole and value != int(value)):
        kind = "a whole number" if setting.whole else "a number"
        raise ParameterError(
            f"{key} is {text!r}, but must be {kind} of at least {setting.least:g}: {setting.text}."
        )
    return value
