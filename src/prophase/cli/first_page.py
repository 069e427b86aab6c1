"""What ``prophase`` and ``prophase --help`` show: the commands by what one wants to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from prophase.cli.command_group import CommandGroup

if TYPE_CHECKING:
    from typer._click.formatting import HelpFormatter

#: what one wants to do -> command -> what it does; one with no words is only named
PAGE = {
    "Start": {
        "demo": "See everything once, offline, on a synthetic trace",
        "study": "Run the whole loop on your trace, from import to report",
        "report": "List, show or redraw the reports of a workspace",
        "init": "",
    },
    "Data": {
        "import": "Read a trace into a workspace: Slurm, Kubernetes, CSV, ...",
        "describe": "Summarise a trace: load, run times, waits, requests, use",
        "collect": "Take what ended since the last time from Slurm",
        "lint": "Check a trace for errors",
        "fetch": "", "synth": "", "show": "", "sample": "", "split": "",
    },
    "Predict": {
        "ask": "Predict run time and use of one job before it is submitted",
        "learn": "Train the models of a workspace",
        "evaluate": "Compare prediction methods with baselines",
        "profile": "Group jobs by how they use resources",
        "phase": "Find the phases of jobs while they run",
        "predict": "", "slo": "", "nodes": "", "next": "",
    },
    "Size": {
        "size": "Recommend requests, at a risk you choose",
        "prove": "Prove a recommendation on your own history",
        "sbatch": "Recommend what a Slurm script should request",
        "autoscale": "Compare policies that resize while jobs run",
        "assess": "", "ledger": "",
    },
    "Simulate": {
        "simulate": "Replay a trace on a cluster: waits and utilisation",
        "why": "Split waiting time by cause",
        "whatif": "Compare changes: more nodes, other policies, more load",
        "eta": "Predict when a waiting job will start",
        "queue": "Look at a live Slurm queue, and run it forward",
        "sweep": "", "validate": "", "queueing": "",
    },
    "Operate": {
        "serve": "Serve the dashboard and the HTTP API",
        "runs": "Run a pipeline for many scenarios, and measure every task",
        "log": "Run a command and record what it uses",
        "mcp": "", "watch": "", "retry": "", "cure": "", "digest": "",
    },
    "Research": {
        "reproduce": "Repeat published experiments",
        "findings": "", "schedule-study": "",
    },
}  # fmt: skip

_GROUP, _NAME = 10, 11


class FirstPage(CommandGroup):
    """The program itself; its help fits one screen and imports no command."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        return super().parse_args(ctx, args or ["--help"])

    def format_help(self, ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        formatter.write(first_page(self.help or "") + "\n")


def first_page(about: str) -> str:
    """Return the help of the program.

    Examples
    --------
    >>> len(first_page("Know what jobs need.").splitlines()) <= 40
    True
    """
    lines = ["Usage: prophase COMMAND [ARGUMENTS] [OPTIONS]", "", about, ""]
    for group, commands in PAGE.items():
        told = [(name, words) for name, words in commands.items() if words]
        rest = ", ".join(name for name, words in commands.items() if not words)
        heading = typer.style(group.ljust(_GROUP), bold=True)
        for name, words in told:
            lines.append(f"{heading}{typer.style(name.ljust(_NAME), fg='cyan')}{words}")
            heading = " " * _GROUP
        if rest:
            lines.append(f"{heading}{'also:'.ljust(_NAME)}{rest}")
    return "\n".join(
        [
            *lines,
            "",
            "Options of every command: --json, --debug, --help",
            "Other options: --version, --install-completion, --show-completion",
            "Help with one: prophase COMMAND --help. Start with: prophase demo --quick",
        ]
    )
