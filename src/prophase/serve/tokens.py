"""API tokens: who may do what. Only their hashes are kept, so the file gives none away."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Literal, get_args

from prophase.errors import FormatError, ParameterError, not_among, storage_error
from prophase.trace.workspace_paths import SERVICE

Role = Literal["read", "feedback", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
#: role -> all that it may do
_ALLOWS: dict[str, set[str]] = {
    "read": {"read"},
    "feedback": {"read", "feedback"},
    "admin": set(ROLES),
}
#: how a token begins, so that scanners for leaked secrets can find it
PREFIX = "prophase_"
_MOST_NAME, _MOST_TENANT = 60, 200


def allows(role: str, wanted: str) -> bool:
    """Say whether a role may do what needs another.

    Examples
    --------
    >>> allows("admin", "feedback"), allows("read", "feedback")
    (True, False)
    """
    return wanted in _ALLOWS.get(role, set())


@dataclass(frozen=True)
class Token:
    """What is kept of a token."""

    name: str
    role: Role
    #: SHA-256 of the token: it is 256 random bits, so guessing is hopeless without a slow hash
    sha256: str
    made_at: str
    expires_at: str | None = None
    #: namespaces, accounts or teams that it is limited to; none for all
    tenants: tuple[str, ...] = ()

    def expired(self, now: datetime | None = None) -> bool:
        """Say whether its time is over."""
        end = datetime.fromisoformat(self.expires_at) if self.expires_at else None
        return end is not None and (now or datetime.now(UTC)) >= end


class TokenStore:
    """The tokens of a workspace, in ``service/tokens.json``.

    Parameters
    ----------
    folder : path
        The workspace.
    open : bool
        Whether nobody needs a token, until the list of tokens changes for the first time.

    Examples
    --------
    >>> store = TokenStore(getfixture("tmp_path"))
    >>> secret = store.add("ci", "feedback", days=30)
    >>> store.find(secret).name, store.find("prophase_guessed")
    ('ci', None)
    >>> store.revoke("ci"), store.find(secret)
    (True, None)
    """

    def __init__(self, folder: Path | str, *, open: bool = False) -> None:
        self.path = Path(folder) / SERVICE / "tokens.json"
        self._lock = threading.Lock()
        self._stamp: tuple[int, int] | None = None
        self._by_hash: dict[str, Token] = {}
        self._open_while = self._file_stamp()
        self._open = open and not self.all()

    @property
    def is_open(self) -> bool:
        """Say whether nobody needs a token.

        Once closed it stays closed: neither revoking the last token nor deleting the list opens it.
        """
        if self._open and (self._file_stamp() != self._open_while or self.all()):
            self._open = False
        return self._open

    def all(self) -> list[Token]:
        """Return every token, as its file says now."""
        self._refresh()
        return list(self._by_hash.values())

    def find(self, secret: str) -> Token | None:
        """Return the token of a secret, expired or not."""
        self._refresh()
        # a look-up by hash: how long it takes says nothing about the secret
        return self._by_hash.get(_digest(secret))

    def add(
        self, name: str, role: str, *, days: float | None = 365, tenants: Sequence[str] = ()
    ) -> str:
        """Make a token and return it; it is shown this once and cannot be had again."""
        if role not in ROLES:
            raise ParameterError(not_among(f"role {role!r} is unknown.", role, ROLES))
        if not name.strip() or len(name) > _MOST_NAME or not name.isprintable():
            raise ParameterError(
                f"a token's name has 1 to {_MOST_NAME} visible characters, such as ci; "
                f"{name[:80]!r} does not."
            )
        if role == "admin" and tenants:
            raise ParameterError(
                "an admin changes what all tenants share, so its token cannot be limited to "
                f"{tenants[0]!r}. Leave the tenants out, or choose the role read or feedback."
            )
        for tenant in tenants:
            if not tenant.strip() or len(tenant) > _MOST_TENANT or not tenant.isprintable():
                raise ParameterError(
                    f"a tenant has 1 to {_MOST_TENANT} visible characters; {tenant[:80]!r} "
                    "does not. Name a namespace, an account or a team."
                )
        if days is not None and not 0 < days <= 36500:
            raise ParameterError(f"days is {days}. A token lives for more than 0 and 100 years.")
        now = datetime.now(UTC)
        end = None if days is None else (now + timedelta(days=days)).isoformat(timespec="seconds")
        secret = PREFIX + secrets.token_urlsafe(32)
        chosen = ROLES[ROLES.index(role)]
        limited = tuple(dict.fromkeys(tenants))
        made = Token(name, chosen, _digest(secret), _text(now), end, limited)

        def added(held: list[Token]) -> list[Token]:
            if any(one.name == name for one in held):
                raise ParameterError(
                    f"there is a token {name!r} already. Choose another name, or revoke it first."
                )
            return [*held, made]

        self._change(added)
        return secret

    def revoke(self, name: str) -> bool:
        """Forget a token; says whether there was one."""
        before = self.all()
        if all(one.name != name for one in before):
            return False
        self._change(lambda held: [one for one in held if one.name != name])
        return True

    def _file_stamp(self) -> tuple[int, int] | None:
        try:
            stat = self.path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_ino

    def _refresh(self) -> None:
        stamp = self._file_stamp()
        if stamp == self._stamp:
            return
        with self._lock:
            self._by_hash = {one.sha256: one for one in _read(self.path)}
            self._stamp = stamp

    def _change(self, change: Callable[[list[Token]], list[Token]]) -> None:
        """Read, change and write the file while no other process does."""
        part = self.path.with_name(f".tokens.{os.getpid()}.part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with (self.path.parent / ".tokens.lock").open("w") as lock:
                flock(lock, LOCK_EX)
                kept = change(_read(self.path))
                with os.fdopen(
                    os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w"
                ) as out:
                    json.dump({"tokens": [asdict(one) for one in kept]}, out, indent=1)
                    out.flush()
                    os.fsync(out.fileno())
                part.replace(self.path)
        except OSError as cause:
            raise storage_error(cause, self.path) from cause
        finally:
            part.unlink(missing_ok=True)
        self._refresh()


def _read(path: Path) -> list[Token]:
    try:
        found = json.loads(path.read_text("utf-8"))["tokens"]
        return [Token(**{**one, "tenants": tuple(one.get("tenants", ()))}) for one in found]
    except FileNotFoundError:
        return []
    except OSError as cause:
        raise storage_error(cause, path) from cause
    except (ValueError, KeyError, TypeError, AttributeError) as cause:
        # never open to everybody because the list of tokens cannot be read
        raise FormatError(
            f"{path}: the list of tokens is damaged. Delete it and make new tokens with: "
            "prophase serve token add"
        ) from cause


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _text(time: datetime) -> str:
    return time.isoformat(timespec="seconds")
