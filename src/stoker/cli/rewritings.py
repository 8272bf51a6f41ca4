# SPDX-License-Identifier: Apache-2.0
"""What is known about a model in other formats, as a table: beside it, and made from it since."""

from stoker.artifacts import Artifact, Model
from stoker.metadata.store import Store
from stoker.views.models import formats_tables
from stoker.views.table import Table

__all__ = ["rewritings"]


def rewritings(store: Store, artifact: Artifact) -> list[Table]:
    """The formats of a model, whether in its own folder or in models made from it."""
    if not isinstance(artifact, Model):
        return []
    made = store.lineage(artifact.id, "downstream").artifacts
    others = [one for one in made if isinstance(one, Model) and one.id != artifact.id]
    return formats_tables([artifact, *others])
