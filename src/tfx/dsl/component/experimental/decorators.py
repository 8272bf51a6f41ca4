# SPDX-License-Identifier: Apache-2.0
"""The decorator that makes a step of a function."""

from stoker.dsl import component
