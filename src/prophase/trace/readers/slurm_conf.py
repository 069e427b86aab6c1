"""The nodes of a Slurm cluster, as ``slurm.conf`` and ``topology.conf`` describe them.

What ``scontrol show node`` prints does as well, in several lines per node or (``-o``) in one.

One node is one row; ``attr_switch`` names its leaf switch (``attr_switch_rank`` counts the
switches in the order of the file), ``attr_partitions`` the partitions it belongs to,
``attr_weight`` its weight. Settings that are no nodes stay text: ``settings``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from prophase.errors import FormatError
from prophase.trace.source_files import SourceFile, first_lines

if TYPE_CHECKING:
    # a replay reads the rules of a site and needs no table engine for it
    import ibis

    from prophase.trace.dump import Dump

_MIB_PER_GIB = 1024
_PAIR = re.compile(r"(\w+)\s*=+\s*(\"[^\"]*\"|\S+)")
_RANGE = re.compile(r"(.*?)\[([\d,-]+)\](.*)")
_GPU = re.compile(r"(?:^|,)gpu(?::([^:,(]*[A-Za-z][^:,(]*))?(?::(\d+))?")
#: words that open a line about things, not a setting of the whole cluster
_THINGS = ("nodename", "partitionname", "switchname", "frontendname", "downnodes", "nodeset")
_FEATURES = ("features", "feature", "availablefeatures")
#: only scontrol counts the CPUs of a node in these words
_PRINTED = re.compile(r"\bCPUTot=\d")
_INCLUDE = re.compile(r"(?i)\s*include\s+(\S+)")
_COLUMNS = (
    "node_id cpu_cores memory_gib gpus gpu_type features attr_switch attr_switch_rank "
    "attr_partitions attr_weight"
).split()


@dataclass
class SlurmConf:
    """What the configuration files say: settings, nodes, partitions and leaf switches."""

    #: name in lower case -> text
    settings: dict[str, str] = field(default_factory=dict)
    #: node -> its words, in lower case
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    partitions: dict[str, dict[str, str]] = field(default_factory=dict)
    #: leaf switch -> its nodes
    switches: dict[str, list[str]] = field(default_factory=dict)
    #: name of a set of nodes -> its nodes
    nodesets: dict[str, list[str]] = field(default_factory=dict)

    def memory_gib_per_cpu(self, partition: str) -> float | None:
        """Return what a job gets per CPU if it names no memory, if that is configured."""
        own = self.partitions.get(partition, {}).get("defmempercpu")
        text = own or self.settings.get("defmempercpu")
        return float(text) / _MIB_PER_GIB if text else None


def describes_nodes(path: Path) -> bool:
    """Say whether a file is a configuration, or what ``scontrol show node`` prints."""
    return path.suffix == ".conf" or first_lines(path, 1)[0].startswith("NodeName=")


def read_conf(paths: Sequence[Path]) -> SlurmConf:
    """Read configuration files; later lines of a node or partition add to earlier ones.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "slurm.conf")
    ...     _ = file.write_text("NodeName=n[1-2] CPUs=12\\nPartitionName=all Nodes=ALL\\n")
    ...     sorted(read_conf([file]).nodes)
    ['n1', 'n2']
    """
    conf = SlurmConf()
    defaults: dict[str, dict[str, str]] = {}
    sets: list[tuple[str, dict[str, str], str]] = []
    for path in with_included(paths):
        for number, words in _lines(path):
            kind, name = next(iter(words.items()))
            if kind not in _THINGS:
                conf.settings.update(words)
            elif kind in ("nodename", "partitionname") and name.upper() == "DEFAULT":
                defaults.setdefault(kind, {}).update(words)
            elif kind == "nodename":
                for node in node_names(name, f"{path} line {number}"):
                    own = {**defaults.get(kind, {}), **words, "nodename": node}
                    conf.nodes.setdefault(node, {}).update(own)
            elif kind == "partitionname":
                own = {**defaults.get(kind, {}), **words}
                conf.partitions.setdefault(name, {}).update(own)
            elif kind == "switchname" and "nodes" in words:
                conf.switches[name] = node_names(words["nodes"], f"{path} line {number}")
            elif kind == "nodeset":
                sets.append((name, words, f"{path} line {number}"))
    for name, words, where in sets:
        conf.nodesets[name] = _node_set(conf, words, where)
    return conf


def _node_set(conf: SlurmConf, words: dict[str, str], where: str) -> list[str]:
    """Return the nodes of a set: named, or all that have a feature."""
    wanted = words.get("feature")
    named = node_names(words["nodes"], where) if "nodes" in words else []
    featured = [
        node
        for node, own in conf.nodes.items()
        if wanted in next((own[key] for key in _FEATURES if key in own), "").split(",")
    ]
    return list(dict.fromkeys(named + featured))


def with_included(paths: Sequence[Path], inside: tuple[Path, ...] = ()) -> list[Path]:
    """Return configuration files and those that they include, in the order they are read in.

    An included file that is not there is looked for beside the one that includes it: a copy of
    ``/etc/slurm`` keeps the old paths.
    """
    found: list[Path] = []
    for path in paths:
        if path in found:
            continue
        found.append(path)
        for number, line in enumerate(_text(path).splitlines(), 1):
            match = _INCLUDE.match(line)
            if match:
                other = _included(path, number, match[1])
                if other in (*inside, path):
                    raise FormatError(
                        f"{path} line {number}: includes {match[1]}, which includes it in turn."
                    )
                found += with_included([other], (*inside, path))
    return list(dict.fromkeys(found))


def _included(path: Path, number: int, name: str) -> Path:
    if "%c" in name:
        cluster = re.search(r"(?im)^\s*ClusterName\s*=\s*(\S+)", _text(path))
        name = name.replace("%c", cluster[1].lower() if cluster else "")
    beside = path.parent / Path(name).name
    for tried in (path.parent / name, beside):
        if tried.is_file():
            return tried
    raise FormatError(
        f"{path} line {number}: includes {name}, which is not there. Put it beside {path.name}."
    )


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def node_names(text: str, where: str = "node list") -> list[str]:
    """Return the names of a list such as ``n[01-03],g1``.

    Examples
    --------
    >>> node_names("n[01-03,7],g1")
    ['n01', 'n02', 'n03', 'n7', 'g1']
    """
    names: list[str] = []
    for part in re.findall(r"(?:\[[^\]]*\]|[^,])+", text):
        match = _RANGE.fullmatch(part)
        if not match:
            if "[" in part or "]" in part:
                raise FormatError(
                    f"{where}: the node list {text!r} is not understood. Write n[01-16,20]."
                )
            names.append(part)
            continue
        before, ranges, after = match.groups()
        for one in ranges.split(","):
            low, _, high = one.partition("-")
            for value in range(int(low), int(high or low) + 1):
                names += node_names(f"{before}{value:0{len(low)}d}{after}", where)
    return names


def nodes_table(dump: Dump, found: Sequence[SourceFile], conf: SlurmConf) -> ibis.Table:
    """Return the node table; nodes are in the order of their names, as Slurm keeps them."""
    if not conf.nodes:
        raise FormatError(f"{found[0].origin}: names no nodes (NodeName=... CPUs=...).")
    switch_of = {node: switch for switch, nodes in conf.switches.items() for node in nodes}
    try:
        rows = [
            _node(conf, name, switch_of.get(name, "")) for name in sorted(conf.nodes, key=_in_order)
        ]
    except ValueError as cause:
        raise FormatError(
            f"{found[0].origin}: a number of CPUs, sockets or MB is none: {cause}."
        ) from cause
    sheet = dump.sheet_of_rows(found[0], _COLUMNS, rows)
    numbers = {"cpu_cores", "memory_gib", "gpus", "attr_switch_rank", "attr_weight"}
    return sheet.select(
        **{name: sheet.number(name) if name in numbers else sheet.text(name) for name in _COLUMNS}
    )


def _in_order(name: str) -> list[tuple[int, str]]:
    """Return what sorts node names as Slurm does: n2 stands before n10."""
    return [(int(word), "") if word.isdigit() else (-1, word) for word in re.split(r"(\d+)", name)]


def _node(conf: SlurmConf, name: str, switch: str) -> list[object]:
    words = conf.nodes[name]
    gpu = _GPU.search(words.get("gres", ""))
    features = next((words[key] for key in _FEATURES if key in words), "")
    homes = (
        words["partitions"].split(",")
        if "partitions" in words
        else [
            partition
            for partition, one in conf.partitions.items()
            if one.get("nodes", "").upper() == "ALL" or name in node_names(one.get("nodes", ""))
        ]
    )
    return [
        name,
        _cpus(words),
        float(words["realmemory"]) / _MIB_PER_GIB if "realmemory" in words else "",
        int(gpu[2] or 1) if gpu else 0,
        (gpu[1] or "GPU") if gpu else "",
        "|".join([*filter(None, features.split(",")), *_gpu_parts(words.get("gres", ""))]),
        switch,
        list(conf.switches).index(switch) if switch else "",
        "|".join(homes),
        words.get("weight", 1),
    ]


def _gpu_parts(gres: str) -> list[str]:
    """Return how a node shares its GPUs, as features: MIG profiles by their name, shards, MPS.

    Examples
    --------
    >>> _gpu_parts("gpu:a100:2,gpu:a100_1g.5gb:7(S:0),shard:16")
    ['gres=a100_1g.5gb', 'shard-8']
    """
    found, gpus, shared = [], 0, {}
    for part in gres.split(","):
        words = re.sub(r"\(.*?\)", "", part).strip().split(":")
        count = int(words[-1]) if words[-1].isdigit() else 1
        if words[0] == "gpu" and len(words) > 1 and re.search(r"[1-7]g\.\d+gb", words[1]):
            found.append(f"gres={words[1]}")
        elif words[0] == "gpu":
            gpus += count
        elif words[0] in ("shard", "mps"):
            shared[words[0]] = count
    if gpus and "shard" in shared:
        found.append(f"shard-{shared['shard'] // gpus}")
    return found + (["mps"] if "mps" in shared else [])


def _cpus(words: dict[str, str]) -> int:
    stated = next((words[key] for key in ("cpus", "procs", "cputot") if key in words), None)
    if stated is not None:
        return int(stated)
    sockets = int(words.get("sockets", 0)) or (
        int(words.get("boards", 1)) * int(words.get("socketsperboard", 1))
    )
    return sockets * int(words.get("corespersocket", 1)) * int(words.get("threadspercore", 1))


def _lines(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the words of each line, names in lower case; comments and broken lines mended."""
    text = _text(path)
    if _PRINTED.search(text):
        yield from _printed(text)
        return
    # a line that ends in a backslash goes on in the next; its number is that of its last part
    waiting = ""
    for number, line in enumerate(text.splitlines(), 1):
        bare = waiting + line.partition("#")[0].rstrip()
        if bare.endswith("\\"):
            waiting = bare[:-1] + " "
            continue
        waiting = ""
        if _INCLUDE.match(bare):
            continue
        words = {key.lower(): value.strip('"') for key, value in _PAIR.findall(bare)}
        if words:
            # a setting may hold further "=" (SchedulerParameters=bf_window=60): keep it whole
            first, _, rest = bare.strip().partition("=")
            key = first.strip().lower()
            yield number, words if key in _THINGS else {key: rest.strip("= ")}


def _printed(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the words of each node that scontrol printed; there is no comment, but a # in OS."""
    node: dict[str, str] = {}
    begins = 1
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("NodeName="):
            if node:
                yield begins, node
            node, begins = {}, number
        found = {key.lower(): value.strip('"') for key, value in _PAIR.findall(line)}
        node |= {key: value for key, value in found.items() if value != "(null)"}
    if node:
        yield begins, node
