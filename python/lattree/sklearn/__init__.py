"""Estimators for scikit-learn: what pipelines, grids and ensembles take for one of their own.

They need ``pip install 'lattree[sklearn]'``. Tables are learnt from as they are: columns of a pandas or polars frame
keep their names and kinds, text and categories need no encoding, and cells may be missing. The tree itself, with all
that it says of itself, is the attribute ``tree_``.

>>> from sklearn.datasets import load_iris
>>> from lattree.sklearn import OptimalTreeClassifier
>>> X, y = load_iris(as_frame=True, return_X_y=True)
>>> model = OptimalTreeClassifier(max_depth=2).fit(X, y)
>>> model.status_, model.objective_, model.score(X, y)
('optimal', 6.0, 0.96)
"""

try:
    from sklearn.utils.validation import validate_data as _new_in_1_6  # noqa: F401
except ImportError as error:
    raise ImportError("lattree.sklearn needs scikit-learn 1.6 or later: pip install 'lattree[sklearn]'") from error

from lattree.sklearn._binarizer import Binarizer
from lattree.sklearn._classifiers import GreedyTreeClassifier, OptimalTreeClassifier
from lattree.sklearn._policy import PolicyTreeEstimator
from lattree.sklearn._selectors import BackwardEliminationSelector, BestSubsetSelector

__all__ = [
    "BackwardEliminationSelector",
    "BestSubsetSelector",
    "Binarizer",
    "GreedyTreeClassifier",
    "OptimalTreeClassifier",
    "PolicyTreeEstimator",
]
