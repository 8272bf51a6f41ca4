# SPDX-License-Identifier: Apache-2.0
"""The options that a module gives to its DataAccessor."""

from stoker.any_python.dataset import RecordBatchesOptions, TensorFlowDatasetOptions
