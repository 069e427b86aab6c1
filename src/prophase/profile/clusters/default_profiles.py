"""The profiles that a report and the models of a workspace share, if nobody asks for others."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from prophase.errors import ModelFileError
from prophase.profile.clusters.ended_jobs import ended_jobs
from prophase.profile.clusters.generators.density import Hdbscan
from prophase.profile.clusters.generators.generator_names import default_generator
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.trace.describe.column_arrays import has_values

#: jobs that they are learned from: on synthetic and real traces more change their number little
_SAMPLED = 3_000
#: a kind that a reader is shown stands for one job in a hundred, or more
_LEAST_SHARE = 0.01


def default_profiles(jobs: pd.DataFrame, *, random_state: int = 0) -> WorkloadProfiler:
    """Learn as many profiles as a reader can use: each stands for 1 % of the jobs or more.

    They are learned from a sample of the jobs that completed, of those that ended if none did.
    ``WorkloadProfiler().fit(jobs)`` tells smaller kinds apart, from all jobs.

    Examples
    --------
    >>> from prophase.trace.synth.pai import make_pai
    >>> jobs = make_pai(400, days=1.0, random_state=0).tables["jobs"]
    >>> default_profiles(jobs).statistics_["n_jobs"] <= len(jobs)
    True
    """
    ended = ended_jobs(jobs).jobs
    completed = ended[ended["status"] == "completed"] if has_values(ended, "status") else ended
    done = completed if len(completed) else ended
    sample = done.sample(min(len(done), _SAMPLED), random_state=random_state)
    usual = default_generator(len(sample))
    least = max(usual.min_cluster_size, round(_LEAST_SHARE * len(sample)))
    generator = Hdbscan(min_cluster_size=least, min_samples=usual.min_samples)
    return WorkloadProfiler(generator, random_state=random_state).fit(sample)


def kept_profiles(path: Path, jobs: pd.DataFrame) -> WorkloadProfiler | None:
    """Return the profiles of a file if they were learned from these jobs, or some of them."""
    if not path.is_file():
        return None
    try:
        found = WorkloadProfiler.load(path)
    except ModelFileError:
        # damaged, or of another version: who asks for the file itself gets the error
        return None
    return found if found.learnt_from(jobs) else None
