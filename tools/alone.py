"""Run a command while no other holds this file: two installations would write into one another.

Where nothing can be written beside the file, say so, before pip does at length.

python tools/alone.py FILE COMMAND ...
"""

import fcntl
import os
import sys


def main(file: str, *command: str) -> None:
    """Become the command, which then holds the file until it ends, however it ends."""
    folder = os.path.dirname(os.path.abspath(file))
    if not os.access(folder, os.W_OK):
        sys.exit(f"{folder} cannot be written to: copy it to a folder of yours, and make it there.")
    held = os.open(file, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("Another make installs or builds here; this one goes on after it.", flush=True)
        fcntl.flock(held, fcntl.LOCK_EX)
    os.set_inheritable(held, True)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
