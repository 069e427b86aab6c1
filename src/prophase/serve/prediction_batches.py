"""Predictions together: what waits is answered by one call of the model.

A call costs much the same for one job as for twenty. While one is computed, the questions that
come in wait, and the next call answers them all, so that more requests per second make each
of them cheaper instead of making all of them wait.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from prophase.json_types import JsonObject
from prophase.profile.predict.job_model import JobModel
from prophase.profile.predict.prediction_rows import predicted_rows
from prophase.serve.tracing import later

#: a table of more jobs is answered alone
_MOST_TOGETHER = 256
#: seconds from one call of the model to the next, in which questions gather; the first after
#: a pause does not wait
_BETWEEN_S = 0.001


@dataclass(frozen=True)
class _Question:
    """Jobs of one request, and who waits for the answer."""

    model: JobModel
    rows: list[JsonObject]
    targets: tuple[str, ...] | None
    done: Future[list[JsonObject]] = field(default_factory=Future)
    asked_ns: int = field(default_factory=time.time_ns)
    #: says in the trace of the request how long it waited and who was answered with it
    traced: Callable[..., None] = field(default_factory=lambda: later("model"))

    @property
    def kind(self) -> tuple[Any, ...]:
        """Questions of the same kind get the same answers together as each alone.

        What no job of a table says is filled from finished jobs, so jobs that leave out
        different ones of these columns are never put into one table.
        """
        said = set().union(*self.rows)
        absent = tuple(name for name in self.model.exemplars.columns if name not in said)
        alone = id(self) if len(self.rows) > _MOST_TOGETHER else 0
        return (id(self.model), self.targets, absent, alone)


_Questions = queue.SimpleQueue[_Question | None]


class Batcher:
    """Answers questions in threads of its own, all that wait at once.

    Examples
    --------
    >>> import pandas as pd
    >>> from prophase.profile.predict.job_model import learn
    >>> history = pd.DataFrame({"user": ["ann", "bob"] * 20, "duration_s": [60.0, 600.0] * 20})
    >>> batcher = Batcher()
    >>> asked = [{"job_id": "1", "user": "bob"}]
    >>> answer = batcher.ask(learn(history, method="backoff-median"), asked, None).result()
    >>> round(answer[0]["value"])
    600
    >>> batcher.close()
    """

    def __init__(self) -> None:
        # a table of thousands of jobs has a thread of its own: nobody waits behind it
        self._asked: tuple[_Questions, _Questions] = (queue.SimpleQueue(), queue.SimpleQueue())
        self._threads = [
            threading.Thread(target=self._answer, args=(asked,), daemon=True)
            for asked in self._asked
        ]
        for thread in self._threads:
            thread.start()

    def ask(
        self, model: JobModel, rows: list[JsonObject], targets: tuple[str, ...] | None
    ) -> Future[list[JsonObject]]:
        """Have jobs predicted, each a row of columns; the future holds the rows of the answer."""
        question = _Question(model, rows, targets)
        self._asked[len(rows) > _MOST_TOGETHER].put(question)
        return question.done

    def close(self) -> None:
        """Answer what waits, then stop."""
        for asked in self._asked:
            asked.put(None)
        for thread in self._threads:
            thread.join()

    def _answer(self, asked: _Questions) -> None:
        called = 0.0
        while True:
            kinds: dict[tuple[Any, ...], list[_Question]] = {}
            wanted = asked.get()
            time.sleep(max(called + _BETWEEN_S - time.perf_counter(), 0.0))
            called = time.perf_counter()
            jobs = 0
            while wanted is not None:
                # whoever has given up waiting needs no answer
                if wanted.done.set_running_or_notify_cancel():
                    kinds.setdefault(wanted.kind, []).append(wanted)
                    jobs += len(wanted.rows)
                if jobs >= _MOST_TOGETHER or asked.empty():
                    break
                wanted = asked.get()
            for questions in kinds.values():
                _answer_together(questions)
            if wanted is None:
                return


def _answer_together(questions: list[_Question]) -> None:
    first, began_ns = questions[0], time.time_ns()
    try:
        jobs = [row for one in questions for row in one.rows]
        rows = predicted_rows(first.model, jobs, first.targets)
    except Exception as error:
        if len(questions) == 1:
            first.done.set_exception(error)
            return
        # the question of one must not spoil the answer of another
        for one in questions:
            _answer_together([one])
        return
    each = len(rows) // len(jobs)
    at = 0
    for one in questions:
        count = each * len(one.rows)
        waited_ms = (began_ns - one.asked_ns) / 1e6
        one.traced(began_ns, jobs=len(one.rows), waited_ms=waited_ms, jobs_together=len(jobs))
        one.done.set_result(rows[at : at + count])
        at += count
