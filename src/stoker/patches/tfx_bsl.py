# SPDX-License-Identifier: Apache-2.0
"""tfx-bsl: who names the options of a DataAccessor does not import Apache Beam."""

from stoker.patches.changes import import_by_name
from stoker.patches.registry import PATCHES


def put_off_beam() -> None:
    """Let `from tfx_bsl.public import tfxio` import what of it is used, when it is.

    Its readers of files are Beam's transforms, and Beam is two fifths of what a fork server would
    import; most modules only name `tfxio.TensorFlowDatasetOptions`.
    """
    PATCHES["bsl-imports"].check_version()
    import_by_name("tfx_bsl.public.tfxio")
