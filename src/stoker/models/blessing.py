# SPDX-License-Identifier: Apache-2.0
"""Blessings: the verdict on a model that one step gives and later steps obey."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from stoker.artifacts import Artifact

Marker = Literal["BLESSED", "INFRA_BLESSED"]


def is_blessed(blessings: Sequence[Artifact], marker: Marker) -> bool:
    """The property decides; files from elsewhere have none, and are judged by their marker."""
    return bool(blessings) and all(
        one.get_int_custom_property("blessed") == 1
        if one.has_custom_property("blessed")
        else os.path.exists(os.path.join(one.uri, marker))
        for one in blessings
    )


def give_verdict(blessing: Artifact, marker: Marker, *, blessed: bool) -> None:
    """Say whether a model is blessed, by the property and by an empty file."""
    blessing.set_int_custom_property("blessed", int(blessed))
    name: str = marker if blessed else marker.replace("BLESSED", "NOT_BLESSED")
    Path(blessing.uri, name).touch()


def bless_model(blessing: Artifact, models: Sequence[Artifact], *, blessed: bool) -> None:
    """Give the verdict on a model, and say which it is, and which it was compared with."""
    give_verdict(blessing, "BLESSED", blessed=blessed)
    for role, model in zip(("current_model", "baseline_model"), models, strict=False):
        blessing.set_string_custom_property(role, model.uri)
        blessing.set_int_custom_property(f"{role}_id", model.id)
