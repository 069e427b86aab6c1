"""Who jobs belong to: users, the accounts above them, and the shares they own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.sim.rules.parsing import number_column
from prophase.sim.signatures import Floats, Ints
from prophase.sim.workload import Workload

EVERYBODY = ""
#: levels of accounts and users below everybody that orders look at
DEEPEST = 8


@dataclass(frozen=True)
class Owners:
    """A tree: row 0 is everybody, below are accounts if there are any, below them users."""

    names: tuple[str, ...]
    share: Floats
    parent: Ints
    is_user: Ints
    #: row of each job's user
    of_job: Ints


def owners_of(workload: Workload, shares: pd.DataFrame | None = None, by: str = "user") -> Owners:
    """Build the tree from a table of shares, or from the jobs' users with equal shares.

    Parameters
    ----------
    shares : DataFrame, optional
        ``user``, ``share``, and ``account``; a row without a user gives an account's own share
        (1 if there is none), and in ``parent`` the account above it. Users of the trace that are
        not listed join with share 1, below everybody. Without a table every user is directly
        below everybody.
    by : str, default="user"
        Column of the jobs with whom they belong to: accounts (``"group"``) may be compared with
        each other instead of users. The table of shares names them in its column ``user``.
    """
    jobs = workload.jobs
    if by != "user" and by not in jobs:
        said = f"the job table has no column {by!r} to share between."
        raise InputError.among(said, by, map(str, jobs), heading="It has")
    users = (
        jobs[by].fillna("").astype(str)
        if by in jobs
        else pd.Series(np.full(len(jobs), "somebody"), index=jobs.index)
    )
    rows: list[tuple[str, float, int, bool]] = [(EVERYBODY, 1.0, -1, False)]
    account_at: dict[str, int] = {}
    user_at: dict[str, int] = {}

    def add(place: dict[str, int], name: str, share: float, parent: int = 0) -> None:
        place[name] = len(rows)
        rows.append((name, share, parent, place is user_at))

    if shares is not None:
        table = _checked(shares)
        named = table["user"] != ""
        for account, own, above in _from_the_top(table[~named]):
            add(account_at, account, own, account_at[above] if above else 0)
        for account, user, own in table[named][["account", "user", "share"]].to_numpy():
            if account and account not in account_at:
                add(account_at, account, 1.0)
            add(user_at, user, float(own), account_at[account] if account else 0)
    for user in users.unique():
        if user not in user_at:
            add(user_at, user, 1.0)
    names, share, parent, is_user = zip(*rows, strict=True)
    return Owners(
        names,
        np.array(share),
        np.array(parent, np.int64),
        np.array(is_user, np.int64),
        np.array(users.map(user_at), np.int64),
    )


def _from_the_top(accounts: pd.DataFrame) -> list[tuple[str, float, str]]:
    """Return accounts with their share and the account above, each after the one above it."""
    rows = {
        account: (float(share), parent)
        for account, share, parent in accounts[["account", "share", "parent"]].to_numpy()
    }
    placed: dict[str, int] = {EVERYBODY: 0}
    found: list[tuple[str, float, str]] = []
    for account in rows:
        chain = [account]
        while chain[-1] not in placed:
            if chain[-1] not in rows:
                raise InputError(
                    f"the table of shares names {chain[-1]!r} as parent of account {chain[-2]!r}, "
                    "but has no row of it. Add a row with account, share and no user."
                )
            above = rows[chain[-1]][1]
            if above in chain:
                circle = " below ".join([*chain[chain.index(above) :], above])
                raise InputError(f"the table of shares has accounts in a circle: {circle}.")
            chain.append(above)
        for one in reversed(chain[:-1]):
            share, above = rows[one]
            placed[one] = placed[above] + 1
            found.append((one, share, above))
            if placed[one] >= DEEPEST:
                raise InputError(
                    f"account {one!r} is {placed[one]} levels deep; {DEEPEST - 1} are the most."
                )
    return found


def _checked(shares: pd.DataFrame) -> pd.DataFrame:
    if not {"user", "share"} <= set(shares.columns):
        raise InputError(
            "the table of shares needs the columns user and share (and account). "
            f"It has: {', '.join(map(str, shares.columns))}."
        )
    table = shares.assign(
        user=shares["user"].fillna("").astype(str),
        account=shares["account"].fillna("").astype(str) if "account" in shares else "",
        parent=shares["parent"].fillna("").astype(str) if "parent" in shares else "",
    )
    below = table["parent"] != ""
    if (below & (table["user"] != "")).any():
        user = table.loc[below & (table["user"] != ""), "user"].iloc[0]
        raise InputError(
            f"the table of shares gives user {user!r} a parent: users stand below their account, "
            "accounts below a parent."
        )
    table["share"] = number_column(shares, "share", "table of shares", above=0)
    named = table[table["user"] != ""]
    if named["user"].duplicated().any():
        twice = named.loc[named["user"].duplicated(), "user"].iloc[0]
        raise InputError(f"the table of shares names user {twice!r} twice.")
    return table
