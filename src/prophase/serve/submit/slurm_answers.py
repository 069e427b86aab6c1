"""Ready answers for Slurm's plug-in: a file that it reads instead of asking the service.

slurmctld waits for its plug-in, so a job must not wait for a process, a network and a model. What
a job of a kind should ask for is written to a file; the plug-in finds tenant and kind of a job by
the same rule and looks it up. Jobs of which more than their kind matters are still asked about.

The file is text. Its first line, of a fixed length, says until when it counts, how many buckets
its index has and where the index begins; then come the rule of identity and the policy, the index
(where each bucket begins), and a line per kind: tenant, kind, memory, time.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator

from prophase.atomic_files import write_whole
from prophase.serve.loaded_workspace import LoadedWorkspace, WorkspaceCache
from prophase.serve.submit.policy import SubmitPolicy, SubmitRules
from prophase.sizing.recommender import Recommender
from prophase.trace.identity.folding import COUNTED
from prophase.trace.identity.job_identity import Key
from prophase.trace.identity.rule import IdentityRule

#: the file, in the workspace
ANSWERS = "slurm-answers"
#: seconds for which the plug-in trusts a file that nobody renews
VALID_S = 300
_RENEW_S, _LOOK_S = 60.0, 1.0
#: writing takes at most this share of a processor
_MOST_BUSY = 0.1
_HEAD, _MODULUS, _RUNGS = 64, 4294967291, 3
_SIZED = ("memory", "time")
#: what a job says of itself at submission in words; of numbers the service is asked
_WORDS = {
    "name", "group", "queue", "user", "attr_qos", "attr_constraint", "attr_reservation",
    "attr_licenses", "attr_wckey", "attr_workdir",
}  # fmt: skip
_NUMBERS = {
    "instances", "request_cpu_cores", "request_gpus", "gpu_type", "request_memory_gib",
    "time_limit_s", "priority", "attr_comment",
}  # fmt: skip
log = logging.getLogger("prophase.serve")


def slurm_answers(requests: Recommender, policy: SubmitPolicy, valid_until: int) -> bytes:
    """Return the file with an answer for every kind that a recommender knows.

    Parameters
    ----------
    requests : Recommender
        What jobs should ask for.
    policy : SubmitPolicy
        What may be done to whose jobs.
    valid_until : int
        When the plug-in stops to trust it, in seconds since 1970.
    """
    resources = [name for name in _SIZED if name in requests.by_resource]
    keys = dict.fromkeys(key for name in resources for key in requests.keys(name))
    buckets: list[list[bytes]] = [[] for _ in range(max(1, len(keys)))]
    for key in keys:
        cells = [_cell(requests, name, key) if name in resources else "" for name in _SIZED]
        name = "\t".join(map(_escaped, key)).encode()
        buckets[_hash(name) % len(buckets)].append(name + ("\t" + "\t".join(cells)).encode())
    head = "\n".join([*_identity(requests.rule), *_policy(policy)]).encode() + b"\n"
    place = _HEAD + len(head) + 12 * (len(buckets) + 1)
    index, rows = [], []
    for lines in buckets:
        index.append(place)
        rows.append(b"".join(line + b"\n" for line in lines))
        place += len(rows[-1])
    index.append(place)
    first = _first_line(valid_until, len(buckets), _HEAD + len(head))
    return b"".join([first, head, *(b"%011d\n" % one for one in index), *rows])


def _first_line(valid_until: int, buckets: int, index: int) -> bytes:
    text = f"prophase-answers 1 {valid_until:012d} {buckets:09d} {index:09d}"
    return text.ljust(_HEAD - 1).encode() + b"\n"


def _identity(rule: IdentityRule) -> Iterator[str]:
    """Return the lines that say whose a job is and which kind."""
    if _NUMBERS & set(rule.columns):
        yield "ask"
    yield "\t".join(["tenant", *rule.tenant])
    for level in rule.kinds:
        yield "\t".join(["kind", *level])
    for column in sorted(_WORDS & set(rule.columns)):
        if rule.folds(column):
            yield f"fold\t{column}\t{'all' if rule.folding == 'all' else 'words'}"
    yield "counted\t" + " ".join(sorted(COUNTED))


def _policy(policy: SubmitPolicy) -> Iterator[str]:
    """Return the rules in the order in which the first that fits counts."""
    for column, held in (
        ("user", policy.users), ("group", policy.accounts), ("queue", policy.partitions),
        ("queue", policy.namespaces),
    ):  # fmt: skip
        if any("[" in pattern for pattern in held):
            yield "ask"
        for pattern, rules in held.items():
            yield _rule(column, "^" + _lua_text(pattern) + "$", policy.capped(rules))
        for pattern, rules in held.items():
            yield _rule(column, _lua_pattern(pattern), policy.capped(rules))
    yield _rule("", "", policy.capped(policy.rules))


def _rule(column: str, pattern: str, rules: SubmitRules) -> str:
    return "\t".join(["rule", column, pattern, rules.mode, " ".join(rules.resources)])


def _lua_text(text: str) -> str:
    spelt = "".join(one if one.isalnum() or ord(one) > 127 else f"%{one}" for one in text)
    return spelt.replace("\t", " ").replace("\n", " ")


def _lua_pattern(pattern: str) -> str:
    """Return a pattern of the shell as one of Lua."""
    return "^" + _lua_text(pattern).replace("%*", ".*").replace("%?", ".") + "$"


def _cell(requests: Recommender, name: str, key: Key) -> str:
    """Return what a kind should ask for, in the words of the plug-in; empty if requests stay."""
    found = requests.kind_request(name, key)
    if found is None:
        return ""
    if found.own or len(found.ladder) != _RUNGS:
        return "ask"
    numbers = (found.lowest, found.highest, float(found.raises), *found.ladder)
    return " ".join([*(f"{one:.17g}" for one in numbers), _escaped(" ".join(found.why.split()))])


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\t", "%09").replace("\n", "%0A")


def _hash(text: bytes) -> int:
    found = 0
    for byte in text:
        found = (found * 31 + byte) % _MODULUS
    return found


class SlurmAnswersFile:
    """Keeps the file of ready answers up to date while a service runs.

    Parameters
    ----------
    library : WorkspaceCache
        What is known.
    policy : callable
        Returns the policy as it is now.
    """

    def __init__(self, library: WorkspaceCache, policy: Callable[[], SubmitPolicy]) -> None:
        self.library, self.policy = library, policy
        self.path = library.workspace.folder / ANSWERS
        self._written: tuple[LoadedWorkspace, SubmitPolicy] | None = None
        self._renew_s = self._not_before_s = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="slurm-answers", daemon=True)

    def start(self) -> None:
        """Begin to look for changes."""
        self._thread.start()

    def close(self) -> None:
        """End and remove the file: without a service jobs go as they are."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
            self.path.unlink(missing_ok=True)

    def _keep(self) -> None:
        while True:
            try:
                self.update()
            except Exception:
                # the file that is there counts for some minutes more; then everybody asks
                log.exception("cannot keep answers ready for Slurm")
            if self._stop.wait(_LOOK_S):
                return

    def update(self) -> bool:
        """Write the file if something has changed; returns whether it did."""
        now, policy = self.library.now, self.policy()
        seen = self._written
        if seen is not None and seen[0] is now and seen[1] == policy:
            self._renew()
            return False
        if time.monotonic() < self._not_before_s:
            self._renew()
            return False
        requests: Recommender | None = now.models.get("requests")
        if requests is None or not policy.stated:
            self.path.unlink(missing_ok=True)
        else:
            began = time.monotonic()
            write_whole(self.path, slurm_answers(requests, policy, int(time.time()) + VALID_S))
            ended = time.monotonic()
            self._renew_s, self._not_before_s = ended, ended + (ended - began) / _MOST_BUSY
        self._written = (now, policy)
        return True

    def _renew(self) -> None:
        """Let the file count for longer, without writing it again."""
        if time.monotonic() - self._renew_s < _RENEW_S:
            return
        self._renew_s = time.monotonic()
        try:
            held = os.open(self.path, os.O_WRONLY)
        except FileNotFoundError:
            return
        try:
            os.pwrite(held, b"%012d" % (int(time.time()) + VALID_S), len("prophase-answers 1 "))
        finally:
            os.close(held)
