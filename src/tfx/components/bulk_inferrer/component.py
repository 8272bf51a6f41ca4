# SPDX-License-Identifier: Apache-2.0
"""BulkInferrer as a pipeline sees it."""

from stoker.components.bulk_inferrer import BulkInferrer
