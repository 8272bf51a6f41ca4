# SPDX-License-Identifier: Apache-2.0
"""The command line.

app.py        the list of commands, and how each ending becomes an exit code
<command>.py  one file per command, named like it
stores.py     which store is meant
lookup.py     what a name on the command line stands for in it
printing.py   tables, trees of text, JSON
"""

from stoker.cli.app import main

__all__ = ["main"]
