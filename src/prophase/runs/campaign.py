"""A campaign: one folder, one database, one pipeline, many runs; and the built-in example."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Self

from prophase.errors import ParameterError, WorkspaceError, storage_errors
from prophase.runs._yaml_file import YamlFile
from prophase.runs.code_versions import keep_version, named_version
from prophase.runs.executor import Assignment, Executor, make_executor
from prophase.runs.pipeline import Pipeline, pipeline_of, read_pipeline
from prophase.runs.recommended_ladders import (
    of_pipeline,
    read_recommended_codes,
    read_recommended_ladders,
)
from prophase.runs.scenarios import read_scenarios
from prophase.runs.store.database import Database
from prophase.runs.store.leases import WorkerList
from prophase.runs.store.records import NewRun, Run
from prophase.runs.store.run_store import RunStore
from prophase.runs.store.settings import LiveSettings, check_assignment
from prophase.sql_database import PATIENCE_S

_FILE = "campaign.toml"
_OWN_FILE = "sqlite:///runs.db"


class Campaign:
    """The runs of a pipeline and all that belongs to them.

    Parameters
    ----------
    folder : path
        Made by :meth:`create`. Workers on several machines need it at the same place, or a
        shared database and an executor that needs no common files.
    patience_s : float, default=60
        How long to wait for a database that does not answer.
    """

    def __init__(self, folder: Path | str, *, patience_s: float = PATIENCE_S) -> None:
        self.folder = Path(folder).resolve()
        try:
            text = (self.folder / _FILE).read_text(encoding="utf-8")
            settings = tomllib.loads(text)
        except FileNotFoundError as cause:
            raise WorkspaceError(
                f"{folder}: is not a campaign (it has no {_FILE}). "
                "Make one with: prophase runs init pipeline.yaml"
            ) from cause
        except tomllib.TOMLDecodeError as cause:
            raise WorkspaceError(f"{self.folder / _FILE}: is not valid TOML: {cause}.") from cause
        self.pipeline_file = Path(settings["pipeline"])
        self._named_url = str(settings["database"])
        url = os.environ.get("PROPHASE_DATABASE", self._named_url)
        self.database = Database(_full(url, self.folder), patience_s=patience_s)
        self.store = RunStore(self.database)
        self.settings = LiveSettings(self.database)
        self.workers = WorkerList(self.database)
        self._pipelines: dict[str, tuple[Pipeline, str]] = {}

    @classmethod
    def create(
        cls, folder: Path | str, pipeline_file: Path | str, *, database: str | None = None
    ) -> Self:
        """Make a campaign, or bring the tables of one that is there up to date.

        Parameters
        ----------
        database : str, optional
            Address of the database; by default a SQLite file in the folder.
        """
        read_pipeline(pipeline_file)
        folder = Path(folder)
        source = Path(pipeline_file).resolve()
        kept = folder / _FILE
        if kept.exists():
            before = cls.open(folder)
            if before.pipeline_file != source:
                raise WorkspaceError(
                    f"{folder}: is already a campaign, of {before.pipeline_file}. "
                    "Choose another folder with --campaign."
                )
            if database is not None and before._named_url != database:
                raise WorkspaceError(
                    f"{folder}: is already a campaign, whose runs are in "
                    f"{before.database.shown_url}. Choose another folder with --campaign, or "
                    f"change the address in {kept}."
                )
            return before
        named = {"pipeline": str(source), "database": database or _OWN_FILE}
        lines = [f"{key} = {json.dumps(value)}" for key, value in named.items()]
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            kept.write_text("\n# or set PROPHASE_DATABASE\n".join(lines) + "\n", encoding="utf-8")
        try:
            return cls.open(folder)
        except BaseException:
            # it becomes a campaign only when its database has answered
            kept.unlink()
            raise

    @classmethod
    def open(cls, folder: Path | str, *, patience_s: float = PATIENCE_S) -> Self:
        """Open a campaign and bring its tables up to date."""
        opened = cls(folder, patience_s=patience_s)
        opened.database.migrate()
        return opened

    def register(
        self, scenario_file: Path | str, dates: Sequence[str] = (), *, actor: str = "register"
    ) -> tuple[int, int]:
        """Register all scenarios of a file at their dates; return (added, there already)."""
        pipeline = read_pipeline(self.pipeline_file)
        scenarios = read_scenarios(YamlFile.read(scenario_file), pipeline, tuple(dates))
        version, code = keep_version(
            pipeline.code, pipeline.text, self.pipeline_file.parent, self.folder / "versions"
        )
        self.store.save_version(version, pipeline=pipeline.text, code=code)
        self.settings.set_version(named_version(version), actor=actor)
        wanted = [
            NewRun(scenario.name, scenario.attributes, version, day)
            for scenario in scenarios
            for day in scenario.dates
        ]
        if pipeline.recommendations is not None:
            self._take_advice_of(pipeline, actor)
        added = self.store.register(wanted, actor=actor)
        return added, len(wanted) - added

    def assignment(self, run: Run) -> Assignment:
        """Return all that an executor needs to know of a run."""
        if run.version not in self._pipelines:
            text, code = self.store.version(run.version)
            self._pipelines[run.version] = (pipeline_of(YamlFile(text, "pipeline")), code)
        pipeline, code = self._pipelines[run.version]
        shared = {one.name for one in fields(Assignment)} & {one.name for one in fields(run)}
        return Assignment(
            **{name: getattr(run, name) for name in shared},
            pipeline=pipeline,
            code=Path(code) if code else None,
            campaign=self.key,
        )

    @cached_property
    def key(self) -> str:
        """A short name that no other campaign has."""
        return self.settings.campaign_key()

    @cached_property
    def executor(self) -> Executor:
        """The executor that the pipeline names."""
        return make_executor(read_pipeline(self.pipeline_file).executor, self.folder)

    def set(self, assignment: str, *, actor: str = "set") -> tuple[str, float | str]:
        """Change a live setting; a task it names must be one of the pipeline.

        ``recommendations=FILE`` takes the requests over that a sizer recommends; see
        :func:`prophase.runs.recommended_ladders.read_recommended_ladders`.
        """
        key, _, text = (part.strip() for part in assignment.partition("="))
        if key == "advice" and text:
            return key, self.set_advice(None if text == "default" else text, actor=actor)
        if key.startswith("task."):
            self._check_task(key, read_pipeline(self.pipeline_file).tasks)
        return self.settings.set(assignment, actor=actor)

    def set_all(self, assignments: Sequence[str], *, actor: str = "set") -> None:
        """Change several live settings; a mistake in one of them changes nothing."""
        tasks = read_pipeline(self.pipeline_file).tasks
        for assignment in assignments:
            self._check_task(assignment.partition("=")[0].strip(), tasks)
            check_assignment(assignment)
        for assignment in assignments:
            self.settings.set(assignment, actor=actor)

    @staticmethod
    def _check_task(key: str, tasks: Mapping[str, object]) -> None:
        task = key.removeprefix("task.").rpartition(".")[0]
        if key.startswith("task.") and task not in tasks:
            raise ParameterError.among(f"{key}: no such task.", task, tasks)

    def set_advice(self, path: Path | str | None, *, actor: str = "set") -> str:
        """Take over what a sizer recommends; return how many tasks it is about."""
        if path is None:
            self.settings.set_recommended("", {}, actor=actor)
            return "none"
        tasks = list(read_pipeline(self.pipeline_file).tasks)
        ladders = of_pipeline(read_recommended_ladders(path), tasks, str(path))
        codes = read_recommended_codes(path)
        self.settings.set_recommended(str(Path(path).resolve()), ladders, codes, actor=actor)
        stale = len(ladders) - len(self.settings.recommended()[1])
        told = f"; {stale} of another version of the code wait for it" if stale else ""
        return f"{path}: {len(ladders) - stale} of {len(tasks)} tasks{told}"

    def _take_advice_of(self, pipeline: Pipeline, actor: str) -> None:
        """Reread the recommendations that the pipeline names, unless others have been set."""
        path = self.pipeline_file.parent / str(pipeline.recommendations)
        if self.settings.recommended()[0] in ("", str(path.resolve())):
            self.set_advice(path, actor=actor)

    def close(self) -> None:
        """Give back the connections."""
        self.database.close()


def _full(url: str, folder: Path) -> str:
    """Return the address of a database; the campaign's own file is in its folder."""
    return f"sqlite:///{folder / 'runs.db'}" if url == _OWN_FILE else url


#: quicker than in production, where a run takes an hour
_QUICK = ("deploy", "check_deploy", "execute", "check_execute", "profile", "check_profile")


def example_campaign(folder: Path, *, quick: bool = False) -> Campaign:
    """Copy the example below a folder, make a campaign of it and register its runs.

    Parameters
    ----------
    quick : bool, default=False
        Register the heavy scenario alone, at one date.
    """
    source = folder / "example"
    with storage_errors(source):
        if not source.exists():
            ignored = shutil.ignore_patterns("__init__.py", "__pycache__")
            shutil.copytree(Path(__file__).parent / "example", source, ignore=ignored)
    campaign = Campaign.create(folder / "campaign", source / "pipeline.yaml")
    scenarios = "heavy.yaml" if quick else "scenarios.yaml"
    campaign.register(source / scenarios, actor="demo")
    for branch in _QUICK:
        campaign.set(f"{branch}.interval_s=0.2", actor="demo")
    return campaign
