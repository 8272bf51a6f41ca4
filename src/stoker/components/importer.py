# SPDX-License-Identifier: Apache-2.0
"""Importer: files that no step made, such as a schema edited by hand, as an artifact."""

import os
from typing import Any, ClassVar

from stoker.any_python import fileio
from stoker.any_python.layout import is_remote
from stoker.artifacts import Artifact, PropertyValue
from stoker.dsl import Channel, Node, RuntimeParameter
from stoker.dsl.parameters import substitute
from stoker.dsl.users_files import find_declaring_folder, find_users_path
from stoker.storage.digests import describe


class Importer(Node):
    """Registers files that no step has made; they stay where they are."""

    TYPE_NAME: ClassVar = "tfx.dsl.components.common.importer.Importer"

    def __init__(
        self,
        source_uri: str | RuntimeParameter,
        artifact_type: type[Artifact],
        reimport: bool = False,
        properties: dict[str, PropertyValue] | None = None,
        custom_properties: dict[str, PropertyValue] | None = None,
        output_key: str | None = None,
        instance_name: str | None = None,
    ) -> None:
        """Declare the step.

        Args:
            source_uri: Where the files are.
            artifact_type: What they are, such as `Schema`.
            reimport: Whether to register the same content at the same place again in every run;
                by default it is registered once.
            properties: Properties of the artifact that its type declares, such as `split_names`.
            custom_properties: Other properties of the artifact.
            output_key: The key of the output; "result" by default.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        self.source_uri = source_uri
        self._declaring_folder = find_declaring_folder()
        self.artifact_type = artifact_type
        self.reimport = reimport
        self.output_key = output_key or "result"
        self._properties = dict(properties or {})
        self._custom_properties = dict(custom_properties or {})
        channel = Channel(
            artifact_type,
            additional_properties=self._properties,
            additional_custom_properties=self._custom_properties,
        )
        super().__init__(outputs={self.output_key: channel}, instance_name=instance_name)

    @property
    def exec_properties(self) -> dict[str, Any]:  # noqa: D102
        return {
            "source_uri": self.source_uri,
            "reimport": int(self.reimport),
            "output_key": self.output_key,
        }

    def find_uri(self, given: dict[str, Any]) -> str:
        """Where the files are, or should be."""
        path = substitute(self.source_uri, given)
        if is_remote(path):
            return str(path).rstrip("/")
        return os.path.abspath(find_users_path(path, self._declaring_folder))

    def artifact(self, given: dict[str, Any]) -> Artifact:
        """The files as an artifact, with a digest of their content."""
        uri = self.find_uri(given)
        if not fileio.exists(uri):
            raise ValueError(f"{self.id}: there is nothing at source_uri={uri!r}. Check the path.")
        artifact = self.artifact_type()
        artifact.uri = uri
        artifact.properties |= self._properties
        artifact.custom_properties |= self._custom_properties
        artifact.custom_properties["content_digest"] = _digest(uri)
        artifact.custom_properties["is_external"] = 1
        return artifact


def _digest(uri: str) -> str:
    """What is there, by its content; in a bucket, by its versions."""
    if not is_remote(uri):
        return describe(uri).digest
    from stoker.storage.places import list_objects
    from stoker.storage.staging import digest_objects

    return digest_objects(list_objects(uri), uri)


class ImporterNode(Importer):
    """Importer's old name, with the old order of arguments."""

    def __init__(
        self,
        instance_name: str,
        source_uri: str | RuntimeParameter,
        artifact_type: type[Artifact],
        reimport: bool = False,
        properties: dict[str, PropertyValue] | None = None,
        custom_properties: dict[str, PropertyValue] | None = None,
    ) -> None:
        """Declare the step; the arguments are those of Importer."""
        super().__init__(
            source_uri,
            artifact_type,
            reimport,
            properties,
            custom_properties,
            instance_name=instance_name,
        )
