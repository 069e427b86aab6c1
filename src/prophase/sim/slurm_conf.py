"""A Slurm cluster's own rules, read from its configuration: order, backfilling, choice of nodes.

What is modelled: multifactor priority (fair tree or classic fair share, half-life, age, size),
the main scheduler (strictly in order at every event), the backfill scheduler (every
``bf_interval``, a reservation of whole nodes for every job it looks at, planned with time
limits), and the choice of nodes on a tree of switches. Defaults are Slurm's own. Ends of running
jobs are looked at in windows that double, as slurmctld does up to 25.05; later releases take the
last end on the nodes that the job would get.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prophase import units
from prophase.errors import FormatError, InputError, MissingFileError
from prophase.sim.rules.backfill import Backfill
from prophase.sim.slurm.site_rules import site_rules
from prophase.trace.readers.slurm_conf import SlurmConf, read_conf

_FILES = ("slurm.conf", "topology.conf")


def slurm_settings(conf: SlurmConf, folder: Path | None = None) -> dict[str, Any]:
    """Return the settings of ``simulate`` that a configuration asks for.

    Examples
    --------
    >>> conf = SlurmConf({"prioritytype": "priority/multifactor", "priorityweightage": "1000"})
    >>> slurm_settings(conf)["order"], slurm_settings(conf)["queue"]
    ('multifactor', 'conservative')
    """
    settings, rules = conf.settings, site_rules(conf, folder)
    found: dict[str, Any] = {"order": "fifo", "place": _place(conf), "estimate": "time_limit_s"}
    if settings.get("prioritytype", "").endswith("multifactor"):
        flags = settings.get("priorityflags", "").upper()
        found["order"] = "multifactor"
        found["order_options"] = {
            "age": _number(settings, "priorityweightage", 0),
            "max_age_s": _seconds(settings, "prioritymaxage", "7-0"),
            "fair_share": _number(settings, "priorityweightfairshare", 0),
            "size": _number(settings, "priorityweightjobsize", 0),
            "partition": _number(settings, "priorityweightpartition", 0),
            "qos": _number(settings, "priorityweightqos", 0),
            "small_first": settings.get("priorityfavorsmall", "no").lower() == "yes",
            "fair_tree": "NO_FAIR_TREE" not in flags,
            "dampening": _number(settings, "fairsharedampeningfactor", 1),
            "rekey_s": _seconds(settings, "prioritycalcperiod", "5"),
        }
        found["half_life_s"] = _seconds(settings, "prioritydecayhalflife", "7-0")
    shares = rules.shares()
    if shares is not None:
        found["shares"] = shares
    if not settings.get("schedulertype", "sched/backfill").endswith("backfill"):
        return {**found, "queue": "strict", "slurm": rules}
    options = _options(settings.get("schedulerparameters", ""))
    found["queue"], found["slurm"] = "conservative", rules
    found["backfill"] = Backfill(
        every_s=_number(options, "bf_interval", 30),
        depth=_number(options, "bf_max_job_test", 500),
        per_user=int(_number(options, "bf_max_job_user", 0)),
        window_s=60 * _number(options, "bf_window", 1440),
        whole_nodes=True,
        resolution_s=_number(options, "bf_resolution", 60),
    )
    return found


def find_conf(path: Path) -> SlurmConf:
    """Read ``slurm.conf`` and, if it lies beside, ``topology.conf``: a file or their folder."""
    folder = path if path.is_dir() else path.parent
    main = path / _FILES[0] if path.is_dir() else path
    if not main.is_file():
        raise MissingFileError(f"{main}: there is no such file. Name a slurm.conf or its folder.")
    others = [folder / name for name in _FILES[1:] if (folder / name).is_file()]
    conf = read_conf([main, *others])
    if not conf.settings:
        raise InputError(f"{main}: holds no settings of a Slurm cluster.")
    return conf


def _place(conf: SlurmConf) -> str:
    if conf.switches:
        return "slurm_tree"
    least_loaded = "LLN" in conf.settings.get("selecttypeparameters", "").upper()
    return "worst_fit" if least_loaded else "best_fit"


def _options(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(","))
    return {name.strip().lower(): value.strip("= ") for name, _, value in pairs if name.strip()}


def _number(settings: dict[str, str], name: str, default: float) -> float:
    text = settings.get(name)
    try:
        return default if text is None else float(text)
    except ValueError as cause:
        raise FormatError(f"slurm.conf: {name} = {text!r} is no number.") from cause


def _seconds(settings: dict[str, str], name: str, default: str) -> float:
    """Read days-hours:minutes:seconds; without days, minutes or hours:minutes:seconds."""
    text = settings.get(name, default)
    return units.parse_duration(text, bare="min", where=f"slurm.conf: {name}", error=FormatError)
