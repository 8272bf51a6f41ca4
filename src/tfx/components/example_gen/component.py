# SPDX-License-Identifier: Apache-2.0
"""ExampleGens whose executor is chosen by the pipeline."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.components.example_gen.component import (
    FileBasedExampleGen,
    QueryBasedExampleGen,
    QueryBasedExampleGen as _QueryBasedExampleGen,
)

__getattr__ = find_part(__name__)
