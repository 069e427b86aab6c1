"""The description of the API (OpenAPI): errors as problems, tokens as a bearer."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from prophase.json_types import JsonObject

_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {
            "type": "string",
            "description": "What was wrong, where, and what to do; the words of the command line.",
        },
        "code": {"type": "string", "description": "Kind of error."},
        "errors": {"type": "array", "items": {"type": "object"}},
    },
}
_EXAMPLE = {
    "type": "about:blank",
    "title": "Unprocessable Entity",
    "status": 422,
    "detail": "job 1: gpus is 'two', which is not a number in GPUs. Write for example 2 or 0.5.",
    "code": "InputError",
}


def _refusal(words: str) -> JsonObject:
    schema = {"$ref": "#/components/schemas/Problem"}
    content = {"application/problem+json": {"schema": schema, "example": _EXAMPLE}}
    return {"description": words, "content": content}


#: what every route may answer beside its own
REFUSALS: dict[int | str, JsonObject] = {
    422: _refusal("What was asked makes no sense."),
    "4XX": _refusal("Not allowed, not there, too large, too often, or not possible yet."),
    "5XX": _refusal("The service cannot do it now: a damaged model, a full disk, too slow."),
}


def install(app: FastAPI) -> None:
    """Let the application describe itself this way."""

    def described() -> JsonObject:
        if app.openapi_schema is None:
            made = get_openapi(
                title=app.title,
                version=app.version,
                summary=app.summary,
                description="A token is needed unless the service was started with --open; see "
                "`prophase serve token`. Errors are problems (RFC 9457).",
                routes=app.routes,
            )
            parts = made.setdefault("components", {})
            schemas = parts.setdefault("schemas", {})
            schemas["Problem"] = _PROBLEM
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
            parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            made["security"] = [{"token": []}, {}]
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
