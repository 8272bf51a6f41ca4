# SPDX-License-Identifier: Apache-2.0
"""ml_metadata over Stoker's store, for code that reads and writes it in ML Metadata's words.

errors.py    what is raised
nodes.py     artifacts, executions and contexts: which message, which tables
rows.py      messages become rows, and rows messages
filters.py   `filter_query` becomes SQL
store.py     MetadataStore
"""
