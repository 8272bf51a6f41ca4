# SPDX-License-Identifier: Apache-2.0
"""What Transform does in a worker."""

from stoker.components.transform.executor import Executor
