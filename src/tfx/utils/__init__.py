# SPDX-License-Identifier: Apache-2.0
"""Small tools that pipelines and module files use."""
