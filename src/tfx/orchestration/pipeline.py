# SPDX-License-Identifier: Apache-2.0
"""Pipelines."""

from stoker.dsl import Pipeline
