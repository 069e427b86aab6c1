"""Every number on a page is one that the matching command answers, or that the tables hold."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient
from tests.serve.pages.conftest import make_campaign

import prophase as ph
from prophase.json_types import JsonObject
from prophase.serve.app import create_app
from prophase.serve.pages import page_results
from prophase.serve.settings import ServiceSettings
from prophase.trace.describe.description import describe
from prophase.trace.prices import Prices
from prophase.trace.trace_tables import open_trace
from prophase.trace.workspace import Workspace

_BROWSER = {"accept": "text/html"}
_PATIENCE_S = 300.0
#: what the data of a chart holds beside its numbers: colours, ends of axes, places, marks
_LAYOUT = {"colour", "most", "least", "height", "x", "of", "shares", "area", "levels", "strip",
           "mark"}  # fmt: skip
_WITHOUT_NUMBERS = ("/reports", "/runs/1", "/queue")


@dataclass(frozen=True)
class Shown:
    """A page, and the commands that answer the same."""

    page: str
    commands: Sequence[str]
    #: further numbers that the page shows as they are in the tables
    tables: Callable[[Path], object] = lambda workspace: ()


def _usage(workspace: Path) -> object:
    return Workspace(workspace).read("usage").select_dtypes("number").to_numpy().tolist()


def _context(workspace: Path) -> object:
    return page_results.profile_context(workspace, {}, lambda step, percent: None)


def _reasons(workspace: Path) -> object:
    return page_results.profile_reasons(workspace, {"profile": "0"}, lambda step, percent: None)


def _profile_sizes(workspace: Path) -> object:
    return [len(Workspace(workspace).read("jobs")), _context(workspace)]


def _jobs(workspace: Path) -> object:
    jobs = Workspace(workspace).read("jobs")
    return [len(jobs), _cost(jobs).tolist(), jobs.select_dtypes("number").to_numpy().tolist()]


def _prices() -> dict[str, float]:
    """Return what an hour of each request costs, by the example that a page takes."""
    example = Prices.example()
    names = {"request_gpus": "gpu", "request_cpu_cores": "cpu", "request_memory_gib": "memory"}
    return {column: float(example.of_hour(name) or 0.0) for column, name in names.items()}


def _cost(jobs: pd.DataFrame) -> pd.Series:
    """Return what the requests of each job cost; more than one GPU is given in whole numbers."""
    hours = jobs["duration_s"] / 3600 * jobs["instances"].fillna(1)
    cost = 0.0 * hours
    for column, price in _prices().items():
        if column in jobs:
            asked = jobs[column].where(jobs[column] <= 1, np.ceil(jobs[column]))
            asked = asked if column == "request_gpus" else jobs[column]
            cost = cost + (hours * asked * price).fillna(0)
    return cost


def _waste(workspace: Path) -> object:
    """Return what hours of GPUs cost that nobody used."""
    uses = describe(open_trace(workspace), laws=False).utilisation
    return [_prices()["request_gpus"] * one.unused_hours.value for one in uses.resources]


def _by(column: str) -> Callable[[Path], object]:
    """Return what the jobs of each user or tenant add up to."""

    def sums(workspace: Path) -> object:
        jobs = Workspace(workspace).read("jobs")
        found: list[object] = [jobs[column].nunique()]
        for _, own in jobs.groupby(column):
            held_h = own["duration_s"].fillna(0) * own["instances"].fillna(1) / 3600
            waits = own["wait_s"]
            found += [
                len(own), waits.mean(), waits.quantile(0.95), _cost(own).sum(),
                100 * own["status"].isin(["failed", "oom", "timeout"]).mean(),
                *((held_h * own[name].fillna(0)).sum() for name in _REQUESTS if name in own),
            ]  # fmt: skip
        return found

    return sums


_REQUESTS = ("request_gpus", "request_memory_gib")
_SIZE = "size {ws} --task-min-saving 0%"
_POLICIES = ",".join(page_results.POLICIES)
PAGES = (
    Shown("/", ["describe {ws} --no-laws", "size {ws}"], _waste),
    Shown("/queue", []),
    Shown("/jobs", [], _jobs),
    Shown("/users", [], _by("user")),
    Shown("/tenants", [], _by("tenant")),
    Shown("/sizing?least=0", [_SIZE]),
    Shown("/sizing/task?least=0&name={task}", [_SIZE, _SIZE + " --explain {task}"]),
    Shown(
        "/simulator",
        [f"whatif {{ws}} --policy {_POLICIES} --leave-out-unfit", "why {ws} --leave-out-unfit"],
    ),
    Shown("/phases", ["phase show {ws}", "phase label {ws} {ws}"]),
    Shown("/phases/series?name=s0", ["phase show {ws}"], _usage),
    Shown("/profiles", ["profile show {ws}"], _profile_sizes),
    Shown("/profiles/0", ["profile show {ws} 0"], lambda ws: [_context(ws), _reasons(ws)]),
    Shown("/ask?user=u1&request_gpus=1", ["ask {job} --workspace {ws}"]),
    Shown("/runs", ["runs status --campaign {ws}/campaign"]),
    Shown("/runs/1", ["runs show 1 --campaign {ws}/campaign"]),
    Shown("/reports", ["report {ws}"]),
)


@pytest.fixture(scope="module")
def shown_workspace(made_workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import shutil

    folder = Path(shutil.copytree(made_workspace, tmp_path_factory.mktemp("shown") / "ws"))
    make_campaign(folder / "campaign")
    return folder


@pytest.fixture(scope="module")
def service(shown_workspace: Path) -> Iterator[TestClient]:
    with TestClient(
        create_app(shown_workspace, ServiceSettings(open=True, reload_every_s=0.0))
    ) as client:
        yield client


def test_every_page_of_the_menu_is_compared() -> None:
    from prophase.serve.pages.templates import NAVIGATION

    compared = {re.split(r"[/?]", one.page)[1] or "overview" for one in PAGES}
    # the health page is about the service itself, and no command is
    assert compared == {name for name, _ in NAVIGATION} - {"health"}


@pytest.mark.parametrize("shown", PAGES, ids=lambda one: one.page)
def test_the_numbers_of_a_page_are_those_of_its_command(
    shown: Shown,
    service: TestClient,
    shown_workspace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    job = tmp_path / "job.json"
    job.write_text(json.dumps({"user": "u1", "request_gpus": 1}), encoding="utf-8")
    names = {"ws": shown_workspace, "job": job, "task": _largest_task(shown_workspace)}
    on_page = _page_numbers(_finished(service, shown.page.format(**names)))
    assert on_page or shown.page in _WITHOUT_NUMBERS
    missing = _not_among(on_page, _numbers(shown.tables(shown_workspace)))
    for form in ("json", "table"):
        for command in shown.commands if missing else ():
            words = [*command.format(**names).split(), "--format", form]
            text = _said(words, monkeypatch, capsys)
            told = _numbers(json.loads(text)) if form == "json" else _numbers_in(text)
            missing = _not_among(missing, told)
    assert missing == []


def _largest_task(workspace: Path) -> str:
    table = ph.size(workspace).table
    return str(table.sort_values("runs", kind="stable")["task"].iloc[-1])


def _finished(service: TestClient, page: str) -> str:
    """Return a page when all it shows is computed."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        answer = service.get(page, headers=_BROWSER)
        assert answer.status_code == 200, answer.text
        if "<progress" not in answer.text and 'class="range">waiting for' not in answer.text:
            assert "could not be computed" not in answer.text, answer.text
            return answer.text
        assert time.monotonic() < until
        time.sleep(0.2)


def _said(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    from prophase.cli import main

    monkeypatch.setattr(sys, "argv", ["prophase", *words])
    capsys.readouterr()
    with suppress(SystemExit):
        main.run()
    said = capsys.readouterr()
    assert said.out, said.err
    return said.out


class _Numbers(HTMLParser):
    """Collects the values of ``data`` elements and the numbers that charts draw."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[float] = []
        self.inside_chart = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "data":
            self.found.append(float(dict(attrs)["value"] or "nan"))
        self.inside_chart = tag == "script" and ("type", "application/json") in attrs

    def handle_data(self, data: str) -> None:
        if self.inside_chart and data.strip():
            self.found += _numbers(_without_layout(json.loads(data)), lengths=False)


def _without_layout(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_layout(one) for key, one in value.items() if key not in _LAYOUT}
    if isinstance(value, list):
        return [_without_layout(one) for one in value]
    return value


def _page_numbers(html: str) -> list[float]:
    parser = _Numbers()
    parser.feed(html)
    return [one for one in parser.found if one == one]


def _numbers(value: object, *, lengths: bool = True) -> Iterator[float]:
    """Yield every number of an answer, and how many rows its lists have."""
    if isinstance(value, dict):
        for one in value.values():
            yield from _numbers(one, lengths=lengths)
    elif isinstance(value, list | tuple):
        yield from [float(len(value))] if lengths else []
        for one in value:
            yield from _numbers(one, lengths=lengths)
    elif isinstance(value, int | float):
        yield float(value)


def _numbers_in(text: str) -> list[float]:
    return [float(one.replace(",", "")) for one in re.findall(r"-?\d[\d,]*(?:\.\d+)?", text)]


def _not_among(values: Iterable[float], answered: Iterable[float]) -> list[float]:
    """Return the numbers that were not answered: neither as they are, nor as share or factor."""
    told = np.array(list(answered))
    forms = (told, 100 * told, 100 * (told - 1))
    return [
        value
        for value in values
        if not any(np.isclose(one, value, rtol=1e-9, atol=1e-9).any() for one in forms)
    ]


def test_a_number_that_no_command_answers_is_found() -> None:
    html = '<data value="3.5">3.5</data><script type="application/json">{"y": [7]}</script>'
    assert _page_numbers(html) == [3.5, 7.0]
    answer: JsonObject = {"rows": [{"share": 0.035}]}
    assert _not_among([3.5, 7.0], _numbers(answer)) == [7.0]
