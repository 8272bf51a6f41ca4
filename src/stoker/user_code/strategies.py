# SPDX-License-Identifier: Apache-2.0
"""How the processes of a worker group will work together, read from the module beforehand.

A module that would train as many separate models as there are processes, or that waits for what
this group does not have, is refused here, with advice on what works.
"""

import ast
import os
from collections.abc import Iterator, Sequence
from typing import Any

from stoker.task import Cluster, ProcessNeeds, Workers
from stoker.user_code.imports import scan

_ALL_REDUCE = frozenset(
    {"MultiWorkerMirroredStrategy", "CollectiveAllReduceStrategy", "multi_worker_mirrored"}
)
_SERVERS = frozenset({"ParameterServerStrategy", "ParameterServerStrategyV2", "parameter_server"})
_ONE_PROCESS = frozenset(
    {"MirroredStrategy", "OneDeviceStrategy", "CentralStorageStrategy", "TPUStrategy"}
)
_OWN = "TF_CONFIG"


def cluster_for(
    workers: Workers | None,
    module_file: str | None,
    needs: ProcessNeeds,
    import_paths: Sequence[str] = (),
) -> Cluster | None:
    """The kind of cluster that `workers` form; ValueError if the module cannot train in one."""
    if workers is None or not workers.is_group:
        return None
    trees = list(scan(module_file, import_paths).trees.values()) if module_file else []
    words = {word for tree in trees for word in _collect_words(tree)}
    cluster = _choose_cluster(words, workers, needs)
    why_not = _explain_refusal(cluster, words, workers, needs)
    if cluster == "all-reduce" and needs.keras == 3 and any(map(_asks_for_xla, trees)):
        why_not = why_not or (
            "jit_compile=True does not work across processes with Keras 3. Leave it out, or use "
            "Keras 2: Trainer(keras=2)."
        )
    if why_not:
        servers = f", ps={workers.ps}" if workers.ps else ""
        name = os.path.basename(module_file or "the module")
        raise ValueError(f"Workers({workers.count}{servers}) with {name}: {why_not}")
    return cluster


def _choose_cluster(words: set[str], workers: Workers, needs: ProcessNeeds) -> Cluster | None:
    if needs.estimators:
        return "estimator"
    if words & _SERVERS and (workers.ps or not words & _ALL_REDUCE):
        return "servers"
    if words & _ALL_REDUCE:
        return "all-reduce"
    return "own" if _OWN in words else None


def _explain_refusal(
    cluster: Cluster | None, words: set[str], workers: Workers, needs: ProcessNeeds
) -> str:
    """Why the workers cannot form the cluster, and what works; empty if they can."""
    if cluster is None:
        return _ask_for_strategy(words, workers)
    if cluster == "servers" and needs.keras == 3:
        return (
            "ParameterServerStrategy does not work with Keras 3. Use Keras 2: Trainer(keras=2), or "
            "tf.distribute.MultiWorkerMirroredStrategy, which works with both."
        )
    if cluster == "servers" and not workers.ps:
        return f"ParameterServerStrategy needs parameter servers: Workers({workers.count}, ps=1)."
    if cluster == "all-reduce" and workers.ps:
        return "MultiWorkerMirroredStrategy has no use for parameter servers: leave ps out."
    if cluster == "estimator" and not workers.evaluator:
        return (
            "in a cluster it is the evaluator that exports an Estimator's model. Have one: "
            f"Workers({workers.count}{f', ps={workers.ps}' if workers.ps else ''}, evaluator=True)."
        )
    if workers.evaluator and cluster not in ("estimator", "own"):
        return "only Estimators have an evaluator: leave it out."
    return ""


def _ask_for_strategy(words: set[str], workers: Workers) -> str:
    found = next(iter(sorted(words & _ONE_PROCESS)), "no strategy")
    return (
        f"it names {found}, and would train {workers.count} separate models. Build and compile the "
        "model in the scope() of tf.distribute.MultiWorkerMirroredStrategy(), or leave workers out."
    )


def _collect_words(tree: ast.Module) -> Iterator[str]:
    """The names and strings in a file; docstrings are not what it does."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=word) | ast.Name(id=word) | ast.alias(name=word):
                yield word.rpartition(".")[2]
            case ast.Constant(value=str(word)) if id(node) not in prose:
                yield word


def _asks_for_xla(tree: ast.Module) -> bool:
    def asks(node: Any) -> bool:
        match node:
            case ast.Call(func=ast.Attribute(attr="compile"), keywords=keywords):
                return any(
                    one.arg == "jit_compile" and getattr(one.value, "value", None) is True
                    for one in keywords
                )
        return False

    return any(map(asks, ast.walk(tree)))
