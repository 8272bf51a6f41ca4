# SPDX-License-Identifier: Apache-2.0
"""What the Trainer does in a worker."""

from stoker.components.trainer.executor import Executor, GenericExecutor, TrainerFnArgs
