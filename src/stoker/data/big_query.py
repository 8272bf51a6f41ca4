# SPDX-License-Identifier: Apache-2.0
"""The rows of a BigQuery query as Arrow record batches, by Google's own client."""

import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from google.api_core.exceptions import GoogleAPIError
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import GoogleAuthError
from google.cloud import bigquery

from stoker.errors import BadData


def read_rows(query: str, project: str) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Batches of rows, each with what to call its place."""
    try:
        rows = _connect(project).query(query).result()
        for batch in rows.to_arrow_iterable():
            if batch.num_rows:
                yield "the query's result", batch
    except GoogleAuthError as error:
        raise BadData(
            f"BigQuery asks who you are. {error} Try `gcloud auth application-default login`."
        ) from error
    except (GoogleAPIError, OSError) as error:
        raise BadData(
            f"BigQuery refused the query {query!r:.200}: {error}. Correct the query."
        ) from error


def _connect(project: str) -> Any:
    """A client for BigQuery, or for what BIGQUERY_EMULATOR_HOST names, which knows nobody."""
    known: dict[str, Any] = {"project": project} if project else {}
    if os.environ.get("BIGQUERY_EMULATOR_HOST"):
        known["credentials"] = AnonymousCredentials()
    return bigquery.Client(**known)
