"""What estimators ask of the nodes of a tree: which lie on the way to which, and what each feature contributes.

Nodes are known by their places in preorder, as ``Tree.apply`` counts them. All of it is read from the text of the tree.
"""

import json
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from lattree._core import Tree


def paths(tree: Tree) -> csr_matrix:
    """Return, for each node, 1 at the nodes on the way to it from the root, itself included.

    Complexity: O(nodes x depth) in time and memory.
    """
    nodes = _nodes(tree)
    ways: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        ways[index].append(index)
        for child in node.get("children", ()):
            ways[child].extend(ways[index])
    starts = np.concatenate([[0], np.cumsum([len(way) for way in ways])])
    indices = np.concatenate([np.asarray(way, dtype=np.int64) for way in ways])
    return csr_matrix((np.ones(len(indices), dtype=np.int64), indices, starts), shape=(len(nodes), len(nodes)))


def importances(tree: Tree) -> npt.NDArray[np.float64]:
    """Return by how much the tests of each feature lower the Gini impurity, as shares of the whole; all 0 without any.

    Source: Breiman, Friedman, Olshen and Stone, *Classification and Regression Trees*, 1984, section 5.3, without
    surrogate splits. Complexity: O(nodes x classes).
    """
    nodes = _nodes(tree)
    masses: list[npt.NDArray[np.float64]] = [np.zeros(0)] * len(nodes)
    shares = np.zeros(len(tree.schema.features))
    for index in reversed(range(len(nodes))):  # children come after their parents
        node = nodes[index]
        if "children" not in node:  # the masses of an empty leaf are those of the node above
            of_leaf = np.asarray(node["masses"], dtype=np.float64)
            masses[index] = np.zeros_like(of_leaf) if node.get("empty") else of_leaf
            continue
        children = [masses[child] for child in node["children"]]
        masses[index] = np.sum(children, axis=0)
        (test,) = node["test"].values()
        shares[test["feature"]] += _impurity(masses[index]) - sum(map(_impurity, children))
    shares = np.maximum(shares, 0.0)
    total = shares.sum()
    return shares / total if total > 0 else shares


def _impurity(masses: npt.NDArray[np.float64]) -> float:
    """The mass of a node times its Gini impurity."""
    total = masses.sum()
    return float(total - (masses**2).sum() / total) if total > 0 else 0.0


def _nodes(tree: Tree) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = json.loads(tree.to_json())["nodes"]
    return nodes
