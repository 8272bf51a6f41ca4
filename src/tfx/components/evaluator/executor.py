# SPDX-License-Identifier: Apache-2.0
"""What Evaluator does in a worker."""

from stoker.components.evaluator import Executor
