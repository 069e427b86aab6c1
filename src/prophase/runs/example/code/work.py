"""A stand-in for a task: hold some memory, work a little, and end.

work.py MIB [SECONDS]
"""

import sys
import time

held_mib = float(sys.argv[1])
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.2
held = bytearray(int(held_mib * 2**20))
held[::4096] = b"x" * len(held[::4096])
until = time.monotonic() + seconds
while time.monotonic() < until:
    sum(range(2000))
    time.sleep(0.01)
print(f"held {held_mib:g} MiB for {seconds:g} s")
