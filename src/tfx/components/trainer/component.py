# SPDX-License-Identifier: Apache-2.0
"""The Trainer as a pipeline sees it."""

from stoker.components.trainer.component import Trainer
