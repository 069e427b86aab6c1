"""Pages from templates."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from prophase.json_types import JsonObject
from prophase.plural import as_typed
from prophase.serve.loaded_workspace import LoadedWorkspace
from prophase.serve.pages.number_text import amount, amount_html, between_html, cell, named, unit_of
from prophase.version import __version__

#: address and words of every page, in the order of the menu
NAVIGATION = (
    ("overview", "Overview"),
    ("ask", "Ask"),
    ("queue", "Queue"),
    ("jobs", "Jobs"),
    ("users", "Users"),
    ("tenants", "Tenants"),
    ("profiles", "Profiles"),
    ("sizing", "Sizing"),
    ("simulator", "Simulator"),
    ("phases", "Phases"),
    ("runs", "Runs"),
    ("reports", "Reports"),
    ("health", "Health"),
)


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent.parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        amount=amount_html,
        amount_text=amount,
        between=between_html,
        cell=cell,
        named=named,
        unit_of=unit_of,
    )
    return made


_TEMPLATES = _environment()


def page(
    request: Request, template: str, *, section: str = "", status: int = 200, **context: Any
) -> Response:
    """Return a template as a page, with the frame that all pages share."""
    held: LoadedWorkspace = request.app.state.library.now
    asking = getattr(request.state, "asking", None)
    shown = {
        "section": section,
        "navigation": NAVIGATION,
        "version": __version__,
        "workspace": held.workspace.folder.resolve().name,
        "folder": folder_as_typed(held),
        "about": _about(held),
        "about_tables": sorted(held.tables),
        "signed_in": asking.name if asking is not None and asking.sent else "",
        "may_change": asking is not None and asking.role == "admin",
        "here": here(request),
        **context,
    }
    return HTMLResponse(_TEMPLATES.get_template(template).render(shown), status)


def here(request: Request) -> str:
    """Return the address of this page within the service."""
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{request.url.path}{query}"


def folder_as_typed(held: LoadedWorkspace) -> str:
    """Return the workspace as one would type it, for commands on the page."""
    return as_typed(held.workspace.folder)


def login_page(request: Request, goal: str, words: str, *, status: int = 200) -> Response:
    """Return the page that asks for a token."""
    blank: JsonObject = {"workspace": "", "about": {}}
    oidc = request.app.state.oidc
    name = urlsplit(oidc.settings.issuer).hostname if oidc is not None else ""
    return page(
        request, "login.html", status=status, goal=goal, words=words, provider=name, **blank
    )


def problem_page(request: Request, status: int, words: str) -> Response:
    """Return the page of a problem, in the words of the command line."""
    title = HTTPStatus(status).phrase
    known = getattr(request.state, "asking", None)
    inside = known is not None and known.role is not None
    more: JsonObject = {} if inside else {"workspace": "", "about": {}, "navigation": ()}
    return page(request, "problem.html", status=status, title=title, words=words, **more)


def _about(held: LoadedWorkspace) -> Mapping[str, str]:
    """Say what data stands behind every number of the page."""
    jobs = held.tables.get("jobs")
    told = {"Prophase": __version__, "Loaded": held.loaded_at}
    if jobs is not None:
        told |= {
            "Jobs": f"{jobs.rows:,} from {jobs.source}",
            "Data": jobs.source_hash[:12],
            "Made": jobs.made_at[:16].replace("T", " "),
        }
        if jobs.seed is not None:
            told["Seed"] = str(jobs.seed)
    return told
