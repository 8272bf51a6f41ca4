# SPDX-License-Identifier: Apache-2.0
"""The Tuner as a pipeline sees it."""

from stoker.components.tuner.component import Tuner, TunerFnResult
