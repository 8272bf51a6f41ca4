# SPDX-License-Identifier: Apache-2.0
"""`python box_pipeline.py ROOT PARALLEL`: a slow search, for tests that kill it."""

import sys
from pathlib import Path

from searching import run, slow_box

if __name__ == "__main__":
    run(Path(sys.argv[1]), None, slow_box(Path(sys.argv[1]), int(sys.argv[2])))
