# SPDX-License-Identifier: Apache-2.0
"""What `stoker check` reads and says. Nothing of the user's is imported or run.

sources.py   which files: a file, a folder or a notebook, and what they import or name
notebooks.py the cells of a notebook as Python text, and the files that they write
names.py     what the names in a file stand for
paths.py     the paths that a file gives, as far as its text says them
steps.py     what steps are given that is not there: functions, interpreters, data, labels
findings.py  what runs, differs, needs something or is refused, line by line
"""
