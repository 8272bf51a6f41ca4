# SPDX-License-Identifier: Apache-2.0
"""BulkInferrer: a model and examples in, predictions out."""
