# SPDX-License-Identifier: Apache-2.0
"""BulkInferrer: a model and examples in, predictions out."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
