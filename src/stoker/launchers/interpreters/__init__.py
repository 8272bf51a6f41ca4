# SPDX-License-Identifier: Apache-2.0
"""Other Pythons: isolated environments, made from the package index once and remembered by name.

finding.py  the Pythons of this machine, and what is in them
recipes.py  what can be made; <name>.txt has the exact versions
venvs.py    what was made: `$STOKER_HOME/envs/<name>`
"""

from stoker.launchers.interpreters.finding import (
    Interpreter,
    find_python,
    inspect_python,
    scrub,
)
from stoker.launchers.interpreters.recipes import RECIPES, Recipe
from stoker.launchers.interpreters.venvs import (
    Venv,
    create,
    find,
    home,
    list_venvs,
    remove,
    resolve,
)

__all__ = [
    "RECIPES",
    "Interpreter",
    "Recipe",
    "Venv",
    "create",
    "find",
    "find_python",
    "home",
    "inspect_python",
    "list_venvs",
    "remove",
    "resolve",
    "scrub",
]
