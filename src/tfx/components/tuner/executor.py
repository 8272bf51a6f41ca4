# SPDX-License-Identifier: Apache-2.0
"""What the Tuner does in a worker."""

from stoker.components.tuner.executor import BEST_HYPERPARAMETERS_FILE as _DEFAULT_BEST_HP_FILE_NAME
from stoker.components.tuner.executor import TUNER_RESULTS_FILE as _DEFAULT_TUNER_RESULTS_FILE_NAME
from stoker.components.tuner.executor import Executor
