"""Which jobs profiles are learned from, and the profiles that reports and models share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from prophase.errors import InputError, MissingColumnError, ModelFileError, not_among
from prophase.plural import counted
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.trace.describe.column_arrays import has_values


@dataclass(frozen=True)
class Ended:
    """The jobs that are left, and one sentence per reason for leaving others out."""

    jobs: pd.DataFrame
    notes: tuple[str, ...]


def ended_jobs(jobs: pd.DataFrame, statuses: Sequence[str] = ()) -> Ended:
    """Return the jobs that have ended; what a running job uses is not known yet.

    Parameters
    ----------
    statuses : sequence of str
        Keep only jobs with one of these, such as ``completed``. All that ended if empty.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "duration_s": [60.0, None]})
    >>> ended_jobs(jobs).notes
    ('1 job without a duration is left out: it has not ended.',)
    """
    kept, notes = jobs, []
    if "duration_s" in jobs and jobs["duration_s"].notna().any():
        kept = jobs[jobs["duration_s"].notna()]
        if open_ended := len(jobs) - len(kept):
            are = "is left out: it has" if open_ended == 1 else "are left out: they have"
            notes.append(f"{counted(open_ended, 'job')} without a duration {are} not ended.")
    if statuses:
        before = len(kept)
        kept = _with_status(kept, statuses)
        if other := before - len(kept):
            notes.append(f"{counted(other, 'job')} did not end as {' or '.join(statuses)}.")
    if kept.empty:
        raise InputError(
            "no job is left to learn profiles from. The table has "
            f"{counted(len(jobs), 'job')}; import a longer history, or ask for another status."
        )
    return Ended(kept.reset_index(drop=True), tuple(notes))


def _with_status(jobs: pd.DataFrame, statuses: Sequence[str]) -> pd.DataFrame:
    if "status" not in jobs or jobs["status"].isna().all():
        raise MissingColumnError("the job table does not say how jobs ended; leave --status out.")
    known = sorted(map(str, jobs["status"].dropna().unique()))
    for status in statuses:
        if status not in known:
            said = f"no job ended with the status {status!r}."
            raise InputError(not_among(said, status, known, heading="There are"))
    return jobs[jobs["status"].isin(list(statuses))]


#: jobs that they are learnt from at most: more change neither the groups nor their names
_SAMPLED = 20_000


def default_profiles(jobs: pd.DataFrame, *, random_state: int = 0) -> WorkloadProfiler:
    """Learn the profiles that reports show, from the jobs that completed, or all that ended.

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
    return WorkloadProfiler(random_state=random_state).fit(sample)


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
