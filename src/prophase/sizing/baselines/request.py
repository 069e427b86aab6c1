"""What users do today: every task asks for what its author wrote down."""

from __future__ import annotations

from prophase.sizing.sizer import Features, OnlineSizer, request_or_plenty


class UserRequest(OnlineSizer):
    """Ask for what the user asks for."""

    def predict(self, task: str, features: Features) -> float:
        return request_or_plenty(features)

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        """Learn nothing: the request is the same every time."""
