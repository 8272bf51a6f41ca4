# SPDX-License-Identifier: Apache-2.0
"""An artifact as values for its template: what is in it, where it is from, and who used it."""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stoker.artifacts import (
    Artifact,
    InfraBlessing,
    Model,
    ModelBlessing,
    ModelEvaluation,
    ModelRun,
    PushedModel,
    State,
)
from stoker.errors import StokerError
from stoker.metadata.masking import mask_secrets
from stoker.metadata.neighbours import Neighbourhood, read_neighbourhood, read_uses
from stoker.metadata.records import MADE, USED, Execution
from stoker.metadata.store import Store
from stoker.storage.digests import DamagedManifest, Manifest
from stoker.storage.files import UnfitFile, list_tree, show_path
from stoker.storage.root import manifest_file
from stoker.views.artifact_views import content_view
from stoker.views.markup import escape
from stoker.views.model_tables import VERDICTS, formats_tables, verdict_on
from stoker.views.pages.pictures import Arrow, Box, draw_graph
from stoker.views.run_metrics import read_last_metrics
from stoker.views.table import Table, readable_number

_MOST_FILES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """One file of an artifact."""

    path: str
    shown: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What another artifact says of a model."""

    artifact: Artifact
    text: str


def make_artifact_values(store: Store, artifact: Artifact, base: str) -> dict[str, Any]:
    """All that is known of an artifact."""
    near, uses = store.ask(
        lambda connection: (
            read_neighbourhood(connection, artifact.id),
            read_uses(connection, artifact.id),
        )
    )
    around = {one.id: one for one in store.some_artifacts(near.artifact_ids)}
    files = list_files(artifact)
    return {
        "artifact": artifact,
        "maker": _find_maker(near, artifact.id),
        "uses": uses,
        "files": files[:_MOST_FILES],
        "num_files": len(files),
        "num_bytes": sum(file.size for file in files),
        "content": show_content(artifact),
        "lineage": _draw_lineage(near, around, artifact.id, base),
        "lineage_is_whole": near.is_whole,
        "findings": _find_findings(near, around, artifact),
        "formats": _list_formats(near, around, artifact),
        "tensorboard": isinstance(artifact, ModelRun) and os.path.isdir(artifact.uri),
    }


def _find_maker(near: Neighbourhood, artifact_id: int) -> Execution | None:
    makers = [one.execution_id for one in near.events if _is(one, artifact_id, MADE)]
    return next((one for one in near.executions if one.id in makers), None)


def _is(event: Any, artifact_id: int, types: Sequence[Any]) -> bool:
    return event.artifact_id == artifact_id and event.type in types


def show_content(artifact: Artifact) -> str:
    """The view of its type; what cannot be read is no reason to show nothing else."""
    try:
        return content_view(artifact)
    except (OSError, ValueError, KeyError, TypeError, StokerError) as error:
        return f'<p class="notice bad">Its files cannot be shown: {escape(str(error))}</p>'


def list_files(artifact: Artifact) -> list[FileRecord]:
    """The files of an artifact as they were published, or as they are there."""
    if artifact.state != State.LIVE:
        return []
    with contextlib.suppress(OSError, DamagedManifest):
        found = Manifest.read(manifest_file(artifact.uri)).files
        return [_describe_file(one.path, one.size) for one in found]
    with contextlib.suppress(OSError, UnfitFile):
        if os.path.isfile(artifact.uri):
            return [_describe_file("", os.path.getsize(artifact.uri))]
        paths = list_tree(artifact.uri).files
        sizes = (os.path.getsize(os.path.join(artifact.uri, path)) for path in paths)
        return [_describe_file(path, size) for path, size in zip(paths, sizes, strict=True)]
    return []


def _describe_file(path: str, size: int) -> FileRecord:
    return FileRecord(path=path, shown=show_path(path) or "(the file itself)", size=size)


def _draw_lineage(near: Neighbourhood, around: dict[int, Artifact], here: int, base: str) -> str:
    """Artifacts and the steps between them, from what came first to what came last."""
    boxes = [
        Box(
            id=f"a{one.id}",
            title=f"{one.type_name} {one.id}",
            text=one.state.name.lower() if one.state != State.LIVE else "",
            kind="here" if one.id == here else "artifact",
            link=f"{base}/artifact?id={one.id}",
            tip=mask_secrets(one.uri),
        )
        for one in around.values()
    ]
    boxes += [
        Box(
            id=f"e{one.id}",
            title=one.node_id,
            text=f"execution {one.id}",
            kind=one.standing,
            link=f"{base}/execution?id={one.id}",
            tip=one.run_id,
        )
        for one in near.executions
    ]
    arrows = [
        Arrow(
            source=f"e{one.execution_id}" if one.type in MADE else f"a{one.artifact_id}",
            target=f"a{one.artifact_id}" if one.type in MADE else f"e{one.execution_id}",
            text=", ".join(key for key, _ in one.places()),
        )
        for one in near.events
    ]
    return draw_graph(boxes, arrows, "What it was made from, and what was made from it")


def _find_findings(
    near: Neighbourhood, around: dict[int, Artifact], model: Artifact
) -> list[Judgement]:
    """What steps that read a model have said of it."""
    if not isinstance(model, Model):
        return []
    made = _list_made_from(near, around, model.id)
    found = [(one, _say_of_model(one)) for one in made]
    return [Judgement(artifact=one, text=text) for one, text in found if text]


def _list_made_from(
    near: Neighbourhood, around: dict[int, Artifact], model_id: int
) -> list[Artifact]:
    """What steps have made that read a model, not only to compare another one with it."""
    readers = {
        one.execution_id
        for one in near.events
        if _is(one, model_id, USED) and all(key != "baseline_model" for key, _ in one.places())
    }
    return [
        around[one.artifact_id]
        for one in near.events
        if one.execution_id in readers and one.type in MADE and one.artifact_id in around
    ]


def _say_of_model(artifact: Artifact) -> str:
    if isinstance(artifact, ModelEvaluation):
        metrics = read_last_metrics(artifact)
        return ", ".join(
            f"{name.removeprefix('eval_')} {readable_number(value)}"
            for name, value in metrics.items()
        )
    if isinstance(artifact, ModelBlessing | InfraBlessing):
        with contextlib.suppress(OSError):
            return VERDICTS[verdict_on(artifact)]
    if isinstance(artifact, PushedModel):
        place = artifact.custom_properties.get("pushed_destination")
        return f"pushed to {place}" if place else "not pushed"
    return ""


def _list_formats(near: Neighbourhood, around: dict[int, Artifact], model: Artifact) -> list[Table]:
    """The other formats of a model that models made from it are in."""
    if not isinstance(model, Model):
        return []
    made = _list_made_from(near, around, model.id)
    return formats_tables([one for one in made if isinstance(one, Model)])
