# SPDX-License-Identifier: Apache-2.0
"""Labels that TFX's runners put on jobs in a cloud; here they are kept, and nothing is sent."""

import contextlib
import sys
from collections.abc import Iterator

LABEL_TFX_RUNNER = "tfx_runner"
LABEL_TFX_EXECUTOR = "tfx_executor"
LABEL_KFP_SDK_ENV = "pipelines.kubeflow.org/pipeline-sdk-type"

_scoped: dict[str, str] = {}


@contextlib.contextmanager
def scoped_labels(labels: dict[str, str]) -> Iterator[None]:
    """Labels for everything inside of the block."""
    before = dict(_scoped)
    _scoped.update(labels)
    try:
        yield
    finally:
        _scoped.clear()
        _scoped.update(before)


def make_labels_dict() -> dict[str, str]:
    """The labels that hold here."""
    return {"tfx_py_version": f"{sys.version_info.major}-{sys.version_info.minor}", **_scoped}
