# SPDX-License-Identifier: Apache-2.0
"""TensorFlow: groups tell when they are made, servers listen where told, reads tell; AutoGraph."""

import ctypes
import functools
import importlib
import ipaddress
import socket
import struct
from collections.abc import Callable
from types import ModuleType
from typing import Any

from stoker.any_python import tensorflow_files
from stoker.patches.changes import after_import, import_when_used, replace
from stoker.patches.registry import PATCHES

_CALLED_AS_THEY_ARE = (
    *("tensorflow_transform", "tfx_bsl", "tensorflow_metadata", "google.protobuf"),
    "stoker.data",
)


def tell_file_reads(_: ModuleType) -> None:
    """Let TensorFlow, which has just been imported, tell which files it is asked to read."""
    PATCHES["tensorflow-files"].check_version()
    tensorflow_files.tell_file_reads()


def put_off_google() -> None:
    """Let `import tensorflow` do without the client by which it asks Google for a cluster."""
    PATCHES["tensorflow-imports"].check_version()
    import_when_used("googleapiclient.discovery")


def spare_autograph() -> None:
    """Let AutoGraph call libraries as they are that decide nothing by the value of a tensor.

    A serving function asks TFTransformOutput for its feature spec. AutoGraph would first rewrite
    all the code below that, function by function, which takes longer than to train a small model.
    """
    patch = PATCHES["tensorflow-autograph"]
    patch.check_version()
    config = importlib.import_module("tensorflow.python.autograph.core.config")
    patch.check_names(config, "CONVERSION_RULES", "DoNotConvert")
    rules = config.CONVERSION_RULES
    if not getattr(rules, "spares_libraries", False):
        spared = (config.DoNotConvert(name) for name in _CALLED_AS_THEY_ARE)
        replace(config, "CONVERSION_RULES", _Rules((*spared, *rules)))


class _Rules(tuple[Any, ...]):
    spares_libraries = True


def call_around_joining(before: Callable[[], None], after: Callable[[Any], None]) -> None:
    """Call `before()` and `after(strategy)` when the user's code makes its strategy.

    In its constructor the processes of a group wait for each other.
    """
    patch = PATCHES["tensorflow-join"]
    patch.check_version()
    module = importlib.import_module("tensorflow.python.distribute.collective_all_reduce_strategy")
    patch.check_names(module, "CollectiveAllReduceStrategy")
    strategy_class = module.CollectiveAllReduceStrategy
    original = strategy_class.__init__

    @functools.wraps(original)
    def join(strategy: Any, *args: Any, **kwargs: Any) -> None:
        before()
        original(strategy, *args, **kwargs)
        after(strategy)

    replace(strategy_class, "__init__", join)


def listen_only_at(host: str) -> None:
    """Let TensorFlow's servers listen at one address of this machine, instead of at all of them.

    Whatever host they are told, they bind to 0.0.0.0 and ::. Where libraries cannot be changed,
    as on macOS, they go on doing so.
    """
    PATCHES["tensorflow-bind"].check_version()
    address = ipaddress.ip_address(socket.gethostbyname(host))
    bind = ctypes.CDLL(None, use_errno=True).bind

    def bind_there(descriptor: int, name: int, size: int) -> int:
        narrowed = narrow(ctypes.string_at(name, size), address)
        return int(bind(descriptor, narrowed, len(narrowed)))

    kind = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, use_errno=True
    )
    new = kind(bind_there)

    def replace_bind(_: ModuleType) -> None:
        from stoker.patches.imported_functions import replace_imported  # loads numpy

        replace_imported("libtensorflow", "bind", new)

    after_import("tensorflow", replace_bind)


def narrow(name: bytes, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bytes:
    """A socket's name in C's form, with an address instead of "all of this machine's"."""
    (family,) = struct.unpack_from("=H", name)
    if family == socket.AF_INET and name[4:8] == bytes(4) and address.version == 4:
        return name[:4] + address.packed + name[8:]
    if family == socket.AF_INET6 and name[8:24] == bytes(16):
        mapped = bytes(10) + b"\xff\xff" + address.packed  # IPv4 in IPv6's form
        return name[:8] + mapped[-16:] + name[24:]
    return name
