# SPDX-License-Identifier: Apache-2.0
"""Whether the files of artifacts are still those that were published."""

import os

from stoker.artifacts import Artifact, ArtifactMap, InfraBlessing, SystemType, every
from stoker.dsl.component import Node
from stoker.errors import StepFailed
from stoker.storage.manifest import describe, find_problems, restore_manifest
from stoker.storage.root import manifest_file


def is_sealed(artifact: Artifact) -> bool:
    """Whether Stoker wrote a manifest for it: not for files from outside, nor for TFX's."""
    known = artifact.custom_properties
    return "content_digest" in known and not known.get("is_external")


def find_damage(artifact: Artifact, *, by_digest: bool = False) -> str:
    """What is wrong with an artifact's files: the first that is not what it was, or nothing.

    Files from outside have no manifest: they are only compared `by_digest`. A manifest that is lost
    is written anew where the store's digest tells that the files are right.
    """
    if is_sealed(artifact):
        for path, problem in find_problems(artifact.uri, by_digest=by_digest):
            is_lost = path == manifest_file(artifact.uri)
            digest = artifact.get_string_custom_property("content_digest")
            if not (is_lost and restore_manifest(artifact.uri, digest)):
                return f"{path}: {problem}"
        return ""
    return _find_change(artifact) if by_digest else ""


def _find_change(artifact: Artifact) -> str:
    if not os.path.exists(artifact.uri):
        return f"{artifact.uri} is gone"
    known = artifact.custom_properties.get("content_digest")
    try:
        changed = known and known != describe(artifact.uri).digest
    except OSError as error:
        return str(error)
    return f"the files of {artifact.uri} are not those that were published" if changed else ""


def refuse_damaged_inputs(node: Node, inputs: ArtifactMap) -> None:
    """Raise StepFailed if a step would be given files that are not those that were published."""
    for artifact in every(inputs):
        if damage := find_damage(artifact, by_digest=_may_be_served(artifact)):
            raise StepFailed(
                f"{node.id} was not started: its {artifact.type_name} is not what was published: "
                f"{damage}. `stoker verify` tells every such file. Run the pipeline again, and "
                "what is damaged is made anew."
            )


def _may_be_served(artifact: Artifact) -> bool:
    """Whether it is a model that others are given, or may hold one."""
    return artifact.system_type() is SystemType.MODEL or isinstance(artifact, InfraBlessing)
