# SPDX-License-Identifier: Apache-2.0
"""Regenerates `src/stoker/dsl/proto/*_pb2.py` and their stubs; `make proto` runs it."""

import sys
from pathlib import Path

from grpc_tools import protoc

SOURCE_DIR = Path(__file__).parent.parent / "src"


def main() -> int:
    """Run protoc over every .proto file, and return its exit code."""
    well_known = Path(protoc.__file__).parent / "_proto"
    protos = sorted((SOURCE_DIR / "stoker" / "dsl" / "proto").glob("*.proto"))
    failed = int(
        protoc.main(
            [
                "protoc",
                f"--proto_path={SOURCE_DIR}",
                f"--proto_path={well_known}",
                f"--python_out={SOURCE_DIR}",
                f"--pyi_out={SOURCE_DIR}",
                *(path.relative_to(SOURCE_DIR).as_posix() for path in protos),
            ]
        )
    )
    for stub in SOURCE_DIR.glob("stoker/dsl/proto/*_pb2.pyi"):  # protoc writes bare `Mapping`
        stub.write_text('# mypy: disable-error-code="type-arg"\n' + stub.read_text())
    return failed


if __name__ == "__main__":
    sys.exit(main())
