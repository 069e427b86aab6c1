"""API tokens: who may do what. Only their hashes are kept, so what is stored gives none away."""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from prophase.errors import (
    DatabaseError,
    FormatError,
    ParameterError,
    ProphaseError,
    not_among,
    storage_error,
    storage_errors,
)
from prophase.trace.service_database import ServiceDatabase, shared_address
from prophase.trace.workspace_paths import REPORTED, SERVICE

if TYPE_CHECKING:
    from sqlalchemy import Connection

log = logging.getLogger("prophase.serve")

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
#: how often replicas look for tokens that others made or revoked
_ASK_EVERY_S = 1.0
_CHANGE_LOCK = 7_041_116


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
    """The tokens of a workspace, in the database of its service.

    A token that is made or revoked counts from the next request on; on other replicas that share a
    database on a server, within a second. While that server is away, tokens known before count.

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
        self.folder = Path(folder)
        #: the list as it was kept before there was a database
        self.path = self.folder / SERVICE / "tokens.json"
        self._lock = threading.Lock()
        self._shared = shared_address(folder) is not None
        self._base: ServiceDatabase | None = None
        self._stamp: Hashable = None
        self._version = -1
        self._asked_s = 0.0
        self._asking = threading.Lock()
        self._by_hash: dict[str, Token] = {}
        self._open = open and not self.all()
        self._open_while = self._version

    @property
    def is_open(self) -> bool:
        """Say whether nobody needs a token.

        Once closed it stays closed: neither revoking the last token nor deleting the list opens it.
        """
        if self._open:
            try:
                self._open = not self.all() and self._version == self._open_while
            except ProphaseError:
                # a list that cannot be read lets nobody in
                self._open = False
        return self._open

    def all(self) -> list[Token]:
        """Return every token there is now."""
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
            if made in held:
                # kept before, and the answer was lost on its way
                return held
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

    def close(self) -> None:
        """Give back connections."""
        with self._lock:
            base, self._base, self._stamp = self._base, None, None
        if base is not None:
            base.close()

    def _refresh(self) -> None:
        """Read the list again if it may have changed."""
        if self._base is not None and self._base.is_postgres and self._version >= 0:
            if time.monotonic() - self._asked_s > _ASK_EVERY_S and self._asking.acquire(False):
                # requests do not wait for the server
                self._asked_s = time.monotonic()
                threading.Thread(target=self._ask, name="tokens", daemon=True).start()
            return
        stamp = self._file_stamps()
        if self._base is None and stamp == _NO_FILES and not self._shared:
            self._by_hash, self._stamp, self._version = {}, stamp, 0
            return
        if self._base is not None and stamp == self._stamp:
            return
        with self._lock:
            self._read(self._opened())
            self._stamp = self._file_stamps()

    def _ask(self) -> None:
        try:
            with self._lock:
                if self._base is not None:
                    self._read(self._base)
        except ProphaseError as error:
            log.warning("the tokens cannot be read again, those before still count: %s", error)
        finally:
            self._asking.release()

    def _read(self, base: ServiceDatabase) -> None:
        from sqlalchemy import select

        from prophase.trace.service_tables import NUMBERS

        def read(connection: Connection) -> None:
            asked = select(NUMBERS.c.number).where(NUMBERS.c.name == "tokens")
            version = connection.execute(asked).scalar() or 0
            if version != self._version:
                self._by_hash = {one.sha256: one for one in _all_of(connection)}
                self._version = version

        try:
            base.read(read)
        except DatabaseError as cause:
            if base.is_postgres:
                raise
            raise _damaged(base.file or self.folder) from cause
        finally:
            if not base.is_postgres:
                # a store may be dropped without being closed
                base.close()

    def _opened(self) -> ServiceDatabase:
        """Return the database; tokens of the list from before there was one move into it."""
        file = self.folder / REPORTED
        if self._base is not None and not self._base.is_postgres and not file.exists():
            # somebody deleted it under us: nobody is let in by what it held
            self._base.close()
            self._base, self._version = None, -1
        if self._base is None:
            try:
                self._base = ServiceDatabase.of(self.folder)
            except DatabaseError as cause:
                if self._shared:
                    raise
                raise _damaged(file) from cause
        if self.path.exists():
            before = _listed(self.path)
            _changed(
                self._base,
                lambda held: [
                    *held, *(one for one in before if one.name not in {t.name for t in held})
                ],
            )  # fmt: skip
            with storage_errors(self.path):
                self.path.replace(self.path.with_suffix(".json.moved"))
        return self._base

    def _change(self, change: Callable[[list[Token]], list[Token]]) -> None:
        with self._lock:
            _changed(self._opened(), change)
            self._stamp = None
            self._read(self._opened())

    def _file_stamps(self) -> Hashable:
        """Return what changes when anything is written to the files."""
        base = self.folder / REPORTED
        return tuple(map(_stamp, (self.path, base, base.with_name(f"{base.name}-wal"))))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino, stat.st_size


_NO_FILES = (None, None, None)


def _changed(base: ServiceDatabase, change: Callable[[list[Token]], list[Token]]) -> None:
    """Change the list while nobody else does."""
    from sqlalchemy import delete, insert, update

    from prophase.trace.service_tables import NUMBERS, TOKENS, put_if_new

    def write(connection: Connection) -> None:
        base.lock(connection, _CHANGE_LOCK)
        held = _all_of(connection)
        kept = change(held)
        gone = {one.name for one in held} - {one.name for one in kept}
        fresh = [one for one in kept if one.name not in {old.name for old in held}]
        if gone:
            connection.execute(delete(TOKENS).where(TOKENS.c.name.in_(gone)))
        for one in fresh:
            row = {**asdict(one), "tenants": json.dumps(one.tenants)}
            connection.execute(insert(TOKENS).values(**row))
        put_if_new(connection, NUMBERS, {"name": "tokens", "number": 0})
        connection.execute(
            update(NUMBERS).where(NUMBERS.c.name == "tokens").values(number=NUMBERS.c.number + 1)
        )

    base.write(write)


def _all_of(connection: Connection) -> list[Token]:
    """Return every token, the oldest first."""
    from sqlalchemy import select

    from prophase.trace.service_tables import TOKENS

    names = [one.name for one in fields(Token)]
    asked = select(*(TOKENS.c[name] for name in names)).order_by(TOKENS.c.number)
    rows = connection.execute(asked).mappings()
    return [Token(**{**row, "tenants": tuple(json.loads(row["tenants"]))}) for row in rows]


def _listed(path: Path) -> list[Token]:
    try:
        found = json.loads(path.read_text("utf-8"))["tokens"]
        return [Token(**{**one, "tenants": tuple(one.get("tenants", ()))}) for one in found]
    except FileNotFoundError:
        return []
    except OSError as cause:
        raise storage_error(cause, path) from cause
    except (ValueError, KeyError, TypeError, AttributeError) as cause:
        raise _damaged(path) from cause


def _damaged(path: Path) -> FormatError:
    # never open to everybody because the list of tokens cannot be read
    return FormatError(
        f"{path}: the list of tokens is damaged. Restore it from a backup; or move it away and "
        "make new tokens with: prophase serve token add"
    )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _text(time: datetime) -> str:
    return time.isoformat(timespec="seconds")
