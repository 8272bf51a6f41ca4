# SPDX-License-Identifier: Apache-2.0
"""Other Pythons: isolated environments, made from the package index once and remembered by name.

finding.py  the Pythons of this machine, and what is in them
venvs.py    what can be made, and what was; <name>.txt has the exact versions
"""
