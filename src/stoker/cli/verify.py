# SPDX-License-Identifier: Apache-2.0
"""`stoker verify`: published files against the manifests that were written with them."""

from dataclasses import asdict, dataclass

import click

from stoker.any_python.layout import is_remote
from stoker.artifacts import Artifact
from stoker.cli.lookup import find_artifact
from stoker.cli.options import json_option, with_store
from stoker.cli.printing import print_answer
from stoker.metadata.store import Store
from stoker.runner.inputs import is_sealed
from stoker.storage.digests import find_problems
from stoker.views.table import Table, readable_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A file that is not what was published."""

    artifact: int
    path: str
    problem: str


@click.command()
@click.argument("artifacts", nargs=-1, metavar="[ARTIFACT]...")
@json_option
@with_store(by="artifacts")
def verify(store: Store, artifacts: tuple[str, ...], as_json: bool) -> int:
    """Check that the files of ARTIFACTs, or of all, are as they were when they were published.

    In a bucket, by what a listing tells of each object: its version is another as soon as it is.
    Files that an Importer registered are yours to change, and are not checked.
    """
    wanted = [find_artifact(store, name) for name in artifacts] or store.artifacts()
    sealed = [artifact for artifact in wanted if is_sealed(artifact)]
    found = [wrong for artifact in sealed for wrong in list_damage(artifact)]
    num_others = len(wanted) - len(sealed)
    damage = [asdict(file) for file in found]
    record = {"compared": len(sealed), "not_compared": num_others, "damage": damage}
    rows = [(str(file.artifact), readable_path(file.path), file.problem) for file in found]
    tables = [Table(columns=("artifact", "file", "problem"), rows=rows)] if found else []
    print_answer(record, *tables, _verdict(len(sealed), num_others, found), as_json=as_json)
    return 1 if found else 0


def _verdict(num_compared: int, num_others: int, found: list[Damage]) -> str:
    others = f"; {num_others} from outside not compared" if num_others else ""
    if not found:
        return f"{num_compared} artifacts are as they were published{others}."
    num_damaged = len({file.artifact for file in found})
    return f"{num_damaged} of {num_compared} artifacts are damaged{others}."


def list_damage(artifact: Artifact) -> list[Damage]:
    """Every file of an artifact that is missing, was added, or is not what it was."""
    if is_remote(artifact.uri):
        from stoker.storage.upload import find_problems_there

        digest = artifact.get_string_custom_property("content_digest")
        found = find_problems_there(artifact.uri, digest)
    else:
        found = find_problems(artifact.uri, by_digest=True)
    return [Damage(artifact=artifact.id, path=path, problem=problem) for path, problem in found]
