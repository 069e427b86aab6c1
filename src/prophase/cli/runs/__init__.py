"""prophase runs: have many runs of a pipeline deployed, executed and profiled."""

from prophase.cli.command_group import command_group

#: subcommand -> module and function of this folder; the order is that of the help page
SUBCOMMANDS = {
    "demo": "campaign:demo_command",
    "init": "campaign:init_command",
    "register": "campaign:register_command",
    "work": "worker:work_command",
    "tick": "worker:tick_command",
    "status": "progress:status_command",
    "show": "progress:show_command",
    "tasks": "progress:tasks_command",
    "reset": "progress:reset_command",
    "set": "campaign:set_command",
    "profile": "measurements:profile_command",
    "export": "measurements:export_command",
}

app = command_group(
    __name__,
    SUBCOMMANDS,
    help="""Run a pipeline for many scenarios and dates, unattended, and measure every task.

    Examples:

    `prophase runs init pipeline.yaml`

    `prophase runs register scenarios.yaml --dates 2024-01-01..2024-03-31/7`

    `prophase runs work`
    """,
)
