"""A stand-in for a task: hold some memory, work a little, and end.

work.py MIB [SECONDS]
"""

import sys
import time


def main(held_mib: float, seconds: float = 0.2) -> None:
    """Hold so much memory for so long."""
    held = bytearray(int(held_mib * 2**20))
    held[::4096] = b"x" * len(held[::4096])
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(2000))
        time.sleep(0.01)
    print(f"held {held_mib:g} MiB for {seconds:g} s")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
