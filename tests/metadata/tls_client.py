# SPDX-License-Identifier: Apache-2.0
"""Records a run over an encrypted connection, and says how it was encrypted, or why not."""

import sys
from typing import Any

from database_servers import PASSWORD, USER
from ml_metadata.proto import metadata_store_pb2
from small_pipeline import run

from stoker.errors import StoreError
from stoker.metadata.config import as_store_config
from stoker.metadata.store import Store

ASK = {
    "postgresql": "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
    "mysql": "SELECT variable_value FROM information_schema.session_status "
    "WHERE variable_name = 'Ssl_version'",
}


def declare(kind: str, host: str, port: str, database: str, ca: str) -> Any:
    """ML Metadata's message: the server has to be the one that its certificate names."""
    config = metadata_store_pb2.ConnectionConfig()
    if kind == "postgresql":
        postgres = config.postgresql
        postgres.host, postgres.port, postgres.dbname = host, port, database
        postgres.user, postgres.password = USER, PASSWORD
        postgres.ssloption.sslmode = "verify-full"
        postgres.ssloption.sslrootcert = ca
        return config
    mysql = config.mysql
    mysql.host, mysql.port, mysql.database = host, int(port), database
    mysql.user, mysql.password = USER, PASSWORD
    mysql.ssl_options.ca = ca
    mysql.ssl_options.verify_server_cert = True
    return config


def main(kind: str, *where: str) -> None:
    try:
        with Store(as_store_config(declare(kind, *where))) as store:
            run(store, "run-1")
            version = store.ask(
                lambda connection: connection.exec_driver_sql(ASK[kind]).scalar_one()
            )
            print(f"{len(store.runs())} run over {version}")
    except StoreError as error:
        print(error)


if __name__ == "__main__":
    main(*sys.argv[1:])
