"""Everything over HTTP and in a browser: ``prophase serve WORKSPACE``.

How the parts meet
------------------
``create_app(workspace, settings)`` (``app.py``) builds the FastAPI application. It includes every
router of ``serve/api`` below ``/v1``, and the ``router`` of ``serve/pages`` and ``serve/submit``
as they are.

*The workspace.* A route takes ``loaded: LoadedWorkspaceNow`` (``dependencies.py``) and gets the
workspace as it is at that moment: ``loaded.model``, ``loaded.classifier``, ``loaded.profiler``,
``loaded.table("jobs")``, ``loaded.answer(key, make)`` to compute something once per reload. A
reload replaces the whole ``LoadedWorkspace`` in one step; a request keeps the one it began with.

*Who may.* ``dependencies=[Depends(require("read"))]`` on a router or a route; roles are read,
feedback and admin (admin has all). ``who: Caller`` as a parameter names the caller.

*Errors.* Raise any ``ProphaseError``; it becomes problem+json with the words of the command line
(``problems.py``), or a page where a browser asks. ``Problem(404, "words")`` is for what only a
service can refuse. A browser without a token is sent to ``/login``; its token, ours or that of a
provider (``guard/oidc.py``), lives in a cookie.

*Templates.* ``templates/`` (Jinja2, escaped) and ``static/``, mounted at ``/static``. The content
security policy allows nothing inline and nothing from elsewhere: scripts and styles are files.
Unsafe methods are refused when a browser says they come from another site, so forms need no
token; they are read with ``form_of(request)`` (``forms.py``).

*Long work.* ``tasks: TasksNow``; ``tasks.start(kind, arguments, who)`` runs a function of
``background/task_kinds.py`` in a process of its own and returns a ``Task`` at once;
``tasks.get(id)`` has its state, step, percent and result; ``tasks.cancel(id)`` ends it. Over
HTTP: ``/v1/tasks``.
"""

from typing import TYPE_CHECKING

from prophase.lazy_imports import lazy_names

if TYPE_CHECKING:
    from prophase.serve.app import create_app
    from prophase.serve.settings import ServiceSettings

_HOMES = {"ServiceSettings": "settings", "create_app": "app"}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["ServiceSettings", "create_app"]
