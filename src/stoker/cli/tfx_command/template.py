# SPDX-License-Identifier: Apache-2.0
"""`tfx template`: projects to start from.

To add one, put its folder into template_files/, without what is in _common, which all of them have.
{{PIPELINE_NAME}} in its files becomes the name.
"""

import os
from collections.abc import Iterator

import click

from stoker.any_python.layout import check_file_name
from stoker.cli.printing import print_line
from stoker.cli.tfx_command.options import option, takes_name

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "template_files")
_COMMON = "_common"
_NAME = b"{{PIPELINE_NAME}}"


@click.group()
def template() -> None:
    """Start a project from one that runs."""


@template.command("list")
def list_() -> int:
    """List the templates."""
    print_line("\n".join(["Available templates:", *(f"- {name}" for name in list_templates())]))
    return 0


@template.command()
@takes_name
@option("destination_path", required=True, help="The folder that the project goes to.")
@option("model", required=True, help="The template: see tfx template list.")
def copy(pipeline_name: str, destination_path: str, model: str) -> int:
    """Copy a template to a folder; what is there and differs is not overwritten."""
    check_file_name(pipeline_name, "A pipeline's name")
    if model not in list_templates():
        raise click.UsageError(
            f"There is no template {model!r}; there is {', '.join(list_templates())}."
        )
    files = {
        os.path.join(destination_path, name): content.replace(_NAME, pipeline_name.encode())
        for folder in (_COMMON, model)
        for name, content in _read_files(os.path.join(_FOLDER, folder))
    }
    for path, content in files.items():
        if os.path.lexists(path) and _read(path) != content:
            raise ValueError(
                f"{path} exists, and is not what the template has. Choose another "
                "--destination_path, or move it away."
            )
    for path, content in files.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
    print_line("\n".join([f"Copied the template {model} to:", *files]))
    return 0


def list_templates() -> list[str]:
    """The names of the templates."""
    return sorted(name for name in os.listdir(_FOLDER) if name.isidentifier() and name[0] != "_")


def _read_files(folder: str) -> Iterator[tuple[str, bytes]]:
    """The files of a template, by their paths below its folder."""
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for name in sorted(names):
            path = os.path.join(where, name)
            yield os.path.relpath(path, folder), _read(path)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
