"""Decision trees, provably optimal or greedy, explained in the words of your own columns.

>>> import lattree
>>> data = lattree.datasets.load("iris")
>>> result = lattree.OptimalTreeSearch(max_depth=2).run(data)
>>> print(result.status, result.objective)
optimal 6.0
>>> print(result.tree.to_text())  # doctest: +SKIP
"""

import sys as _sys

from lattree import _calls, datasets, experiments
from lattree._core import (
    AcceptableSubsetSearch,
    BackwardEliminationSearch,
    Binarizer,
    Condition,
    DataError,
    Dataset,
    DistinctCounts,
    DistinctTree,
    DistinctTrees,
    DistinctTreeSearch,
    ExhaustiveSubsetSearch,
    Feature,
    GreedyResult,
    GreedyTreeSearch,
    Interrupted,
    LattreeError,
    Node,
    NodeTest,
    OptimalResult,
    OptimalTreeSearch,
    ParameterError,
    Progress,
    Removal,
    Rule,
    Schema,
    SubsetProgress,
    SubsetResult,
    Tree,
    TreeError,
    __version__,
)
from lattree._costs import Costs
from lattree._plot import plot, plot_trace
from lattree._policy import PolicyTreeSearch
from lattree._policy_result import PolicyProgress, PolicyResult
from lattree._readers import read_csv, read_ipc, read_parquet

__all__ = [
    "AcceptableSubsetSearch",
    "BackwardEliminationSearch",
    "Binarizer",
    "Condition",
    "Costs",
    "DataError",
    "Dataset",
    "DistinctCounts",
    "DistinctTree",
    "DistinctTreeSearch",
    "DistinctTrees",
    "ExhaustiveSubsetSearch",
    "Feature",
    "GreedyResult",
    "GreedyTreeSearch",
    "Interrupted",
    "LattreeError",
    "Node",
    "NodeTest",
    "OptimalResult",
    "OptimalTreeSearch",
    "ParameterError",
    "PolicyProgress",
    "PolicyResult",
    "PolicyTreeSearch",
    "Progress",
    "Removal",
    "Rule",
    "Schema",
    "SubsetProgress",
    "SubsetResult",
    "Tree",
    "TreeError",
    "__version__",
    "datasets",
    "experiments",
    "plot",
    "plot_trace",
    "read_csv",
    "read_ipc",
    "read_parquet",
]

_calls.explain(_sys.modules[__name__])
_calls.explain_constructor(PolicyTreeSearch)
