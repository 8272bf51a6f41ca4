# SPDX-License-Identifier: Apache-2.0
"""How pipelines of TFX's first year are declared: by a function that returns the components."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

from stoker.dsl.component import Node
from stoker.dsl.pipeline import Pipeline


class PipelineDecorator:
    """Makes a function of components one that returns their pipeline, with what Pipeline takes."""

    def __init__(self, **settings: Any) -> None:
        self._settings = settings

    def __call__(self, declare: Callable[..., Iterable[Node]]) -> Callable[..., Pipeline]:
        """The function that returns the pipeline."""

        @functools.wraps(declare)
        def make_pipeline(*args: Any, **kwargs: Any) -> Pipeline:
            return Pipeline(components=declare(*args, **kwargs), **self._settings)

        return make_pipeline
