"""Tests on every Python that is supported and found here: nox, nox -s tests-3.13 -- tests/units."""

from __future__ import annotations

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False  # they are skipped, with a line that says so
nox.options.reuse_venv = "yes"

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
LOCK = "requirements/dev.txt"
EXTRAS = "dev,spark,dask,learn,runs,kubernetes,serve,oidc,otel,mcp,mlflow,gym"


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests, or those named after `--`, with the locked versions."""
    session.install("-c", LOCK, "-e", f".[{EXTRAS}]")
    session.run("python", "-m", "pytest", *(session.posargs or ["-n", "2", "--dist", "loadfile"]))


@nox.session(python=PYTHONS[0])
def lint(session: nox.Session) -> None:
    """Look at style, types and layers."""
    session.install("-c", LOCK, "-e", f".[{EXTRAS}]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports", "--no-logo")
