# SPDX-License-Identifier: Apache-2.0
"""EvalSavedModels."""

from stoker.stand_ins.missing_modules import find_submodules

__getattr__ = find_submodules(__name__)
