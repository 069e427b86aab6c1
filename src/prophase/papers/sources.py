"""The published sources: tables, figures, our commands, and where their data are looked for."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prophase.papers.claims import VERDICTS, PublishedClaim, counts_of
from prophase.papers.stand_ins import beside

#: names the folder that holds real traces, one folder each
DATA_VARIABLE = "PROPHASE_DATA"


@dataclass(frozen=True)
class Source:
    """A paper, thesis or program whose numbers are run again.

    ``folders`` are those below the folder of real traces that have to be there, ``related`` those
    that answer in kind what the source's own cannot; ``fetch`` says how to get what is missing,
    ``stand_in`` what is used without it.
    """

    name: str
    title: str
    citation: str
    folders: tuple[str, ...] = ()
    stand_in: str = ""
    fetch: str = ""
    related: tuple[str, ...] = ()


SOURCES = {
    source.name: source
    for source in (
        Source(
            "polaris",
            "PolarisProfiler",
            'Morichetta et al., "PolarisProfiler: A Novel Metadata-Based Profiling Approach for '
            'Optimizing Resource Management in the Edge-Cloud Continuum", and its notebooks',
            ("polaris", "pai"),
            "a synthetic trace of the same shape",
            "prophase fetch polaris --out polaris",
        ),
        Source(
            "ai4dl",
            "AI4DL",
            'Berral et al., "AI4DL: Mining Behaviors of Deep Learning Workloads for Resource '
            'Management", HotCloud 2020, and its package',
            ("ai4dl",),
            "synthetic containers whose phases are known",
            "its package's samples and models, beside ai4dl_model.npz and ai4dl_golden_phases.json",
            ("genai2026", "surf-lisa"),
        ),
        Source(
            "thesis",
            "Load-aware scheduler thesis",
            '"Designing and implementing a load aware scheduler for machine learning jobs", '
            "master thesis IT 21 100",
            (),
            "a synthetic pipeline of the thesis' shape, for its data are not public",
        ),
        Source(
            "mlaas",
            "MLaaS in the Wild",
            'Weng et al., "MLaaS in the Wild", NSDI 2022, which the seed "MLaaS GPU Cluster '
            'Performance Modeling and Simulation" sets out from',
            ("pai",),
            "a synthetic trace like Alibaba's PAI",
            "prophase fetch pai2020 --out pai2020",
            ("openb", "gavel-throughput", "pai_sim"),
        ),
        Source(
            "openb",
            "Beware of Fragmentation",
            'Weng et al., "Beware of Fragmentation", USENIX ATC 2023, and the expected results of '
            "its simulator",
            ("openb",),
            "synthetic pods on a synthetic cluster",
            "prophase fetch openb --out openb",
        ),
        Source(
            "pai-sim",
            "Alibaba's PAI simulator",
            "The simulator published with the PAI trace (Weng et al., NSDI 2022)",
            ("pai_sim",),
            "synthetic jobs under the simulator's rules",
            "recorded runs of the simulator (results.json and the inputs it names), and its list "
            "of 100,000 jobs",
        ),
        Source(
            "hydra",
            "Hydra",
            'Yang et al., "Hydra: Deadline-Aware and Efficiency-Oriented Scheduling for Deep '
            'Learning Jobs on Heterogeneous GPUs", IEEE Transactions on Computers 2023, and the '
            "results in its repository",
            ("hydra",),
            "synthetic jobs on GPUs of three types",
            "its test cases 20_ddl.csv and 30_ddl.csv (dos-lab/Hydra, cases)",
        ),
        Source(
            "helios",
            "Helios",
            'Hu et al., "Characterization and Prediction of Deep Learning Workloads in '
            'Large-Scale GPU Datacenters", SC 2021: its schedulers on Philly, by its artifact',
            ("philly",),
            "synthetic jobs of three virtual clusters",
            "Microsoft's log of Philly (cluster_job_log of msr-fiddle/philly-traces)",
        ),
        Source(
            "tiresias",
            "Tiresias",
            'Gu et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", '
            "NSDI 2019, and the README of its simulator",
            ("philly",),
            "synthetic jobs of three virtual clusters",
            "its list of 480 jobs, which is not public",
        ),
    )
}


def data_of(name: str, given: Path | None = None) -> Path | None:
    """Return the folder of a source's real data, or None if a stand-in has to do.

    What was ``given`` wins; else the folder that PROPHASE_DATA names is looked into.

    Examples
    --------
    >>> data_of("thesis") is None
    True
    """
    if given is not None:
        return given
    root, folders = os.environ.get(DATA_VARIABLE), SOURCES[name].folders
    if not root or not folders or not all((Path(root) / one).is_dir() for one in folders):
        return None
    # a source in several folders is looked for below their common one
    return Path(root) if len(folders) > 1 else Path(root) / folders[0]


def data_used(name: str, data: Path | None) -> list[tuple[str, str]]:
    """Return what a source's numbers are taken from: name, and real or synthetic.

    Examples
    --------
    >>> data_used("openb", None)
    [('synthetic pods on a synthetic cluster', 'synthetic')]
    """
    source = SOURCES[name]
    if data is None:
        return [(source.stand_in, "synthetic")]
    used = [(", ".join(source.folders) or data.name, "real")]
    used += [(one, "real") for one in source.related if beside(data, one) is not None]
    if name == "mlaas":
        used.append((f"{source.stand_in}, for replays", "synthetic"))
    return used


#: said of drawings, which claim nothing that could be computed
DRAWING = "a drawing, no numbers"
#: Table 1 is not Table 12, nor is Table I Table II; but Fig. 5a is part of Fig. 5
_ENDS = r"(?![\dIVX-])"


@dataclass(frozen=True)
class Piece:
    """A table, a figure or a part of the text: what it shows, and what makes ours."""

    name: str
    shows: str
    command: str
    drawing: bool = False


def _pieces(text: str) -> tuple[Piece, ...]:
    """Read lines of name | what it shows | command; drawings have their name in brackets."""
    found = []
    for line in text.strip().splitlines():
        name, shows, command = (part.strip() for part in line.split("|"))
        typed = f"prophase {command}" if command != "-" else command
        found.append(Piece(name.strip("[]"), shows, typed, name.startswith("[")))
    return tuple(found)


CONTENTS: dict[str, tuple[Piece, ...]] = {
    "polaris": _pieces("""
    Section I | how many workloads recur | describe WS
    [Fig. 1] | the model: metadata in, use out | profile fit WS
    [Fig. 2] | generating and assigning profiles | profile classify WS
    [Fig. 3] | from profiles to provisioning | study WS
    Table I | sizes of the stratified sample | sample WS
    Hopkins | whether there are clusters at all | profile clusterability WS
    Table II | metadata taken as labels | profile clusterability WS
    Table III | the grid of clusterings | profile grid WS
    Table IV | statistics of the grid | profile grid WS
    Section III-B | the chosen clustering | profile fit WS
    Fig. 4 | use within profiles | profile plot WS
    Section III-C | the classifier, its size, what decides | profile explain WS
    Table V | scores per profile | profile compare WS
    Fig. 5 | errors of predicted durations | evaluate WS
    Section III-D | predicting durations by profile means | evaluate WS
    """),
    "ai4dl": _pieces("""
    phases | notebook 1, labels of the samples | reproduce ai4dl --figures drawn
    walk-through | notebooks 1 and 2 | reproduce ai4dl --figures drawn
    reconstruction error | what training reaches | phase fit WS
    README | the abstract's sentences | autoscale compare SERIES --satisfy 95%
    """),
    "thesis": _pieces("""
    [Figure 1] | modules of a machine learning system, after others | -
    [Figure 2] | jobs, runs, tasks, task instances | describe WS
    [Figure 3] | the profiling module | runs profile
    [Figure 4] | steps of profiling a run by hand | runs demo
    [Figure 5] | components of the automation | runs work
    Table 1 | fields of the run table | runs status
    [Figure 6] | states of a run, first version: see Figure 8 | runs show
    [Figure 7] | registration of runs | runs register
    Table 2 | states of a run | runs status
    Figure 8 | moves between states | runs tick
    Figure 9 | branches of the scheduler | runs work
    [Figure 10] | modules of the model enabling system | reproduce thesis --figures thesis
    [Figure 11] | preprocessing in two stages | assess WS
    Table 3 | the data | synth pipeline
    Table 4 | static allocations | assess WS
    Table 5 | utilisation | assess WS
    Figure 12 | memory of 27 tasks | assess WS
    Figure 13 | three clusters of tasks | assess WS
    [Figure 14] | steps of building a model | reproduce thesis --figures thesis
    Table 6 | binnings and what they could save | reproduce thesis --figures thesis
    Figure 15 | accuracy against u_score | reproduce thesis --figures thesis
    Table 7 | models of heavy task 1 | reproduce thesis --figures thesis
    Table 8 | models of heavy task 2 | reproduce thesis --figures thesis
    Figure 16 | confusion by number of bins | reproduce thesis --figures thesis
    Table 9 | over-sampling for SVM | reproduce thesis --figures thesis
    Table 10 | over-sampling for XGBoost | reproduce thesis --figures thesis
    Table 11 | estimated improvements | reproduce thesis --figures thesis
    Unseen scenarios | not in the thesis: scenarios kept apart | reproduce thesis
    Table 12 | improvements per task | size recommend WS
    Table 13 | improvement of a run | size recommend WS
    Figure 17 | lifting and retry | retry --memory 10 -- COMMAND
    """),
    "mlaas": _pieces("""
    Scale | size of trace and cluster | findings WS --only scale
    Gang-scheduled instances | instances that start together | findings WS --only gangs
    Waits over half of completion time | who mostly waits | findings WS --only mostly_waiting
    Waits with and without GPU sharing | waits by share | findings WS --only sharing_waits
    Waits by type of GPU | waits for strong and weak GPUs | findings WS --only waits_by_type
    Large requests | upper end of requests | findings WS --only large_requests
    GPU request and use | half a GPU asked, little used | findings WS --only median_gpu
    Requests above use | who asks for too much | findings WS --only over_asked
    GPUs saved by sharing | what sharing spares | findings WS --only sharing_saves
    Contention on shared GPUs | what sharing costs | findings WS --only sharing_costs
    Recurring jobs | repeats, and predicting by them | findings WS --only recurring
    CPU per GPU | offered and asked | findings WS --only cpu_per_gpu
    Allocation by kind of node | weak full, strong empty | findings WS --only allocation
    CPU as the bottleneck | slow beside busy CPUs | findings WS --only cpu_bottleneck
    Shortest job first with predicted run times | what predictions save | schedule-study WS
    Reserving and packing before load balancing | keeping V100s free | schedule-study WS
    """),
    "openb": _pieces("""
    default list | allocation and fragmentation as pods arrive | reproduce openb
    ranking | which policy fills most | reproduce openb
    other lists | sharing, multi-GPU, typed and CPU-only mixes | reproduce openb --lists all
    """),
    "pai-sim": _pieces("""
    README | five orders on 20,000 jobs | simulate LIST.csv --source pai-sim --preset pai
    recorded runs | the simulator itself on jobs of Philly | reproduce pai-sim --data pai_sim
    """),
    "hydra": _pieces("""
    light workload | three schedulers on 45 GPUs of three types | simulate WS --speeds own
    heavy workload | the same with fewer A100 and more deadlines | simulate WS --speeds own
    """),
    "helios": _pieces("""
    input | the jobs that were replayed | describe WS
    Philly | means of four schedulers | simulate WS --order qssf --queue strict
    virtual clusters | where predicted service first pays | simulate WS --order qssf --queue strict
    """),
    "tiresias": _pieces("""
    README | what least attained service gains and loses | simulate WS --order tiresias --preempt on
    """),
}  # fmt: skip


#: which of their parts come out depends on the data at hand
_PARTLY = ("ai4dl", "openb", "pai-sim", "hydra", "helios", "tiresias")


def contents_of(name: str, claims: Sequence[PublishedClaim]) -> list[dict[str, str]]:
    """Return a row per table and figure of a source: what came of it, and our command.

    Examples
    --------
    >>> claim = PublishedClaim("Table 2", "states", "13", "13", "reproduced")
    >>> rows = contents_of("thesis", [claim])
    >>> [row["verdict"] for row in rows if row["where"] in ("Figure 1", "Table 2")]
    ['a drawing, no numbers', '1 reproduced']
    """
    belonging: dict[str, list[PublishedClaim]] = {piece.name: [] for piece in CONTENTS[name]}
    for claim in claims:
        for piece in pieces_of(name, claim):
            belonging[piece].append(claim)
    return [
        {
            "where": piece.name,
            "shows": piece.shows,
            "verdict": DRAWING if piece.drawing else _summed(belonging[piece.name]),
            "command": piece.command,
        }
        for piece in CONTENTS[name]
        if piece.drawing or belonging[piece.name] or name not in _PARTLY
    ]


def pieces_of(name: str, claim: PublishedClaim) -> list[str]:
    """Return the tables and figures that a claim is about.

    Examples
    --------
    >>> pieces_of("thesis", PublishedClaim("Tables 4, 6 and 12", "memory", "", "", "contradicted"))
    ['Table 4', 'Table 6', 'Table 12']
    """
    names = [piece.name for piece in CONTENTS[name]]
    if several := re.match(r"Tables ([\d, and]+)", claim.item):
        return [f"Table {number}" for number in re.findall(r"\d+", several.group(1))]
    fitting = [one for one in names if re.match(rf"{re.escape(one)}{_ENDS}", claim.item)]
    if fitting:
        return fitting[:1]
    return [one for one in names if one in ("other lists", "recorded runs")][:1]


def _summed(claims: Sequence[PublishedClaim]) -> str:
    counts = counts_of(claims)
    return ", ".join(f"{counts[word]} {word}" for word in VERDICTS if word in counts) or "-"
