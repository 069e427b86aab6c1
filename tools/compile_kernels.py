"""Compile the simulator's kernels, so that test workers find them on the disk.

Two workers that start without them compile each for itself. One process does it once, beside the
checks of style and types (``make test``).
"""

from __future__ import annotations

import time

from prophase.sim.compilation import compile_all

if __name__ == "__main__":
    count = compile_all()
    print(f"{count} kernels compiled in {time.process_time():.0f} s of processor time.")
