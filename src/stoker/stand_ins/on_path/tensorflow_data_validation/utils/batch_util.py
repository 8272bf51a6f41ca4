# SPDX-License-Identifier: Apache-2.0
"""Examples in batches."""

from stoker.stand_ins.tfdv.transforms import BatchExamplesToArrowRecordBatches
