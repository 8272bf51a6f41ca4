# SPDX-License-Identifier: Apache-2.0
"""Notebooks: components that are run one by one and looked at.

    component ─ context ─▶ runner ─▶ worker, as in a pipeline
    artifact ─ context.show ─ views ─▶ HTML in the notebook, text elsewhere

IPython is imported only where a notebook has imported it already.
"""
