# SPDX-License-Identifier: Apache-2.0
"""Running on this machine, as old pipelines say it."""
