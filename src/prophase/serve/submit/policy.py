"""What may be done to whose jobs: the part [submit] of a workspace's prophase.toml.

    [submit]
    mode = "dry-run"                 # off, dry-run, annotate (Slurm: tell) or set
    resources = ["memory"]           # what is set: memory, cpu; also gpu, time (Slurm)
    limits = "keep"                  # or "set": limits follow requests

    [submit.namespaces."team-*"]     # the first pattern that fits counts
    mode = "set"
    only_labelled = true             # only objects with the label prophase.dev/mode

    [submit.partitions.gpu]          # Slurm: the same for partitions, accounts and users;
    mode = "tell"                    # a user's rule counts before an account's and a partition's
    [submit.accounts."nlp*"]
    mode = "set"
    [submit.users.ann]
    mode = "off"

The label ``prophase.dev/mode`` of an object chooses less than its namespace allows, never more.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, get_args

from prophase.errors import ParameterError, not_among
from prophase.json_types import JsonMapping
from prophase.trace.workspace import SETTINGS

Mode = Literal["off", "dry-run", "annotate", "set"]
#: from nothing to everything
MODES: tuple[Mode, ...] = get_args(Mode)
LABEL = "prophase.dev/mode"
_RESOURCES = ("memory", "cpu", "gpu", "time")
_LIMITS = ("keep", "set")
#: another word for a mode
_SAME_MODE = {"tell": "annotate"}
#: whom rules can be made for, the last that fits counts
_WHOM = ("namespaces", "partitions", "accounts", "users")


@dataclass(frozen=True)
class SubmitRules:
    """What may be done in one namespace.

    Attributes
    ----------
    mode : str
        ``off``; ``dry-run`` decides and reports, but changes nothing; ``annotate`` adds annotations
        and labels; ``set`` also sets requests.
    resources : tuple of str
        What is set.
    limits : str
        ``keep`` leaves memory limits as they are; ``set`` lets them follow the request.
    only_labelled : bool
        Whether objects without the label ``prophase.dev/mode`` are left alone.
    labels : bool
        Whether labels for queues are added beside annotations.
    """

    mode: Mode = "dry-run"
    resources: tuple[str, ...] = ("memory",)
    limits: str = "keep"
    only_labelled: bool = False
    labels: bool = True


@dataclass(frozen=True)
class SubmitPolicy:
    """Rules for all namespaces.

    Attributes
    ----------
    budget_ms : float
        How long an answer may take; later, the object passes unchanged.
    token : bool
        Whether the webhook needs a token where the service has tokens. An API server sends none
        unless it is configured to.
    events : bool
        Whether decisions are reported as events of the cluster.
    most : mode
        The most that is done whatever the rules say: no request is set by a damaged model.
    """

    rules: SubmitRules = field(default_factory=SubmitRules)
    namespaces: Mapping[str, SubmitRules] = field(default_factory=dict)
    partitions: Mapping[str, SubmitRules] = field(default_factory=dict)
    accounts: Mapping[str, SubmitRules] = field(default_factory=dict)
    users: Mapping[str, SubmitRules] = field(default_factory=dict)
    budget_ms: float = 100.0
    token: bool = True
    events: bool = True
    most: Mode = "set"
    #: whether the settings have a part [submit] at all
    stated: bool = False

    @classmethod
    def of(cls, settings: JsonMapping) -> SubmitPolicy:
        """Return the policy of a workspace's settings.

        Examples
        --------
        >>> held = {"submit": {"mode": "annotate", "namespaces": {"ml": {"mode": "set"}}}}
        >>> policy = SubmitPolicy.of(held)
        >>> policy.rules_for("ml", {}).mode, policy.rules_for("web", {}).mode
        ('set', 'annotate')
        """
        held = dict(_table(settings.get("submit", {}), "[submit]"))
        places = {whom: _table(held.pop(whom, {}), f"[submit.{whom}]") for whom in _WHOM}
        own = {name: held.pop(name) for name in ("budget_ms", "token", "events") if name in held}
        budget = own.get("budget_ms", 100.0)
        if (
            not isinstance(budget, int | float)
            or isinstance(budget, bool)
            or not 1 <= budget <= 10_000
        ):
            raise ParameterError(
                f"prophase.toml: budget_ms is {budget!r}, but lies between 1 and 10000."
            )
        for name in ("token", "events"):
            if not isinstance(own.get(name, True), bool):
                raise ParameterError(f"prophase.toml: {name} is true or false.")
        whole = _rules(SubmitRules(), held, "[submit]")
        named = {
            whom: {
                str(pattern): _rules(
                    whole, _table(one, f"[submit.{whom}.{pattern}]"), f"{whom[:-1]} {pattern!r}"
                )
                for pattern, one in held_by.items()
            }
            for whom, held_by in places.items()
        }
        return cls(
            whole,
            namespaces=named["namespaces"],
            partitions=named["partitions"],
            accounts=named["accounts"],
            users=named["users"],
            stated="submit" in settings,
            **own,
        )

    def rules_for(self, namespace: str, labels: JsonMapping) -> SubmitRules:
        """Return what may be done to an object with these labels."""
        rules = self.capped(_fitting(self.namespaces, namespace) or self.rules)
        wanted = str(labels.get(LABEL, ""))
        if wanted not in MODES:
            return replace(rules, mode="off") if rules.only_labelled else rules
        return replace(rules, mode=min(rules.mode, wanted, key=MODES.index))

    def rules_for_slurm(self, *, partition: str, account: str, user: str) -> SubmitRules:
        """Return what may be done to a job of Slurm; who is named more closely counts.

        Examples
        --------
        >>> held = {"mode": "off", "accounts": {"nlp": {"mode": "tell"}}}
        >>> policy = SubmitPolicy.of({"submit": held})
        >>> policy.rules_for_slurm(partition="gpu", account="nlp", user="ann").mode
        'annotate'
        """
        return self.capped(
            _fitting(self.users, user)
            or _fitting(self.accounts, account)
            or _fitting(self.partitions, partition)
            or _fitting(self.namespaces, partition)
            or self.rules
        )

    def capped(self, rules: SubmitRules) -> SubmitRules:
        """Return rules with no more than is done at most."""
        return replace(rules, mode=min(rules.mode, self.most, key=MODES.index))


def misplaced_policies(workspace: Path, *, home: Path | None = None) -> list[str]:
    """Return a sentence per file that has ``[submit]`` where nobody reads it."""
    used = (workspace / SETTINGS).resolve()
    places = [
        Path.cwd() / SETTINGS,
        workspace.resolve().parent / SETTINGS,
        (home or Path.home()) / ".config" / "prophase" / SETTINGS,
        Path("/etc/prophase") / SETTINGS,
    ]
    found = []
    for place in dict.fromkeys(one.resolve() for one in places):
        if place == used or not place.is_file():
            continue
        try:
            held = tomllib.loads(place.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if "submit" in held:
            found.append(
                f"{place}: its [submit] is not used: the policy of this service is read from "
                f"{used}. Move it there."
            )
    return found


def _fitting(rules: Mapping[str, SubmitRules], name: str) -> SubmitRules | None:
    """Return the rules of a name, else those of the first pattern that fits it."""
    return rules.get(name) or next(
        (one for pattern, one in rules.items() if fnmatchcase(name, pattern)), None
    )


def _rules(before: SubmitRules, held: JsonMapping, where: str) -> SubmitRules:
    known = [one.name for one in fields(SubmitRules)]
    for name in held:
        if name not in known:
            raise ParameterError(
                not_among(f"prophase.toml: {where} knows no {name!r}.", name, known)
            )
    mode = held.get("mode", before.mode)
    mode = _SAME_MODE.get(mode, mode) if isinstance(mode, str) else mode
    if mode not in MODES:
        raise ParameterError(
            not_among(
                f"prophase.toml: mode {mode!r} of {where} is unknown.",
                str(mode),
                [*MODES, *_SAME_MODE],
            )
        )
    resources = held.get("resources", list(before.resources))
    if not isinstance(resources, list) or not all(one in _RESOURCES for one in resources):
        raise ParameterError(
            f"prophase.toml: resources of {where} is a list of some of {', '.join(_RESOURCES)}."
        )
    limits = held.get("limits", before.limits)
    if limits not in _LIMITS:
        raise ParameterError(f"prophase.toml: limits of {where} is 'keep' or 'set'.")
    for name in ("only_labelled", "labels"):
        if not isinstance(held.get(name, True), bool):
            raise ParameterError(f"prophase.toml: {name} of {where} is true or false.")
    return SubmitRules(
        mode,
        tuple(resources),
        limits,
        held.get("only_labelled", before.only_labelled),
        held.get("labels", before.labels),
    )


def _table(value: Any, where: str) -> JsonMapping:
    if not isinstance(value, Mapping):
        raise ParameterError(f"prophase.toml: {where} is a table of names and values.")
    return value
