# SPDX-License-Identifier: Apache-2.0
"""MLflow: `autolog` reads the beginning of a dataset that has no end, and `fit` goes on.

It makes a digest of all that `fit` is given. The datasets of most Trainer modules repeat for ever:
the first batches stand for them.
"""

import functools
from types import ModuleType
from typing import Any

from stoker.patches.changes import after_import, replace
from stoker.patches.registry import PATCHES

_NUM_BATCHES = 10
_DIGEST = "_compute_tensorflow_dataset_digest"


def limit_digests() -> None:
    """Let MLflow's digest of a dataset end; it takes effect when MLflow is imported."""
    after_import("mlflow.data.tensorflow_dataset", _limit_digest)


def _limit_digest(module: ModuleType) -> None:
    PATCHES["mlflow-digest"].check_version()
    compute = getattr(module.TensorFlowDataset, _DIGEST, None)
    if compute is None:
        return

    @functools.wraps(compute)
    def compute_of_beginning(self: Any, dataset: Any, *targets: Any) -> Any:
        return compute(self, *map(_take_beginning, (dataset, *targets)))

    replace(module.TensorFlowDataset, _DIGEST, compute_of_beginning)


def _take_beginning(dataset: Any) -> Any:
    """The first batches of a dataset without an end, or that does not tell its length."""
    is_endless = dataset is not None and dataset.cardinality() < 0
    return dataset.take(_NUM_BATCHES) if is_endless else dataset
