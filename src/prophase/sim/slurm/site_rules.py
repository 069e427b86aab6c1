"""What a Slurm site allows: partitions, qualities of service, associations, reservations.

``slurm.conf`` says who may run where; the accounting database says who may run how much
(``sacctmgr -P show qos`` and ``show assoc``); ``scontrol show reservation -o`` says what is
reserved. The last three are read from ``qos.txt``, ``assoc.txt`` and ``reservations.txt`` beside
the configuration, where there are any.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from prophase import units
from prophase.errors import FormatError, InputError, storage_error
from prophase.plural import listed
from prophase.sim.kernels.slurm.array_layout import LEAST_LOADED, NEIGHBOURS, SWITCHES
from prophase.trace.readers.slurm_conf import SlurmConf, node_names

_MIB_PER_GIB = 1024
_UNSET = ("", "NONE", "(NULL)", "N/A", "UNLIMITED", "INFINITE", "-1")


@dataclass(frozen=True)
class Limit:
    """What may be held at a time, all jobs together."""

    cpu_cores: float = inf
    memory_gib: float = inf
    gpus: float = inf
    nodes: float = inf
    jobs: float = inf

    @property
    def limits(self) -> bool:
        """Tell whether it says anything."""
        return self != Limit()


@dataclass(frozen=True)
class Partition:
    """Nodes, who may use them, and how."""

    name: str
    nodes: tuple[str, ...]
    tier: float = 1.0
    factor: float = 1.0
    max_time_s: float = inf
    default_time_s: float = inf
    max_nodes: float = inf
    min_nodes: float = 0.0
    max_cores_per_node: float = inf
    up: bool = True
    is_default: bool = False
    whole_nodes: bool = False
    qos: str = ""
    preempt_mode: str = ""
    #: allowed (or, with False, denied) accounts and qualities of service
    accounts: tuple[bool, frozenset[str]] = (False, frozenset())
    qualities: tuple[bool, frozenset[str]] = (False, frozenset())
    needs_reservation: bool = False
    #: billing per core, GiB and GPU
    billing: tuple[float, float, float] = (1.0, 0.0, 0.0)

    def admits(self, account: str, qos: str) -> bool:
        """Tell whether jobs of this account and quality of service may use it."""
        return all(
            (name in names) == allowed or not names
            for (allowed, names), name in ((self.accounts, account), (self.qualities, qos))
        )


@dataclass(frozen=True)
class Quality:
    """A quality of service."""

    name: str
    priority: float = 0.0
    preempts: frozenset[str] = frozenset()
    preempt_mode: str = ""
    exempt_s: float = 0.0
    max_time_s: float = inf
    per_job: Limit = Limit()
    all_jobs: Limit = Limit()
    per_user: Limit = Limit()
    per_account: Limit = Limit()
    usage_factor: float = 1.0


@dataclass(frozen=True)
class Association:
    """An account, or a user in it: its share and its limits."""

    account: str
    user: str
    parent: str
    share: float = 1.0
    max_time_s: float = inf
    all_jobs: Limit = Limit()
    per_job: Limit = Limit()
    #: jobs at a time, of the user in this account
    jobs: float = inf
    default_qos: str = ""


#: what a quality of service or an association limits; all else counts without enforcement, too
_LIMITING = (
    "max_time_s", "per_job", "all_jobs", "per_user", "per_account", "jobs",
)  # fmt: skip
_Limited = TypeVar("_Limited", Quality, Association)


@dataclass(frozen=True)
class Reservation:
    """Nodes that are kept for some for a time."""

    name: str
    start_s: float
    end_s: float
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class SiteRules:
    """All rules of a site that decide who may run where, when and how much."""

    partitions: dict[str, Partition] = field(default_factory=dict)
    qualities: dict[str, Quality] = field(default_factory=dict)
    associations: tuple[Association, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    #: how nodes are chosen, and what jobs may be counted by
    choice: int = NEIGHBOURS
    memory_counts: bool = True
    whole_nodes: bool = False
    #: "", "qos" or "partition"; what happens to preempted jobs; how long they are safe
    preempt_by: str = ""
    preempt_mode: str = "OFF"
    exempt_s: float = 0.0
    #: further numbers of the scheduler, by the names of the compiled rules
    scheduler: dict[str, float] = field(default_factory=dict)
    #: priority per TRES share: cpu, mem, gpu
    tres_weights: tuple[float, float, float] = (0.0, 0.0, 0.0)
    #: what the site has and the replay leaves out; what it cannot be replayed without
    left_out: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"Slurm's rules: partitions {listed(list(self.partitions)) or 'none'}"

    @property
    def default_partition(self) -> str:
        """The partition of jobs that name none."""
        named = [one.name for one in self.partitions.values() if one.is_default]
        return (named or [*self.partitions, ""])[0]

    def to_dict(self) -> dict[str, Any]:
        """Say in short what is honoured and what is not."""
        return {
            "partitions": list(self.partitions),
            "qos": list(self.qualities),
            "associations": len(self.associations),
            "reservations": [one.name for one in self.reservations],
            "left_out": list(self.left_out),
        }

    def shares(self) -> pd.DataFrame | None:
        """Return the table of shares, if associations say any."""
        # accounts stand below each other, root's directly below everybody
        rows = [
            {
                "account": one.account,
                "user": one.user,
                "share": one.share,
                "parent": "" if one.user or one.parent == "root" else one.parent,
            }
            for one in self.associations
            if one.account != "root" or one.user
        ]
        users = [row for row in rows if row["user"]]
        # a user in two accounts is one user: the first association counts
        seen: set[object] = set()
        kept = [row for row in users if not (row["user"] in seen or seen.add(row["user"]))]  # type: ignore[func-returns-value]
        return pd.DataFrame([row for row in rows if not row["user"]] + kept) if kept else None


def site_rules(conf: SlurmConf, folder: Path | None = None) -> SiteRules:
    """Read a site's rules from its configuration and what lies beside it."""
    settings = conf.settings
    preempt = settings.get("preempttype", "").rpartition("/")[2].lower()
    parts = {name: _partition(conf, name, words) for name, words in conf.partitions.items()}
    select = settings.get("selecttypeparameters", "").upper()
    linear = settings.get("selecttype", "").endswith("linear")
    choice = LEAST_LOADED if "LLN" in select else SWITCHES if conf.switches else NEIGHBOURS
    left_out, refused = _not_honoured(conf)
    tables = {name: _table(folder, f"{name}.txt") for name in ("qos", "assoc")}
    qualities, associations = _qualities(tables["qos"]), _associations(tables["assoc"])
    if not _enforces(settings):
        bare = (*map(_without_limits, qualities.values()), *map(_without_limits, associations))
        if bare != (*qualities.values(), *associations):
            left_out += ("limits of QOS and accounts: AccountingStorageEnforce has no limits",)
        qualities = {name: _without_limits(one) for name, one in qualities.items()}
        associations = tuple(map(_without_limits, associations))
    else:
        left_out += _limits_not_followed(tables)
    return SiteRules(
        parts,
        qualities,
        associations,
        _reservations(folder, conf),
        choice,
        memory_counts="MEMORY" in select or linear,
        whole_nodes=linear,
        preempt_by={"qos": "qos", "partition_prio": "partition"}.get(preempt, ""),
        preempt_mode=settings.get("preemptmode", "OFF").upper(),
        exempt_s=_seconds(settings.get("preemptexempttime"), 0.0),
        scheduler=_scheduler(settings),
        tres_weights=_weights(settings.get("priorityweighttres", "")),
        left_out=left_out,
        refused=refused,
    )


def _scheduler(settings: Mapping[str, str]) -> dict[str, float]:
    pairs = (one.partition("=") for one in settings.get("schedulerparameters", "").split(","))
    options = {name.strip().lower(): value.strip() for name, _, value in pairs}
    expires = re.search(r"cred_expire=(\d+)", settings.get("authinfo", ""))
    delay_s = _number(options.get("batch_sched_delay"), 3.0)
    return {
        "main_depth": _number(options.get("default_queue_depth"), 100),
        "window_linear_s": _number(options.get("bf_window_linear"), 0),
        "per_partition": _number(options.get("bf_max_job_part"), 0),
        "limits_stop": float("assoc_limit_stop" in options),
        # without enforced limits nobody tells the priority plug-in that a job has ended
        "ends_count": float(_enforces(settings)),
        # submissions are looked at every second, but not so soon after the last ones
        "main_s": min(0.5, delay_s / 2),
        "main_every_s": delay_s,
        # a requeued job waits until its old credential has expired, and a second more
        "requeue_s": 1.0 + float(expires[1] if expires else 120),
    }


#: settings that are not followed: what a replay then leaves out, unless they have this value
_LEFT_OUT = {
    "licenses": ("licences", ""),
    "suspendprogram": ("nodes that are powered down and up", ""),
    "powerparameters": ("power capping", ""),
    "overtimelimit": ("OverTimeLimit", "0"),
    "prioritysitefactorplugin": ("the site's own part of priorities", "none"),
    "preemptparameters": ("PreemptParameters", ""),
    "mcsplugin": ("MCS labels", "none"),
    "burstbuffertype": ("burst buffers", ""),
    "federationparameters": ("federations", ""),
}


#: what is followed of these settings, or changes no start
_FLAGS = {"NO_FAIR_TREE", "SMALL_RELATIVE_TO_TIME", "CALCULATE_RUNNING", "NO_NORMAL_ALL", "NONE"}
_SCHEDULER = {
    "", "assoc_limit_stop", "batch_sched_delay", "bf_continue", "bf_interval", "bf_max_job_part",
    "bf_max_job_test", "bf_max_job_user", "bf_max_time", "bf_resolution", "bf_window",
    "bf_window_linear",
    "bf_yield_interval", "bf_yield_sleep", "bf_yield_rpc_cnt", "default_queue_depth",
    "sched_interval", "sched_min_interval", "max_rpc_cnt", "kill_invalid_depend",
    "nohold_on_prolog_fail", "permit_job_expansion", "preempt_send_user_signal",
}  # fmt: skip
_PARTITION = {
    "gracetime": ("GraceTime", ("0", "00:00:00")),
    "lln": ("LLN", ("NO",)),
    "alternate": ("Alternate", ("",)),
    "exclusivetopo": ("ExclusiveTopo", ("NO",)),
}
#: columns of sacctmgr with limits that are not followed
_MORE_LIMITS = {
    "grptresmins": "GrpTRESMins", "grptresrunmins": "GrpTRESRunMins", "grpwall": "GrpWall",
    "maxtresmins": "MaxTRESMins", "maxtrespernode": "MaxTRESPerNode",
    "maxtresrunminspu": "MaxTRESRunMinsPU", "maxtresrunminspa": "MaxTRESRunMinsPA",
    "mintres": "MinTRES", "minpriothresh": "MinPrioThresh", "minpriothreshold": "MinPrioThresh",
}  # fmt: skip
_COUNTED = ("cpu", "mem", "node", "gres/gpu", "billing", "energy", "pages", "vmem")


def _enforces(settings: Mapping[str, str]) -> bool:
    """Tell whether Slurm holds jobs back by limits of the accounting database at all."""
    words = settings.get("accountingstorageenforce", "").lower().replace(" ", "").split(",")
    return bool({"limits", "safe", "all"} & set(words))


def _without_limits(one: _Limited) -> _Limited:
    """Return a quality of service or an association without what it limits."""
    usual = {name: getattr(type(one), name) for name in _LIMITING if hasattr(type(one), name)}
    return replace(one, **usual)


def _limits_not_followed(tables: Mapping[str, pd.DataFrame | None]) -> tuple[str, ...]:
    """Name limits of the accounting database that a replay leaves out."""
    found: dict[str, None] = {}
    for kind, table in tables.items():
        whose = "QOS" if kind == "qos" else "accounts"
        if table is None:
            continue
        for column in table.columns:
            values = [str(value) for value in table[column] if not _is_unset(str(value))]
            plain = _plain(str(column))
            if values and plain in _MORE_LIMITS:
                found[f"{_MORE_LIMITS[plain]} of {whose}"] = None
            if plain.startswith(("grptres", "maxtres")):
                names = (part.partition("=")[0] for value in values for part in value.split(","))
                for name in names:
                    if name and name.lower() not in _COUNTED:
                        found[f"{column} of {whose}: {name}"] = None
    return tuple(found)


def _not_honoured(conf: SlurmConf) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is left out, and what would change who may run where."""
    settings = conf.settings
    left_out = [
        said
        for name, (said, usual) in _LEFT_OUT.items()
        if settings.get(name, usual).rpartition("/")[2].lower() not in (usual, "(null)", "")
    ]
    refused = []
    if "SUSPEND" in settings.get("preemptmode", "").upper():
        refused.append("PreemptMode=SUSPEND (jobs that pause in memory)")
    flags = {word.strip().upper() for word in settings.get("priorityflags", "").split(",")}
    if unknown := sorted(flags - _FLAGS - {""}):
        left_out.append(f"PriorityFlags={','.join(unknown)}")
    options = settings.get("schedulerparameters", "").replace("(null)", "").split(",")
    names = {one.partition("=")[0].strip().lower() for one in options}
    if unknown := sorted(names - _SCHEDULER):
        left_out.append(f"SchedulerParameters: {', '.join(unknown)}")
    topology = settings.get("topologyplugin", "none").rpartition("/")[2].lower()
    if topology not in ("none", "tree", "flat", "default"):
        left_out.append(f"TopologyPlugin={topology} (nodes are taken as equally near)")
    away = [
        name
        for name, words in conf.nodes.items()
        if words.get("state", "").upper().startswith(("DOWN", "DRAIN", "FAIL", "FUTURE"))
    ]
    if away:
        left_out.append(
            f"State of {len(away)} nodes such as {away[0]}: they are taken as up; take them out of "
            "a copy of slurm.conf if they were not"
        )
    if settings.get("jobsubmitplugins"):
        left_out.append(f"job_submit plug-ins ({settings['jobsubmitplugins']})")
    for name, words in conf.partitions.items():
        shared = words.get("oversubscribe", words.get("shared", "")).upper()
        if shared.startswith("FORCE"):
            refused.append(f"partition {name}: OverSubscribe={shared} (jobs share cores)")
        if words.get("allowgroups", "ALL").upper() != "ALL":
            left_out.append(f"partition {name}: AllowGroups (groups of users are not known here)")
        left_out += [
            f"partition {name}: {said}={words[key]}"
            for key, (said, usual) in _PARTITION.items()
            if key in words and words[key].upper() not in usual
        ]
        if words.get("exclusiveuser", "NO").upper() == "YES":
            refused.append(f"partition {name}: ExclusiveUser=YES")
    return tuple(left_out), tuple(refused)


def _partition(conf: SlurmConf, name: str, words: Mapping[str, str]) -> Partition:
    where = f"slurm.conf: partition {name}"
    shared = words.get("oversubscribe", words.get("shared", "NO")).upper()
    state = words.get("state", "UP").upper()
    return Partition(
        name,
        partition_nodes(conf, words, where),
        _number(words.get("prioritytier", words.get("priority")), 1.0),
        _number(words.get("priorityjobfactor", words.get("priority")), 1.0),
        _seconds(words.get("maxtime"), inf),
        _seconds(words.get("defaulttime"), inf),
        _number(words.get("maxnodes"), inf),
        _number(words.get("minnodes"), 0.0),
        _number(words.get("maxcpuspernode"), inf),
        up=state == "UP",
        is_default=words.get("default", "NO").upper() == "YES",
        whole_nodes=shared == "EXCLUSIVE",
        qos="" if _is_unset(words.get("qos")) else words["qos"],
        preempt_mode=words.get("preemptmode", "").upper(),
        accounts=_allowed(words, "accounts"),
        qualities=_allowed(words, "qos"),
        needs_reservation=words.get("reqresv", "NO").upper() == "YES",
        billing=_weights(words.get("tresbillingweights", "CPU=1.0")),
    )


def partition_nodes(conf: SlurmConf, words: Mapping[str, str], where: str) -> tuple[str, ...]:
    """Return the nodes of a partition; names of node sets stand for theirs."""
    text = words.get("nodes", "")
    if text.upper() == "ALL" or not conf.nodes:
        return tuple(conf.nodes)
    if _is_unset(text):
        return ()
    found: list[str] = []
    for name in node_names(text, where):
        found += conf.nodesets.get(name, [name])
    unknown = [name for name in found if name not in conf.nodes]
    if unknown:
        raise FormatError(f"{where} names {listed(unknown[:5])}, which no NodeName line describes.")
    return tuple(dict.fromkeys(found))


def _allowed(words: Mapping[str, str], what: str) -> tuple[bool, frozenset[str]]:
    allowed, denied = words.get(f"allow{what}", "ALL"), words.get(f"deny{what}", "")
    if allowed.upper() != "ALL":
        return True, frozenset(allowed.split(","))
    return False, frozenset() if _is_unset(denied) else frozenset(denied.split(","))


def _qualities(table: pd.DataFrame | None) -> dict[str, Quality]:
    found = {}
    for row in [] if table is None else table.to_dict("records"):
        words = {_plain(str(name)): str(value) for name, value in row.items()}
        name = words["name"]
        found[name] = Quality(
            name,
            _number(words.get("priority"), 0.0),
            frozenset(filter(None, words.get("preempt", "").split(","))),
            words.get("preemptmode", "").upper().replace("CLUSTER", ""),
            _seconds(words.get("preemptexempttime"), 0.0),
            _seconds(words.get("maxwall"), inf),
            _tres(words.get("maxtres", words.get("maxtresperjob"))),
            _tres(words.get("grptres"), words.get("grpjobs")),
            _tres(words.get("maxtrespu", words.get("maxtresperuser")), words.get("maxjobspu")),
            _tres(words.get("maxtrespa", words.get("maxtresperaccount")), words.get("maxjobspa")),
            _number(words.get("usagefactor"), 1.0),
        )
    return found


def _associations(table: pd.DataFrame | None) -> tuple[Association, ...]:
    found = []
    for row in [] if table is None else table.to_dict("records"):
        words = {_plain(str(name)): str(value) for name, value in row.items()}
        share = words.get("share", words.get("fairshare", "1"))
        found.append(
            Association(
                words.get("account", ""),
                words.get("user", ""),
                words.get("parname", words.get("parentname", "")),
                1.0 if share.lower() == "parent" else _number(share, 1.0),
                _seconds(words.get("maxwall"), inf),
                _tres(words.get("grptres"), words.get("grpjobs")),
                _tres(words.get("maxtres", words.get("maxtresperjob"))),
                _number(words.get("maxjobs"), inf),
                words.get("defqos", words.get("defaultqos", "")),
            )
        )
    return tuple(found)


def _reservations(folder: Path | None, conf: SlurmConf) -> tuple[Reservation, ...]:
    path = None if folder is None else folder / "reservations.txt"
    if path is None or not path.is_file():
        return ()
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as cause:
        raise storage_error(cause, path) from cause
    return parse_reservations(text, tuple(conf.nodes))


def parse_reservations(text: str, every_node: tuple[str, ...] = ()) -> tuple[Reservation, ...]:
    """Read what ``scontrol show reservation -o`` prints.

    Examples
    --------
    >>> said = "ReservationName=r StartTime=2026-01-01T00:00:00 EndTime=2026-01-01T01:00:00 "
    >>> parse_reservations(said + "Nodes=n[1-2] Users=ann")[0].nodes
    ('n1', 'n2')
    """
    found = []
    for block in re.split(r"(?m)^(?=ReservationName=)", text):
        words = {key.lower(): value for key, value in re.findall(r"(\w+)=(\S*)", block)}
        if "reservationname" not in words or _is_unset(words.get("nodes")):
            continue
        nodes = words["nodes"]
        found.append(
            Reservation(
                words["reservationname"],
                instant(words["starttime"]),
                instant(words["endtime"]),
                every_node if nodes.upper() == "ALL" else tuple(node_names(nodes)),
            )
        )
    return tuple(found)


def instant(text: str) -> float:
    """Return the seconds of Slurm's times, as its accounting counts them here."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError as cause:
        raise FormatError(f"{text!r} is no time such as 2026-01-31T08:00:00.") from cause


def _table(folder: Path | None, name: str) -> pd.DataFrame | None:
    path = None if folder is None else folder / name
    if path is None or not path.is_file():
        return None
    try:
        found = pd.read_csv(path, sep="|", dtype=str, keep_default_na=False)
    except (OSError, ValueError) as cause:
        raise FormatError(f"{path}: is not what sacctmgr -P prints ({cause}).") from cause
    needed = "Name" if name.startswith("qos") else "Account"
    if needed not in found:
        raise FormatError(f"{path}: has no column {needed}. Write it with sacctmgr -P show ...")
    return found


def _tres(text: str | None, jobs: str | None = None) -> Limit:
    """Read a limit such as ``cpu=72,mem=500G,gres/gpu=8,node=4``."""
    amounts: dict[str, float] = {}
    for part in (text or "").split(","):
        name, equals, value = part.partition("=")
        if not equals or _is_unset(value):
            continue
        if name == "mem":
            amounts["memory_gib"] = units.parse_memory(
                value, g_is="binary", bare="MiB", where=f"limit {text}", error=FormatError
            )
        elif name in ("cpu", "node", "gres/gpu"):
            field_of = {"cpu": "cpu_cores", "node": "nodes", "gres/gpu": "gpus"}
            amounts[field_of[name]] = _number(value, inf)
    return Limit(**amounts, jobs=_number(jobs, inf))


def _weights(text: str) -> tuple[float, float, float]:
    """Read weights per core, GiB and GPU, such as ``CPU=1.0,Mem=0.25G,GRES/gpu=8``."""
    found = {}
    for part in text.split(","):
        name, _, value = part.strip().strip('"').partition("=")
        number = re.match(r"[\d.]+", value)
        if number:
            per_mib = name.lower() == "mem" and not value.upper().endswith(("G", "T"))
            found[name.lower()] = float(number[0]) * (_MIB_PER_GIB if per_mib else 1)
    return found.get("cpu", 0.0), found.get("mem", 0.0), found.get("gres/gpu", 0.0)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _is_unset(text: str | None) -> bool:
    return text is None or text.strip().upper() in _UNSET


def _number(text: str | None, default: float) -> float:
    if text is None or _is_unset(text):
        return default
    try:
        return float(text)
    except ValueError as cause:
        raise FormatError(f"Slurm's configuration: {text!r} is no number.") from cause


def _seconds(text: str | None, default: float) -> float:
    if text is None or _is_unset(text):
        return default
    return units.parse_duration(text, bare="min", where="Slurm's configuration", error=FormatError)


def check_names(rules: SiteRules) -> None:
    """Refuse a site that cannot be replayed as it is."""
    if rules.refused:
        raise InputError(
            f"this Slurm has rules that decide who may run where and are not modelled: "
            f"{listed(list(rules.refused))}. Take these lines out of a copy of slurm.conf to "
            "replay without them."
        )


#: fields of a limit in the order in which compiled code takes them
LIMIT_FIELDS = tuple(one.name for one in fields(Limit))
