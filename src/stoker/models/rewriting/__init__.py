# SPDX-License-Identifier: Apache-2.0
"""SavedModels in other formats, each proven equal before anybody gets to see it.

    SavedModel ─ signature ─ cut ─▶ PlainModel ─ a converter ─▶ files ─ their runtime ─┐
                    │                                                                  ▼
                    └──────────── eval examples ─────────────────────────────▶ comparison ─▶ report

signature.py  the function that is rewritten           targets.py     what can be asked for
cut.py        where its graph is cut, if it has to be  comparison.py  how near is near enough
plain.py      what is left: numbers in, numbers out    report.py      what was found out
sample.py     what both models are called with         rewriter.py …  the classes with TFX's names
format_rewriter.py  what the rewriters share, and how to add one
"""
