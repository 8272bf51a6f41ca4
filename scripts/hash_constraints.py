# SPDX-License-Identifier: Apache-2.0
"""Writes `constraints-hashed.txt`: the versions of `constraints.txt`, with digests of their files.

    python scripts/hash_constraints.py    # or `make hashes`, after every change of a version

The package index tells the digests of all files of a version, for every platform and Python; none
is downloaded. The result has names, versions and digests, and no addresses.
"""

import subprocess
from pathlib import Path

from uv import find_uv_bin

ROOT = Path(__file__).parent.parent
HEADER = "# Made by scripts/hash_constraints.py from constraints.txt.\n"


def main() -> None:
    """Ask the index, and write the file."""
    options = ["--no-deps", "--universal", "--generate-hashes", "--no-header", "--no-annotate"]
    command = [find_uv_bin(), "pip", "compile", "--quiet", *options, "constraints.txt"]
    hashed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "://" not in hashed, "an address has come with the digests"
    (ROOT / "constraints-hashed.txt").write_text(HEADER + hashed)


if __name__ == "__main__":
    main()
