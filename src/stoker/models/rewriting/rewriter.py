# SPDX-License-Identifier: Apache-2.0
"""What every rewriter is: check, rewrite, check again; what fails leaves nothing behind."""

import abc
import contextlib
import enum
import os
import shutil
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stoker.errors import RewriteFailed


class ModelType(enum.Enum):
    """The formats that rewriters read and write."""

    ANY_MODEL = 1
    SAVED_MODEL = 2
    TFLITE_MODEL = 3
    TFJS_MODEL = 4
    ONNX_MODEL = 5


class ModelDescription(NamedTuple):
    """A model: its format and its folder."""

    model_type: ModelType
    path: str


class BaseRewriter(abc.ABC):
    """Turns a model into another one. The methods have TFX's names: users' rewriters have them."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of this rewriter, which errors begin with."""

    @abc.abstractmethod
    def _pre_rewrite_validate(self, original_model: ModelDescription) -> None:
        """Raise ValueError if the original cannot be rewritten."""

    @abc.abstractmethod
    def _rewrite(self, original_model: ModelDescription, rewritten_model: ModelDescription) -> None:
        """Write the new model, or raise ValueError."""

    @abc.abstractmethod
    def _post_rewrite_validate(self, rewritten_model: ModelDescription) -> None:
        """Raise ValueError if the new model is not as good as the original."""

    def perform_rewrite(
        self, original_model: ModelDescription, rewritten_model: ModelDescription
    ) -> None:
        """Check the original, rewrite it, check the result; the first ValueError ends it."""
        with leave_nothing_on_failure([rewritten_model.path]):
            with self._explain(f"cannot take the model in {original_model.path}"):
                self._pre_rewrite_validate(original_model)
            with self._explain(f"cannot rewrite the model in {original_model.path}"):
                self._rewrite(original_model, rewritten_model)
            with self._explain(f"rejects what became of the model in {original_model.path}"):
                self._post_rewrite_validate(rewritten_model)

    @contextlib.contextmanager
    def _explain(self, what: str) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise RewriteFailed(f"{self.name} {what}: {error}") from error


@contextlib.contextmanager
def leave_nothing_on_failure(folders: Iterable[str]) -> Iterator[None]:
    """Remove what was not in the folders before, if what happens inside fails."""
    with contextlib.ExitStack() as undo:
        for folder in folders:
            before = set(os.listdir(folder)) if os.path.isdir(folder) else None
            undo.callback(_remove_all_but, before, folder)
        yield
        undo.pop_all()


def _remove_all_but(before: set[str] | None, folder: str) -> None:
    if before is None:
        shutil.rmtree(folder, ignore_errors=True)
        return
    for name in set(os.listdir(folder)) - before:
        path = os.path.join(folder, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
