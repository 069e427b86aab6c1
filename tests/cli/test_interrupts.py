from __future__ import annotations

import subprocess
import sys

IN_A_DESTRUCTOR = """
import signal, time
from prophase.cli.main import interrupts_passed_on

# a shell that starts the tests in the background has it ignored
signal.signal(signal.SIGINT, signal.default_int_handler)

class Held:
    def __del__(self):
        raise ERROR

with interrupts_passed_on():
    Held()
    try:
        for _ in range(600):
            time.sleep(0.1)
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_ctrl_c_that_hits_a_destructor_is_not_lost_and_leaves_no_remark():
    code = IN_A_DESTRUCTOR.replace("ERROR", "KeyboardInterrupt")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_other_errors_of_a_destructor_are_remarked_on_as_ever():
    code = IN_A_DESTRUCTOR.replace("ERROR", "ValueError").replace("range(600)", "range(1)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Exception ignored" in done.stderr
    assert "ValueError" in done.stderr
