"""Choosing a model by cross-validation, and comparing ways to select features.

:func:`cross_validate` is for any search. For :func:`compare` the protocol is that of Ruggieri (Complete search for
feature selection in decision trees, JMLR 2019, section 7.1). In each fold of a repeated stratified cross-validation the
training set is split into a building set and a search set. A method chooses features from these two. Its *search error*
is that of the tree over them that the building set gives, on the search set; its *generalisation error* that of the
tree over them that the whole training set gives, on the fold held out. All methods see the same sets, so that their
errors can be compared in pairs.

>>> import lattree
>>> from lattree import experiments
>>> data = lattree.datasets.load("iris")
>>> outcome = experiments.compare(data, {"all": experiments.every_feature}, k=5, repeats=1)
>>> outcome.frame.height
5
"""

from lattree.experiments._compare import Comparison, FoldRow, Method, MethodError, compare, every_feature
from lattree.experiments._folds import Triple, error_rate, triples
from lattree.experiments._statistics import Stability, TTest, paired_t_test, stability
from lattree.experiments._validate import Splitter, cross_validate

__all__ = [
    "Comparison",
    "FoldRow",
    "Method",
    "MethodError",
    "Splitter",
    "Stability",
    "TTest",
    "Triple",
    "compare",
    "cross_validate",
    "error_rate",
    "every_feature",
    "paired_t_test",
    "stability",
    "triples",
]
