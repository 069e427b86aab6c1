"""The catalogue of public traces: complete, safe, and in step with the readers."""

from __future__ import annotations

import re

import pytest

from prophase.errors import ParameterError
from prophase.trace.fetch.catalogue import (
    PublicTrace,
    all_public_traces,
    parse_catalogue,
    public_trace,
)
from prophase.trace.fetch.download import refuse_other_schemes
from prophase.trace.reader import all_readers
from prophase.trace.source_files import matches

TRACES = list(all_public_traces().values())
ARCHIVES = (".zip", ".tar.gz")


def name_of(trace: PublicTrace) -> str:
    return trace.name


@pytest.mark.parametrize("trace", TRACES, ids=name_of)
def test_every_trace_says_what_it_is_whose_it_is_and_how_to_cite_it(trace: PublicTrace) -> None:
    assert trace.title
    assert trace.licence
    assert trace.cite
    refuse_other_schemes(trace.page)
    assert trace.chosen(), "every file is optional"


@pytest.mark.parametrize("trace", TRACES, ids=name_of)
def test_every_file_has_http_addresses_and_a_name_of_its_own(trace: PublicTrace) -> None:
    names = [file.name for file in trace.files]
    assert len(names) == len(set(names))
    for file in trace.files:
        for url in file.urls:
            refuse_other_schemes(url)
            assert "{" not in url
            assert " " not in url
        assert file.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", file.sha256)


@pytest.mark.parametrize("trace", [t for t in TRACES if t.reader], ids=name_of)
def test_the_reader_of_a_trace_takes_the_files_that_are_fetched(trace: PublicTrace) -> None:
    from pathlib import Path

    assert trace.reader is not None
    patterns = all_readers()[trace.reader].patterns
    assert any(
        file.name.endswith(ARCHIVES) or matches(Path(file.name), patterns)
        for file in trace.chosen()
    )


def test_the_traces_of_the_papers_are_there() -> None:
    assert {"pai2020", "philly", "helios", "acme", "openb", "google2011", "swf"} <= set(
        all_public_traces()
    )


def test_the_owner_vouches_for_all_of_pai_and_philly() -> None:
    for name in ("pai2020", "philly"):
        assert {file.basis for file in public_trace(name).files} == {"owner"}


def test_numbered_parts_are_spelled_as_their_owner_does() -> None:
    names = [file.name for file in public_trace("google2011").files]
    assert "job_events/part-00499-of-00500.csv.gz" in names
    assert "job_events/part-00500-of-00500.csv.gz" not in names
    azure = [file.name for file in public_trace("azure-vm").files]
    assert azure[1] == "vm_cpu_readings-file-1-of-195.csv.gz"
    assert azure[-1] == "vm_cpu_readings-file-195-of-195.csv.gz"


def test_optional_files_come_only_when_asked_for() -> None:
    pai = public_trace("pai2020")
    assert "pai_machine_metric.tar.gz" not in {file.name for file in pai.chosen()}
    assert [f.name for f in pai.chosen(["*machine_metric*"])] == ["pai_machine_metric.tar.gz"]


def test_a_pattern_that_fits_nothing_names_the_files() -> None:
    with pytest.raises(ParameterError, match=r"no file of philly fits. It has trace-data.tar.gz"):
        public_trace("philly").chosen(["*.csv"])


def test_an_unknown_trace_is_refused_with_a_hint() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'philly'"):
        public_trace("phily")


HEAD = '[t]\ntitle="t"\nlicence="l"\ncite="c"\npage="http://p"\n[[t.files]]\n'


@pytest.mark.parametrize(
    "entry",
    [
        'name="../evil"\nurls=["http://h/f"]',
        'name="/etc/passwd"\nurls=["http://h/f"]',
        'name="a/../../evil"\nurls=["http://h/f"]',
        'name="a\\\\b"\nurls=["http://h/f"]',
        'name=".hidden"\nurls=["http://h/f"]',
        'name=""\nurls=["http://h/f"]',
        'name="f"\nurls=[]',
        f'name="f"\nurls=["http://h/f"]\nsha256="{"0" * 64}"',
        'name="f"\nurls=["http://h/f"]\nsha256="0"\nbasis="owner"',
        f'name="f"\nurls=["http://h/f"]\nsha256="{"0" * 64}"\nbasis="hearsay"',
    ],
)
def test_an_entry_that_could_do_harm_is_refused(entry: str) -> None:
    with pytest.raises(ParameterError, match="catalogue"):
        parse_catalogue(HEAD + entry)
