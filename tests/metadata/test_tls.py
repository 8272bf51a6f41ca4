# SPDX-License-Identifier: Apache-2.0
"""Encrypted connections to real servers, by certificates that this test makes."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from database_servers import DatabaseServer, one_soon

from stoker.metadata import StoreConfig

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
]


def make_certificate(folder: Path, name: str, *more: str) -> None:
    """A key, and a certificate that is good for 127.0.0.1 alone."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", f"/CN={name}", *more]
    command += ["-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.pem"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


@pytest.fixture
def encrypted(server: DatabaseServer) -> Iterator[DatabaseServer]:
    """A server that was started again with a certificate."""
    folder = Path(server.folder)
    make_certificate(folder, "ca")
    make_certificate(folder, "other")
    signed = ["-CA", f"{folder}/ca.pem", "-CAkey", f"{folder}/ca.key"]
    make_certificate(folder, "server", *signed, "-addext", "subjectAltName=IP:127.0.0.1")
    owner = folder.stat()
    for path in folder.glob("*.key"):
        os.chown(path, owner.st_uid, owner.st_gid)
        path.chmod(0o600)
    cert, key = f"{folder}/server.pem", f"{folder}/server.key"
    if server.kind == "postgresql":
        told = ("-c", "ssl=on", "-c", f"ssl_cert_file={cert}", "-c", f"ssl_key_file={key}")
    else:
        told = (f"--ssl-cert={cert}", f"--ssl-key={key}")
    restart(server, told)
    yield server
    restart(server, ())


def restart(server: DatabaseServer, options: tuple[str, ...]) -> None:
    server.kill()
    server.options = options
    server.start()


def connect(server: DatabaseServer, database: str, ca: str, host: str = "127.0.0.1") -> str:
    """What a process of its own says that connects: this one may have loaded any TLS library."""
    where = [server.kind, host, str(server.port), database, f"{server.folder}/{ca}.pem"]
    command = [sys.executable, str(Path(__file__).with_name("tls_client.py")), *where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@one_soon
def test_the_server_of_an_encrypted_connection_is_verified(
    encrypted: DatabaseServer, server_config: StoreConfig
) -> None:
    database = server_config.url.rpartition("/")[2]
    assert connect(encrypted, database, "ca").startswith("1 run over TLSv1.")
    for ca, host in (("other", "127.0.0.1"), ("ca", "localhost")):
        refused = connect(encrypted, database, ca, host)
        assert re.search(r"(?i)certificate.* Check sslmode and sslrootcert, or ssl_ca", refused)


IN_A_NOTEBOOK = """
import sys
import tensorflow
from stoker.metadata import StoreConfig
from stoker.metadata.store import Store

with Store(StoreConfig(sys.argv[1])) as store:
    print(store.runs())
"""


@pytest.mark.tf
@one_soon
def test_a_process_that_has_loaded_tensorflow_connects_too(
    encrypted: DatabaseServer, server_config: StoreConfig
) -> None:
    tls = {"postgresql": "sslmode=require", "mysql": f"ssl_ca={encrypted.folder}/ca.pem"}
    url = f"{server_config.url}?{tls[encrypted.kind]}"
    command = [sys.executable, "-c", IN_A_NOTEBOOK, url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"
