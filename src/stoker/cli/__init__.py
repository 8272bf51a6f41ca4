# SPDX-License-Identifier: Apache-2.0
"""The command line.

app.py        the list of commands, and how each ending becomes an exit code
<command>.py  one file per command, named like it
options.py    what several commands take, and which store is meant
lookup.py     what a name on the command line stands for in the store
printing.py   one answer, as JSON or as text: tables, pairs, lines
"""

from stoker.cli.app import main

__all__ = ["main"]
