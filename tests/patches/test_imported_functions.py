# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's servers listen where they are told to."""

import ipaddress
import socket
import struct
import subprocess
import sys
import textwrap

import pytest

from stoker.patches.imported_functions import replace_imported
from stoker.patches.tensorflow import narrow

LOOPBACK = ipaddress.ip_address("127.0.0.1")
MAPPED = bytes(10) + b"\xff\xff" + LOOPBACK.packed


def ipv4(address, port=80):
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + address + bytes(8)


def ipv6(address, port=80):
    head = struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", port, 0)
    return head + address + struct.pack("=I", 0)


@pytest.mark.parametrize(
    ("asked", "address", "bound"),
    [
        (ipv4(bytes(4)), LOOPBACK, ipv4(LOOPBACK.packed)),
        (ipv6(bytes(16)), LOOPBACK, ipv6(MAPPED)),
        (ipv6(bytes(16)), ipaddress.ip_address("::1"), ipv6(bytes(15) + b"\x01")),
        (ipv4(b"\x0a\x00\x00\x01"), LOOPBACK, ipv4(b"\x0a\x00\x00\x01")),
        (ipv6(bytes(15) + b"\x01"), LOOPBACK, ipv6(bytes(15) + b"\x01")),
        (struct.pack("=H", socket.AF_UNIX) + b"/x", LOOPBACK, b"\x01\x00/x"),
    ],
)
def test_only_all_addresses_become_one(asked, address, bound):
    assert narrow(asked, address) == bound


def test_libraries_that_are_not_loaded_are_left_alone():
    assert replace_imported("libnosuchlibrary", "bind", None) == 0


@pytest.mark.slow
def test_other_libraries_go_on_calling_the_real_function():
    code = """
        import ctypes, os, sys
        from stoker.patches.imported_functions import replace_imported

        KIND = ctypes.CFUNCTYPE(ctypes.c_int)
        library = sys.argv[1]
        num = replace_imported(library, "getpid", KIND(lambda: 42))
        print(num > 0, os.getpid() == 42, ctypes.CDLL(None).getpid() == 42)
    """
    seen = []
    for library in ("python", "libpython", "libz"):  # a Python may have its core in a library
        command = [sys.executable, "-c", textwrap.dedent(code), library]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seen.append(done.stdout.split())
    for replaced, python_calls_it, others_call_it in seen:
        assert python_calls_it == "False" or replaced == "True"
        assert others_call_it == "False"


@pytest.mark.tf
@pytest.mark.skipif(sys.platform != "linux", reason="libraries are made otherwise")
def test_a_server_is_bound_to_one_address_and_still_told_of_errors():
    code = """
        import socket, sys
        from stoker.patches.tensorflow import listen_only_at
        listen_only_at("127.0.0.1")
        import tensorflow as tf
        from stoker.launchers.resources import find_free_addresses, listens_everywhere

        (address,) = find_free_addresses(1)
        port = int(address.rpartition(":")[2])
        server = tf.distribute.Server({"worker": [address]}, "worker", 0, protocol="grpc")
        print(listens_everywhere(port))
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = "%s:%d" % taken.getsockname()
            try:
                tf.distribute.Server({"worker": [address]}, "worker", 0, protocol="grpc")
            except tf.errors.OpError as error:
                print(type(error).__name__)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "UnknownError"], done.stderr[-2000:]
