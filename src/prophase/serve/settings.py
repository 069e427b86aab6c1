"""How a service is set up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ServiceSettings:
    """Where a service listens, and what it allows.

    Parameters
    ----------
    host, port : str, int
        Address. Other than loopback needs tokens.
    names : tuple of str
        Names beside loopback by which a service on loopback may be opened.
    certificate, key : path, optional
        PEM files for TLS.
    campaign : path, optional
        Folder of a campaign of runs; ``campaign`` in the workspace if not given.
    reload_every_s : float
        How often the workspace is looked at for new tables and models; 0 never.
    max_body_bytes : int
        Larger requests are refused.
    timeout_s : float
        A request that takes longer is given up.
    requests_per_s : float
        Most requests per caller and second over a longer time; 0 for no limit.
    tasks_at_once : int
        How many background tasks compute at the same time; others wait.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    campaign: Path | None = None
    reload_every_s: float = 2.0
    max_body_bytes: int = 16 << 20
    timeout_s: float = 60.0
    requests_per_s: float = 500.0
    tasks_at_once: int = 1

    @property
    def address(self) -> str:
        """Return what to type into a browser.

        Examples
        --------
        >>> ServiceSettings().address
        'http://127.0.0.1:8765/'
        """
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.certificate else ''}://{name}:{self.port}/"


def campaign_folder(settings: ServiceSettings, workspace: Path) -> Path:
    """Return where the campaign of runs is: the folder named, or the one in the workspace."""
    return settings.campaign or workspace / "campaign"
