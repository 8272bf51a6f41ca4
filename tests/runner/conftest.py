# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys

# For bucket_server.py.
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "storage"))
