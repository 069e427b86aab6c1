"""Predictions together: what waits is answered by one call of the model.

A call costs much the same for one job as for twenty. While one is computed, the questions that
come in wait, and the next call answers them all, so that more requests per second make each
of them cheaper instead of making all of them wait.
"""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from prophase.json_types import JsonObject
from prophase.profile.predict.job_model import JobModel
from prophase.profile.predict.prediction_rows import predicted_rows

#: a table of more jobs is answered alone
_MOST_TOGETHER = 256
#: seconds from one call of the model to the next, in which questions gather; the first after
#: a pause does not wait
_BETWEEN_S = 0.005


@dataclass(frozen=True)
class _Question:
    """Jobs of one request, and who waits for the answer."""

    model: JobModel
    rows: list[JsonObject]
    targets: tuple[str, ...] | None
    done: Future[list[JsonObject]] = field(default_factory=Future)

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


class Batcher:
    """Answers questions in a thread of its own, all that wait at once.

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
        self._asked: queue.SimpleQueue[_Question | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    def ask(
        self, model: JobModel, rows: list[JsonObject], targets: tuple[str, ...] | None
    ) -> Future[list[JsonObject]]:
        """Have jobs predicted, each a row of columns; the future holds the rows of the answer."""
        question = _Question(model, rows, targets)
        self._asked.put(question)
        return question.done

    def close(self) -> None:
        """Answer what waits, then stop."""
        self._asked.put(None)
        self._thread.join()

    def _answer(self) -> None:
        called = 0.0
        while True:
            kinds: dict[tuple[Any, ...], list[_Question]] = {}
            wanted = self._asked.get()
            time.sleep(max(called + _BETWEEN_S - time.perf_counter(), 0.0))
            called = time.perf_counter()
            jobs = 0
            while wanted is not None:
                kinds.setdefault(wanted.kind, []).append(wanted)
                jobs += len(wanted.rows)
                if jobs >= _MOST_TOGETHER or self._asked.empty():
                    break
                wanted = self._asked.get()
            for questions in kinds.values():
                _answer_together(questions)
            if wanted is None:
                return


def _answer_together(questions: list[_Question]) -> None:
    first = questions[0]
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
        one.done.set_result(rows[at : at + count])
        at += count
