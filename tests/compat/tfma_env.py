# SPDX-License-Identifier: Apache-2.0
"""TFMA 0.46 in an environment of its own, made on first use under `.envs/`.

It was the last that evaluates EvalSavedModels, and lives on TensorFlow 2.15. `tfma-0.46.txt` lists
what it imports; it asks for twice as much.
"""

from pathlib import Path

import pytest

from stoker.launchers.interpreters.venvs import Recipe, create

HERE = Path(__file__).parent


class _BesideThisFile(Recipe):
    """A recipe whose list of packages is not Stoker's."""

    @property
    def requirements(self) -> str:
        return str(HERE / f"{self.name}.txt")


def python() -> str:
    """The interpreter that can import tensorflow_model_analysis."""
    recipe = _BesideThisFile(
        name="tfma-0.46", pythons=("3.11",), summary="TFMA 0.46 on TensorFlow 2.15"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STOKER_HOME", str(HERE.parents[1] / ".envs"))
        return create(recipe, print)
