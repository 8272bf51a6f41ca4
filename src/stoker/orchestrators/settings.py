# SPDX-License-Identifier: Apache-2.0
"""What runners of other orchestrators have in common: settings, and the file that they stand in."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from stoker.dsl.parameters import RuntimeParameter
from stoker.metadata.masking import environment, find_secrets, mask_secrets
from stoker.views.table import readable_path


class Settings:
    """What an orchestrator is told: taken, whatever it is, since nothing here is meant by it.

    Fields are there when they are asked for, as in messages: `config.mysql_db_name.value = "db"`.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> "Settings":
        if name.startswith("__"):
            raise AttributeError(name)
        field = Settings()
        setattr(self, name, field)
        return field


def make_settings(*_: Any, **__: Any) -> Settings:
    """Settings, as TFX would fill them in."""
    return Settings()


def make_operator_funcs(*_: Any, **__: Any) -> list[Any]:
    """The functions that TFX would change a workflow's steps with: none."""
    return []


def make_pod_labels(*_: Any, **__: Any) -> dict[str, str]:
    """The labels that TFX would put on a workflow's pods: none, to be added to."""
    return {}


def find_program() -> str:
    """The pipeline file that is being executed, as a command on this machine names it."""
    return readable_path(sys.argv[0]) if sys.argv[0].endswith(".py") else "FILE"


def name_in_image(given: str | None) -> str:
    """The pipeline file's path in the image: as it is from the folder that is copied there."""
    if given:
        return given
    path = os.path.relpath(os.path.abspath(sys.argv[0]))
    if not path.endswith(".py") or path.startswith(os.pardir):
        raise ValueError(
            f"The pipeline file {sys.argv[0]!r} is not below this folder, from which an image is "
            "made. Start it there, or say where it is in the image: …Config(pipeline_file=…)."
        )
    return path


def refuse_secrets(parameters: Mapping[str, RuntimeParameter], said: Mapping[str, Any]) -> None:
    """Raise if a parameter's default is a secret, or what else a file for others would tell.

    `said` is what the file is to hold, by what users call it.
    """
    for name, parameter in parameters.items():
        told = {name: parameter.default}
        if parameter.default is not None and mask_secrets(told) != told:
            raise ValueError(
                f"The default of the parameter {name!r} is a secret, and would be in the file. "
                "Leave it out, or name a secret of the cluster: …Config(secrets={"
                f"{name!r}: ('SECRET', 'KEY')}})."
            )
    for what, value in said.items():
        if mask_secrets(value) != value:
            raise ValueError(
                f"{what} hold a secret, which would be in the file: {mask_secrets(value)}. Leave "
                "it out, or name a secret of the cluster: …Config(secrets={'NAME': ('SECRET', "
                "'KEY')})."
            )


def refuse_quoted_secrets(text: str, what: str) -> None:
    """Raise if a text that is for others quotes a secret of this program."""
    known = find_secrets(environment(), sys.argv)
    if known.mask_quoted(text) != text:
        raise ValueError(
            f"{what} would hold a secret of this environment. Take it out of the image's name, the "
            "parameters and their defaults, and give it where the steps run."
        )
