"""The published sources: what they are, and where their data are looked for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from prophase.study.reproducing.related import beside

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
