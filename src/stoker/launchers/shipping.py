# SPDX-License-Identifier: Apache-2.0
"""The user's own code on its way to another machine: a module, its neighbours, a pipeline file.

Where a machine has the same files at the same paths, as on shared storage, those are used.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

from stoker.any_python.modules import is_installed
from stoker.task import Task
from stoker.user_code.fingerprint import files_of
from stoker.user_code.imports import find_module

Shipment = Mapping[str, bytes]
"""Files by the paths that they have at home."""


def pack(task: Task) -> Shipment:
    """The user's files that a task loads, as far as their text tells."""
    roots = [path for path in _list_files(task) if not is_installed(path)]
    files = {file for root in roots for file in files_of(root, task.import_paths)}
    return {path: content for path in sorted(files) if (content := _read(path)) is not None}


def unpack(task: Task, code: Shipment, folder: str) -> Task:
    """The task as it is here; missing files come to `folder`, below their paths at home."""
    if all(_read(path) == content for path, content in code.items()):
        return task
    for path, content in code.items():
        here = folder + path
        os.makedirs(os.path.dirname(here), exist_ok=True)
        with open(here, "wb") as file:
            file.write(content)
    return replace(
        task,
        moved_to=folder,
        executor=_move(task.executor, code, folder),
        user_file=task.user_file and _move(task.user_file, code, folder),
        artifact_classes={
            name: _move(where, code, folder) for name, where in task.artifact_classes.items()
        },
        parameters={
            name: _move(value, code, folder) if isinstance(value, str) else value
            for name, value in task.parameters.items()
        },
        import_paths=tuple(
            path
            for local in task.import_paths
            for path in (folder + local, local)
            if path == local or os.path.isdir(path)
        ),
    )


def _list_files(task: Task) -> Iterator[str]:
    """The files that a task names: the user's file, `file.py:Name`, `package.module:Name`."""
    if task.user_file:
        yield os.path.abspath(task.user_file)
    for reference in (task.executor, *task.artifact_classes.values()):
        where = reference.rpartition(":")[0]
        if where.endswith(".py"):
            yield where
        elif not where.startswith("stoker.") and (found := find_module(where, task.import_paths)):
            yield found


def _move(text: str, code: Shipment, folder: str) -> str:
    """A path, or `path:Name`, where it is here."""
    path, colon, name = text.partition(":")
    return (
        f"{folder}{os.path.abspath(path)}{colon}{name}" if os.path.abspath(path) in code else text
    )


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
