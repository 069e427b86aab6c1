"""A watcher that has seen a change, shared by tests that do not touch it."""

from __future__ import annotations

import pandas as pd
import pytest
from tests.profile.drift.made_jobs import CHANGE, HISTORY, jobs_of_kinds

from prophase.profile.clusters.generators.generator_names import paper_generator
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.drift.watch_folder import WatchFolder
from prophase.profile.drift.watcher import Watcher

Watched = tuple[WatchFolder, Watcher, pd.DataFrame]


@pytest.fixture(scope="session")
def profiler() -> WorkloadProfiler:
    return WorkloadProfiler(paper_generator(HISTORY)).fit(jobs_of_kinds()[:HISTORY])


@pytest.fixture(scope="session")
def watched(tmp_path_factory: pytest.TempPathFactory, profiler: WorkloadProfiler) -> Watched:
    """A folder in which kind 1 came to use three times as much, watched in one go."""
    jobs = jobs_of_kinds(change=CHANGE, what="use")
    folder = WatchFolder(tmp_path_factory.mktemp("watch"), jobs[:HISTORY], "h")
    folder.start({"method": "recent-median"}, profiler)
    folder.take(jobs[HISTORY:])
    watcher = folder.load()
    folder.go_on(watcher)
    return folder, watcher, jobs
