# SPDX-License-Identifier: Apache-2.0
"""Pipelines that were created: their files, roots and stores, where TFX keeps them.

$LOCAL_HOME, or ~/tfx/local
    <pipeline name>/pipeline_args.json
"""

import json
import os
import shutil
from dataclasses import asdict, dataclass
from typing import Self

from stoker.any_python.layout import check_file_name
from stoker.dsl.parameters import substitute
from stoker.dsl.pipeline import Pipeline
from stoker.metadata.config import as_place, find_store_variable
from stoker.metadata.store import Store
from stoker.storage.files import write_whole

_FILE = "pipeline_args.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """A pipeline that was created; the names of the first three are TFX's."""

    pipeline_name: str
    pipeline_root: str
    pipeline_dsl_path: str
    metadata_path: str
    """The file of its store, or the URL of one on a server, without the password."""

    @classmethod
    def of(cls, pipeline: Pipeline, path: str) -> Self:
        """What is kept of a pipeline that the file at `path` runs."""
        root = os.path.abspath(substitute(pipeline.pipeline_root, {}))
        return cls(
            pipeline_name=pipeline.pipeline_name,
            pipeline_root=root,
            pipeline_dsl_path=os.path.abspath(path),
            metadata_path=pipeline.store_config(root).place,
        )

    def open_store(self) -> Store:
        """The store of its runs, open; an error that says how to run it, if it was not."""
        config = find_store_variable() or as_place(self.metadata_path)
        if not config.exists():
            raise ValueError(
                f"{self.pipeline_name!r} has not been run. Run it: tfx run create "
                f"--pipeline_name={self.pipeline_name}"
            )
        return Store(config)

    def save(self) -> None:
        """Keep it."""
        with write_whole(_file_of(self.pipeline_name)) as file:
            file.write(json.dumps(asdict(self), indent=2).encode())

    def remove(self) -> None:
        """Forget it; its files, and what its runs made, stay."""
        shutil.rmtree(os.path.dirname(_file_of(self.pipeline_name)))


def find_created(name: str) -> Created | None:
    """The pipeline of this name, if it was created; what TFX wrote can be read too."""
    try:
        with open(_file_of(name), encoding="utf-8") as file:
            known = json.load(file)
    except FileNotFoundError:
        return None
    default = os.path.join(known["pipeline_root"], "metadata.db")
    return Created(
        pipeline_name=known["pipeline_name"],
        pipeline_root=known["pipeline_root"],
        pipeline_dsl_path=known["pipeline_dsl_path"],
        metadata_path=known.get("metadata_path", default),
    )


def get_created(name: str) -> Created:
    """The pipeline of this name; an error that says how to create it, if it was not."""
    found = find_created(name)
    if found is None:
        known = ", ".join(list_created()) or "none"
        raise ValueError(
            f"There is no pipeline {name!r}; there is {known}. "
            "Create it: tfx pipeline create --pipeline_path=FILE."
        )
    return found


def list_created() -> list[str]:
    """The names of the pipelines that were created."""
    home = _find_home()
    names = os.listdir(home) if os.path.isdir(home) else []
    return sorted(name for name in names if os.path.isfile(os.path.join(home, name, _FILE)))


def _file_of(name: str) -> str:
    return os.path.join(_find_home(), check_file_name(name, "A pipeline's name"), _FILE)


def _find_home() -> str:
    return os.environ.get("LOCAL_HOME") or os.path.join(os.path.expanduser("~"), "tfx", "local")
