"""Alibaba GPU cluster trace 2023 (openb): pods and nodes of a GPU-sharing Kubernetes cluster.

Source: Weng et al., "Beware of Fragmentation", USENIX ATC 2023. A pod that asks for one
GPU may ask for a share of it. Pods still there at the trace's end have no end time; a pod
that was deleted while running ended, but nobody knows how: its status is ``unknown``.
"""

from __future__ import annotations

import csv
from itertools import islice

import ibis

from prophase.errors import MissingFileError, ParameterError
from prophase.trace.dump import Dump, having, header_of
from prophase.trace.reader import Reader, Tables
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import Sheet

_POD = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_NODE = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_PODS, _NODES = "openb_pod_list_", "openb_node_list_"
#: node names end in their number
_NUMBER = r"-([0-9]+)$"
_MILLI = 1e-3
_MIB = 1 / 1024


def _read(dump: Dump) -> Tables:
    found = dump.find(_PODS + "*.csv", _NODES + "*.csv")
    pods = _chosen(dump, having(found, *_POD), _PODS, dump.option("pods", ""), "default")
    nodes = _chosen(dump, having(found, *_NODE), _NODES, _node_list(dump), "gpu_node")
    tables: Tables = {}
    if pods is not None:
        tables["jobs"] = _jobs(dump, _numbered(dump, pods))
    if nodes is not None:
        tables["nodes"] = _nodes(dump.sheet(nodes))
    if not tables:
        raise MissingFileError(
            f"{dump.root}: has neither the columns of a pod list ({', '.join(_POD)}) "
            f"nor of a node list ({', '.join(_NODE)}). Point to the trace's csv folder."
        )
    aside = [file for file in found if file not in (pods, nodes)]
    if aside:
        read = {file.origin for file in (pods, nodes) if file is not None}
        dump.leave_aside([file for file in aside if file.origin not in read])
        names = ", ".join(sorted(file.name for file in aside))
        dump.note(f"Left aside: {names}. Choose with --option pods=NAME, nodes=all.")
    return tables


def _node_list(dump: Dump) -> str:
    """Turn all and gpu into the names of the files."""
    wanted = dump.option("nodes", "")
    return {"all": "all_node", "gpu": "gpu_node"}.get(wanted, wanted)


def _chosen(
    dump: Dump, files: list[SourceFile], prefix: str, wanted: str, usual: str
) -> SourceFile | None:
    """Return the list the user wants, else the usual one, else the only one."""
    lists = {file.stem.removeprefix(prefix): file for file in files}
    if wanted and wanted not in lists:
        raise ParameterError.among(
            f"{dump.root}: there is no list {prefix}{wanted}.csv.",
            wanted,
            lists,
            heading="There are",
        )
    if wanted or usual in lists:
        return lists[wanted or usual]
    if len(lists) > 1:
        raise ParameterError(
            f"{dump.root}: holds {', '.join(lists)} and no {prefix}{usual}.csv. Choose one with "
            f"--option {'pods' if prefix == _PODS else 'nodes'}=NAME."
        )
    return next(iter(lists.values()), None)


def _numbered(dump: Dump, file: SourceFile) -> Sheet:
    """Open a pod list with the numbers of its rows, which published arrival orders refer to."""
    with file.path.open(newline="", encoding="utf-8", errors="replace") as handle:
        rows = (row for row in islice(csv.reader(handle), 1, None) if row)
        numbered = ([number, *row] for number, row in enumerate(rows))
        return dump.sheet_of_rows(file, ["row", *header_of(file)], numbered)


def _jobs(dump: Dump, sheet: Sheet) -> ibis.Table:
    gpus, milli = sheet.number("num_gpu"), sheet.number("gpu_milli")
    name = sheet.text("name")
    return sheet.select(
        job_id=name,
        instances=ibis.literal(1.0),
        request_cpu_cores=sheet.number("cpu_milli", factor=_MILLI),
        request_memory_gib=sheet.number("memory_mib", factor=_MIB),
        request_gpus=(gpus == 1).ifelse(milli * _MILLI, gpus),
        attr_num_gpu=gpus,
        attr_gpu_milli=milli,
        attr_row=sheet.text("row").try_cast("int64"),
        **(_types(sheet) if sheet.has("gpu_spec") else {}),
        **(_course(dump, sheet) if sheet.has("pod_phase", "deletion_time") else {}),
    )


def _types(sheet: Sheet) -> dict[str, ibis.Value]:
    """Return the GPU types that a pod may have; one may be listed twice."""
    spec = sheet.text("gpu_spec")
    return {"gpu_type": spec.re_split(r"[|]").unique().sort().join("|"), "attr_gpu_spec": spec}


def _course(dump: Dump, sheet: Sheet) -> dict[str, ibis.Value]:
    """Return what lists with all columns add: quality of service, times, outcome."""
    phase = sheet.text("pod_phase")
    start, gone = sheet.number("scheduled_time"), sheet.number("deletion_time")
    end_of_trace = _end_of_trace(dump, sheet)
    there = (gone == end_of_trace) if end_of_trace is not None else ibis.literal(False)
    status = ibis.cases(
        (phase == "Succeeded", "completed"),
        (phase == "Failed", "failed"),
        ((phase == "Pending") & there, "pending"),
        (phase == "Pending", "cancelled"),
        ((phase == "Running") & there, "running"),
        else_="unknown",
    )
    censored = status.isin(["running", "pending"])
    return {
        "submit_s": sheet.number("creation_time"),
        "start_s": start,
        "end_s": censored.ifelse(ibis.null("float64"), gone),
        "status": status,
        "attr_qos": sheet.text("qos"),
        "after_pod_phase": phase,
        "after_deleted_s": gone,
    }


def _end_of_trace(dump: Dump, sheet: Sheet) -> float | None:
    """Return the last deletion time if several unfinished pods share it: the trace's end."""
    gone = sheet.number("deletion_time")
    alive = sheet.table.select(gone=gone, phase=sheet.text("pod_phase"))
    alive = alive.filter(alive.phase.isin(["Running", "Pending"]))
    ends = alive.group_by("gone").agg(pods=alive.count())
    last = dump.engine.to_pandas(ends.order_by(ends.gone.desc()).limit(1))
    if last.empty or int(last["pods"].iloc[0]) < 2:
        return None
    end, pods = float(last["gone"].iloc[0]), int(last["pods"].iloc[0])
    dump.note(f"{pods:,} pods were still there when the trace ended ({end:,.0f} s): no end time.")
    return end


def _nodes(sheet: Sheet) -> ibis.Table:
    name = sheet.text("sn")
    return sheet.select(
        node_id=name,
        cpu_cores=sheet.number("cpu_milli", factor=_MILLI),
        memory_gib=sheet.number("memory_mib", factor=_MIB),
        gpus=sheet.number("gpu"),
        gpu_type=sheet.text("model"),
        attr_row=name.re_extract(_NUMBER, 1).try_cast("int64"),
    )


READER = Reader(
    name="openb",
    title="Alibaba GPU cluster trace 2023 (openb): pods and nodes",
    fills={
        "jobs": (
            "job_id submit_s start_s end_s duration_s wait_s status instances request_cpu_cores "
            "request_memory_gib request_gpus gpu_type attr_num_gpu attr_gpu_milli attr_row "
            "attr_gpu_spec attr_qos after_pod_phase after_deleted_s"
        ).split(),
        "nodes": "node_id cpu_cores memory_gib gpus gpu_type attr_row".split(),
    },
    cannot="users, measured use, time limits; multigpu lists have requests only, no times",
    read=_read,
    patterns=(_PODS + "*.csv", _NODES + "*.csv"),
    signature=_POD,
    also=(_NODE,),
    options={
        "pods": "pod list to read from a folder: default, gpushare40, multigpu20 ...",
        "nodes": "node list to read from a folder: gpu (as in the published experiments) or all",
    },
)
