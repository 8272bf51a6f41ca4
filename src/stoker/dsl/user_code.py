# SPDX-License-Identifier: Apache-2.0
"""What the steps that call a user's own function have in common: where it is, and its config."""

import json
from typing import Any, ClassVar

from stoker.dsl.component import BaseComponent, UserCode
from stoker.dsl.parameters import RuntimeParameter
from stoker.dsl.placeholders import is_open

__all__ = ["UserCodeComponent", "check_one_of", "config_as_json"]


class UserCodeComponent(BaseComponent):
    """A step that calls a function from `module_file`, or one that is named by its dotted path."""

    FUNCTIONS: ClassVar[tuple[str, ...]]
    """The parameters that can name the function."""
    keras: int | None = None
    """The Keras that was asked for, if one was."""
    python: str | None = None
    """The other interpreter that was asked for, if one was."""

    def user_code(self, parameters: dict[str, Any]) -> UserCode:
        """The file or module with the user's function."""
        dotted = next((parameters[name] for name in self.FUNCTIONS if parameters.get(name)), "")
        return UserCode(
            module_file=parameters.get("module_file"),
            module=dotted.rpartition(".")[0] or None,
            keras=self.keras,
            python=self.python,
        )

    def ask_for_keras(self, keras: int | None) -> None:
        """Note which Keras the step should get; None leaves it to the module's imports."""
        if keras not in (None, 2, 3):
            raise ValueError(f"{type(self).__name__}(keras=…) takes 2 or 3, got {keras!r}.")
        self.keras = keras


def check_one_of(component: str, **given: Any) -> None:
    """Refuse a step that is given none, or more than one, of these arguments."""
    named = [name for name, value in given.items() if value]
    if len(named) != 1:
        *most, last = given
        raise ValueError(
            f"{component} needs exactly one of {', '.join(most)} and {last}, got "
            f"{' and '.join(named) or 'none of them'}."
        )


def config_as_json(component: str, config: dict[str, Any] | RuntimeParameter | None) -> Any:
    """A custom_config as JSON text; what in it is known later has to get its value first."""
    if is_open(config):
        return config
    try:
        return json.dumps(config)
    except TypeError as error:
        raise ValueError(
            f"{component}(custom_config=…) takes what JSON can say, and {error}."
        ) from error
