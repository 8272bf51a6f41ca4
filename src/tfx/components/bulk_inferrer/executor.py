# SPDX-License-Identifier: Apache-2.0
"""What BulkInferrer does in a worker."""

from stoker.components.bulk_inferrer import Executor
