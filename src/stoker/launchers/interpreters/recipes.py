# SPDX-License-Identifier: Apache-2.0
"""What environments can be made: for each name, which Pythons fit and what is put in.

The file `<name>.txt` beside this one lists every package with its exact version, dependencies
included, and is installed as it stands: nothing is resolved, so an environment is the same
whenever it is made, and a package may be left out though another one asks for it.
"""

import hashlib
import os
from dataclasses import dataclass

_HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to make an environment."""

    name: str
    pythons: tuple[str, ...]
    """The versions of Python that its packages run on, the preferred one first."""
    summary: str

    @property
    def requirements(self) -> str:
        """The file with its packages, one `name==version` to a line."""
        return os.path.join(_HERE, f"{self.name}.txt")

    def digest(self) -> str:
        """What changes when the packages do."""
        with open(self.requirements, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="tf-1.15",
            pythons=("3.7",),
            summary="TensorFlow 1.15.5, Transform 1.11, Estimators",
        ),
        Recipe(
            name="tf-2.15",
            pythons=("3.11", "3.10", "3.9"),
            summary="TensorFlow 2.15.1, Keras 2, Transform 1.15, Estimators",
        ),
        Recipe(
            name="tfjs",
            pythons=("3.11", "3.12", "3.13"),
            summary="tensorflowjs 4.22, the converter to TensorFlow.js",
        ),
    )
}
"""The environments that `create` knows, by name."""
