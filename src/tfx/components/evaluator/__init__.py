# SPDX-License-Identifier: Apache-2.0
"""Evaluator: a model and examples in, metrics and a blessing out."""
