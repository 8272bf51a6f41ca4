# SPDX-License-Identifier: Apache-2.0
"""What an ExampleGen finds out before its executor runs: which span of its data is to be read.

A component of a user's own gets the same with `DRIVER_CLASS = FileBasedDriver`.
"""

import abc
from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format

from stoker.artifacts import ArtifactMap, Examples
from stoker.components.example_gen.configs import parse_range
from stoker.components.example_gen.spans import below, choose, choose_of_query
from stoker.dsl.executor import BaseDriver, parse_message
from stoker.dsl.proto.example_gen_pb2 import Input

FINGERPRINT = "input_fingerprint"
SPAN = "span"
VERSION = "version"


class Driver(BaseDriver, abc.ABC):
    """What the drivers of ExampleGens have in common."""

    @classmethod
    def drive(cls, parameters: Mapping[str, Any], outputs: ArtifactMap) -> dict[str, Any]:
        """The parameters for the executor, with the span that was chosen; outputs are told of it.

        The patterns of the splits are of that span alone.
        """
        found = cls.find(parameters)
        for artifact in outputs.get("examples", ()):
            if isinstance(artifact, Examples):
                _describe(artifact, found)
        return {**parameters, **found}

    @classmethod
    @abc.abstractmethod
    def find(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """What there is to read now, as parameters."""


class FileBasedDriver(Driver):
    """Chooses a span of files."""

    @classmethod
    def find(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:  # noqa: D102
        from stoker.data.input_files import find_files, fingerprint

        given, base = parse_message(parameters["input_config"], Input()), parameters["input_base"]
        chosen = choose(base, given.splits, parse_range(parameters.get("range_config")))
        prints = [
            fingerprint(name, find_files(below(base, pattern)))
            for name, pattern in chosen.patterns.items()
        ]
        return {
            "input_config": _with_patterns(given, chosen.patterns),
            SPAN: chosen.span,
            VERSION: chosen.version,
            FINGERPRINT: "\n".join(prints),
        }


class QueryBasedDriver(Driver):
    """Fills the span into queries."""

    @classmethod
    def find(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:  # noqa: D102
        given = parse_message(parameters["input_config"], Input())
        chosen = choose_of_query(given.splits, parse_range(parameters.get("range_config")))
        return {
            "input_config": _with_patterns(given, chosen.patterns),
            SPAN: chosen.span,
            VERSION: chosen.version,
        }


def _describe(examples: Examples, found: Mapping[str, Any]) -> None:
    """Say which span this is, as properties and, where code written for TFX looks, custom ones."""
    examples.span, examples.version = found[SPAN], found[VERSION] or 0
    examples.set_int_custom_property(SPAN, found[SPAN])
    if found[VERSION] is not None:
        examples.set_int_custom_property(VERSION, found[VERSION])
    if text := found.get(FINGERPRINT):
        examples.set_string_custom_property(FINGERPRINT, text)


def _with_patterns(given: Input, patterns: Mapping[str, str]) -> str:
    splits = [Input.Split(name=split.name, pattern=patterns[split.name]) for split in given.splits]
    return json_format.MessageToJson(Input(splits=splits), preserving_proto_field_name=True)
