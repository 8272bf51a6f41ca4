# SPDX-License-Identifier: Apache-2.0
"""tfx-bsl: who names its options does not import Apache Beam; an encoder of before is there."""

from types import ModuleType
from typing import Any

from stoker.patches.changes import after_import, import_by_name
from stoker.patches.registry import PATCHES


def put_off_beam() -> None:
    """Let `from tfx_bsl.public import tfxio` import what of it is used, when it is.

    Its readers of files are Beam's transforms, and Beam is two fifths of what a fork server would
    import; most modules only name `tfxio.TensorFlowDatasetOptions`.
    """
    PATCHES["bsl-imports"].check_version()
    import_by_name("tfx_bsl.public.tfxio")


def give_back_encoder() -> None:
    """Let `tfx_bsl.cc.tfx_bsl_extension.coders.RecordBatchToExamples` be there once more."""
    after_import("tfx_bsl.cc.tfx_bsl_extension", _add_encoder)


def _add_encoder(extension: ModuleType) -> None:
    patch = PATCHES["bsl-names"]
    patch.check_version()
    patch.check_names(extension.coders, "RecordBatchToExamplesEncoder")

    def encode(record_batch: Any) -> list[bytes]:
        """The rows of a record batch as serialized examples."""
        from tfx_bsl.coders.example_coder import RecordBatchToExamples

        examples: list[bytes] = RecordBatchToExamples(record_batch)
        return examples

    extension.coders.RecordBatchToExamples = encode
