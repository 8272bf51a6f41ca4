# SPDX-License-Identifier: Apache-2.0
"""Other Pythons: isolated environments, made from the package index once and remembered by name.

interpreters.py  the Pythons of this machine, and what is in them
recipes.py       what can be made; <name>.txt has the exact versions
kept.py          what was made: `$STOKER_HOME/envs/<name>`
"""

from stoker.environments.interpreters import (
    Interpreter,
    find_python,
    inspect_python,
    scrubbed,
)
from stoker.environments.kept import Made, create, find, home, made, remove, resolve
from stoker.environments.recipes import RECIPES, Recipe

__all__ = [
    "RECIPES",
    "Interpreter",
    "Made",
    "Recipe",
    "create",
    "find",
    "find_python",
    "home",
    "inspect_python",
    "made",
    "remove",
    "resolve",
    "scrubbed",
]
