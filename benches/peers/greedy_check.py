"""Whether lattree and scikit-learn grow the same greedy tree, and why not where they differ.

Both trees are walked together with the training rows. Two splits are the same if they part the rows in the same way,
whatever the column and the threshold. Where they do not, the gains of both are computed from the rows, exactly for Gini
(fractions) and to 50 digits for entropy. What may be the reason:

- equal gains: lattree takes the first column, scikit-learn the first in an order of its own, drawn from random_state;
- gains that differ only beyond the twelfth digit: both programs round, lattree to integers, scikit-learn to floats;
- no gain: scikit-learn splits a node that is not pure even if its best split gains nothing, lattree does not;
- close values: scikit-learn takes values closer than 1e-7 for one, and so does not see lattree's cut, or not its gain.

Anything else is an error of one of the two.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier

import lattree

Cells = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]
Gain = Fraction | Decimal

CRITERIA = {"information_gain": "entropy", "gini": "gini"}
"""Criteria of lattree, and their names in scikit-learn."""
DIGITS = 50
ROUNDING = 1e-12
"""Gains per case that differ less are told apart by nothing but rounding."""
CLOSE = 1e-7
"""scikit-learn's FEATURE_THRESHOLD."""


@dataclass(frozen=True)
class Node:
    """A split of either tree: column, threshold and children; no column at a leaf."""

    column: int | None
    threshold: float = 0.0
    children: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        """Return it in words."""
        return "leaf" if self.column is None else f"x{self.column} <= {self.threshold!r}"


def nodes_of_lattree(tree: lattree.Tree) -> list[Node]:
    """Return the nodes of a tree over columns x0, x1, ... of floats."""
    names = [feature.name for feature in tree.schema.features]
    nodes = []
    for node in json.loads(tree.to_json())["nodes"]:
        if "test" in node:
            test = node["test"]["at_most"]
            column = int(names[test["feature"]].removeprefix("x"))
            nodes.append(Node(column, float(test["threshold"]["float"]), tuple(node["children"])))
        else:
            nodes.append(Node(None))
    return nodes


def nodes_of_sklearn(model: Any) -> list[Node]:
    """Return the nodes of a fitted tree."""
    tree = model.tree_
    parts = zip(tree.feature, tree.threshold, tree.children_left, tree.children_right, strict=True)
    return [Node(None) if left < 0 else Node(int(f), float(t), (int(left), int(right))) for f, t, left, right in parts]


def passing(X: Cells, rows: Rows, node: Node) -> npt.NDArray[np.bool_]:
    """Return which rows take the first branch."""
    passes: npt.NDArray[np.bool_] = X[rows, node.column].astype(np.float64) <= node.threshold
    return passes


def impurity(counts: Codes, criterion: str) -> Gain:
    """Return mass times impurity: n - sum k^2 / n, or n log2 n - sum k log2 k."""
    present = [int(count) for count in counts if count]
    n = sum(present)
    if n == 0:
        return Fraction(0) if criterion == "gini" else Decimal(0)
    if criterion == "gini":
        return n - Fraction(sum(k * k for k in present), n)
    return (n * Decimal(n).ln() - sum((k * Decimal(k).ln() for k in present), Decimal(0))) / Decimal(2).ln()


def gain(y: Codes, passes: npt.NDArray[np.bool_], criterion: str) -> Gain:
    """Return the gain of a split, times the number of rows."""
    classes = int(y.max()) + 1
    left, right = (np.bincount(y[part], minlength=classes) for part in (passes, ~passes))
    with localcontext() as context:
        context.prec = DIGITS
        return impurity(left + right, criterion) - impurity(left, criterion) - impurity(right, criterion)  # type: ignore[operator]


@dataclass(frozen=True)
class Difference:
    """Two nodes that do not treat their rows alike: what each does, what it gains, and why that may be."""

    rows: int
    ours: Node
    theirs: Node
    our_gain: Gain
    their_gain: Gain
    reason: str | None

    def __str__(self) -> str:
        """Return it in words."""
        gains = f"{float(self.our_gain) / self.rows:.15g} and {float(self.their_gain) / self.rows:.15g}"
        return f"{self.rows} rows: {self.ours} beside {self.theirs}, gains {gains}: {self.reason or 'UNEXPLAINED'}"


def is_close(X: Cells, rows: Rows, node: Node) -> bool:
    """Say whether a split parts values that scikit-learn takes for one."""
    passes = passing(X, rows, node)
    values = X[rows, node.column].astype(np.float64)
    return bool(values[~passes].min() - values[passes].max() <= CLOSE)


def explained(X: Cells, y: Codes, rows: Rows, ours: Node, theirs: Node, criterion: str) -> Difference:
    """Return the difference of two nodes with its reason, if it has one."""
    none: Gain = Fraction(0) if criterion == "gini" else Decimal(0)
    splits = [node.column is not None for node in (ours, theirs)]
    gains = [
        gain(y[rows], passing(X, rows, node), criterion) if split else none
        for node, split in zip((ours, theirs), splits, strict=True)
    ]
    apart = float(abs(gains[0] - gains[1])) / len(rows)  # type: ignore[operator]
    exact = gains[0] == gains[1] or (criterion != "gini" and apart < 10.0 ** (10 - DIGITS))
    reason = None
    if exact:
        first = (ours.column, ours.threshold) < (theirs.column, theirs.threshold) if all(splits) else False
        reason = "no gain" if not all(splits) else "equal gains" if first else "equal gains, by rounding not the first"
    elif apart < ROUNDING:
        reason = f"gains equal but for rounding ({apart:.1e})"
    elif gains[0] > gains[1] and splits[0] and is_close(X, rows, ours):
        reason = "close values"
    return Difference(len(rows), ours, theirs, gains[0], gains[1], reason)


def differences(X: Cells, y: Codes, ours: list[Node], theirs: list[Node], criterion: str) -> Iterator[Difference]:
    """Yield the topmost differences of two trees, in preorder."""
    pending: list[tuple[int, int, Rows]] = [(0, 0, np.arange(len(y)))]
    while pending:
        i, j, rows = pending.pop()
        a, b = ours[i], theirs[j]
        if a.column is None and b.column is None:
            continue
        if a.column is not None and b.column is not None:
            passes = passing(X, rows, a)
            if np.array_equal(passes, passing(X, rows, b)):
                parts = [rows[passes], rows[~passes]]
                pending += [(p, q, part) for p, q, part in zip(a.children, b.children, parts, strict=True)][::-1]
                continue
        yield explained(X, y, rows, a, b, criterion)


def grown(X: Cells, y: Codes, criterion: str, **limits: Any) -> lattree.Tree:
    """Return lattree's tree."""
    data = lattree.Dataset.from_arrays(X, y)
    return lattree.GreedyTreeSearch(criterion=criterion, **limits).run(data).tree  # type: ignore[arg-type]


def fitted(X: Cells, y: Codes, criterion: str, seed: int = 0, **limits: Any) -> Any:
    """Return scikit-learn's tree."""
    return DecisionTreeClassifier(criterion=CRITERIA[criterion], random_state=seed, **limits).fit(X, y)


def check(name: str, X: Cells, y: Codes, criterion: str, depth: int, cases: int) -> bool:
    """Print whether the trees are identical, else the first difference; say whether all are explained."""
    ours = nodes_of_lattree(grown(X, y, criterion, max_depth=depth, min_cases=cases))
    theirs = nodes_of_sklearn(fitted(X, y, criterion, max_depth=depth, min_samples_split=cases))
    found = list(differences(X, y, ours, theirs, criterion))
    unexplained = [difference for difference in found if difference.reason is None]
    head = f"{name:<12} {CRITERIA[criterion]:<8} {len(ours):>4} {len(theirs):>4} nodes"
    if not found:
        print(f"{head}  identical", flush=True)
    else:
        print(f"{head}  {len(found)} of them differ, the first at {(unexplained or found)[0]}", flush=True)
    return not unexplained


def sizes(name: str, X: Cells, y: Codes, criterion: str, seeds: int) -> None:
    """Print how many nodes trees of full depth have, beside the mean and the nearest of several random states."""
    ours = len(nodes_of_lattree(grown(X, y, criterion)))
    theirs = [fitted(X, y, criterion, seed).tree_.node_count for seed in range(seeds)]
    nearest = min(theirs, key=lambda count: abs(count - ours))
    away = [f"{100 * (ours / count - 1):>+7.2f} %" for count in (sum(theirs) / seeds, nearest)]
    span = f"{min(theirs)} to {max(theirs)}"
    print(f"{name:<12} {CRITERIA[criterion]:<8} {ours:>7} {span:>16}", *away, flush=True)
