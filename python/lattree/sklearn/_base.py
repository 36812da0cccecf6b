"""What estimators have in common: tables and labels in, threads, and what a fitted tree says of itself."""

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
from joblib import effective_n_jobs
from scipy.sparse import csr_matrix
from sklearn import __version__ as sklearn_version
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.fixes import parse_version
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from lattree._choices import FINISHED
from lattree._core import Dataset, GreedyResult, OptimalResult, Schema, SubsetResult, Tree, _result_from_parts
from lattree._costs import Costs
from lattree._policy_result import PolicyResult
from lattree._series import is_pandas

AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
LIMITS: dict[str, list[Any]] = {
    "unseen": [StrOptions({"majority", "missing", "error"})],
    "time_limit": [NOT_NEGATIVE, None],
    "memory_limit": [Interval(Integral, 0, None, closed="left"), None],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
}
"""Constraints of the parameters that all searches have."""

GROWTH: dict[str, list[Any]] = {
    "criterion": [StrOptions({"information_gain", "gain_ratio", "gini", "error"})],
    "min_cases": [AT_LEAST_ONE],
    "min_branch": [AT_LEAST_ONE, None],
    "min_leaf": [AT_LEAST_ONE],
    "max_depth": [Interval(Integral, 0, None, closed="left"), None],
    "min_gain": [NOT_NEGATIVE],
    "nominal_splits": [StrOptions({"multiway", "one_vs_rest", "subsets"})],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "costs": ["array-like", Costs, dict, None],
}
"""Constraints of the parameters that all searches which grow greedy trees have."""


_KNOWS_POLARS = parse_version(sklearn_version) >= parse_version("1.9")


class _Header:
    """The names of a polars frame as scikit-learn before 1.9 reads them: polars 2 does not offer them so any more."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.shape = frame.shape
        self._names = frame.columns

    def __dataframe__(self) -> "_Header":
        return self

    def column_names(self) -> list[str]:
        """Return the names of the columns."""
        return self._names


class TableEstimator(BaseEstimator):  # type: ignore[misc]
    """What learns from a table as it is: columns of numbers, text, categories and dates, with missing cells."""

    _parameter_constraints: ClassVar[dict[str, Any]]
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    @property
    def _schema(self) -> Schema:
        """What the table that was learnt from looked like."""
        raise NotImplementedError

    def _table(self, X: Any, *, reset: bool) -> Any:
        """A pandas or polars frame as it is, or an array of two dimensions."""
        if isinstance(X, pl.LazyFrame):
            X = X.collect()
        elif not is_frame(X) and hasattr(X, "__arrow_c_stream__") and not is_series(X):
            X = pl.DataFrame(X)
        if is_frame(X):
            named = _Header(X) if isinstance(X, pl.DataFrame) and not _KNOWS_POLARS else X
            validate_data(self, named, reset=reset, skip_check_array=True)
            if not (len(X) and len(X.columns)):
                what = "sample" if len(X) == 0 else "feature"
                raise ValueError(f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required.")
            return X
        # Cells that are text are levels; arrays of objects else are numbers. Infinities are numbers like others.
        dtype: str | None = "numeric"
        if _has_text(X):
            dtype = None
            if isinstance(X, (list, tuple)):  # an array of texts would make texts of the numbers beside them
                X = np.asarray(X, dtype=object)
        return validate_data(self, X, reset=reset, dtype=dtype, ensure_all_finite=False)

    def _rows(self, X: Any) -> Any:
        """A table to be predicted on: its columns have the names that were learnt from."""
        check_is_fitted(self)
        return renamed(self._table(X, reset=False), self._schema)

    def _threads(self) -> int:
        n_jobs: int | None = getattr(self, "n_jobs", None)
        return int(effective_n_jobs(n_jobs))


class SearchEstimator(TableEstimator):
    """What a search gives a result for, with one tree in it."""

    result_: OptimalResult | GreedyResult | SubsetResult | PolicyResult

    @property
    def _schema(self) -> Schema:
        return self.tree_.schema

    def _fitted(self) -> Any:
        """Return the result, once there is one."""
        check_is_fitted(self)
        return self.result_

    @property
    def tree_(self) -> Tree:
        """The tree: it prints itself, and exports rules, DOT and JSON."""
        tree: Tree = self._fitted().tree
        return tree

    @property
    def status_(self) -> str:
        """How the search ended."""
        status: str = self._fitted().status
        return status

    def _warn_of_limit(self, finished: tuple[str, ...] = FINISHED) -> None:
        """Warn the caller of ``fit`` where a limit struck: that is two calls above, with scikit-learn's own."""
        result = self.result_
        if result.status in finished:
            return
        said = f"the search ended with {result.status}"
        if isinstance(result, PolicyResult):
            said += f" at a reward of {result.reward:g}, a gap of {result.gap:.1%}"
            said += f" to the upper bound of {result.upper_bound:g}"
        elif not isinstance(result, GreedyResult):
            said += f" at an objective of {result.objective:g}, a gap of {result.gap:.1%}"
            said += f" to the lower bound of {result.lower_bound:g}"
        if not isinstance(result, GreedyResult) and result.gap == 0:
            said += "; it is the best, but not proved is that no smaller tree has it"
        warnings.warn(said, ConvergenceWarning, stacklevel=4)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but the list of the tests offered, which grows with the rows."""
        state: dict[str, Any] = dict(super().__getstate__())
        result = state.get("result_")
        if isinstance(result, OptimalResult):
            state["result_"] = _without_tests(result)
        elif isinstance(result, PolicyResult):
            state["result_"] = PolicyResult(_without_tests(result.costs))
        return state


def seed_of(random_state: Any) -> int:
    """Return a seed: the same for the same whole number, another one each time for None."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _without_tests(result: Any) -> OptimalResult:
    _, (tree, status, numbers, _, trace, stats) = result.__reduce__()
    return _result_from_parts(tree, status, numbers, b"", trace, stats)


class BoundsMixin:
    """What a search proves of its result."""

    _fitted: Callable[[], Any]

    @property
    def objective_(self) -> float:
        """What is minimised: errors, and penalties."""
        objective: float = self._fitted().objective
        return objective

    @property
    def lower_bound_(self) -> float:
        """What no result undercuts."""
        bound: float = self._fitted().lower_bound
        return bound

    @property
    def gap_(self) -> float:
        """The part of the objective that is not proved: 0 for the least one."""
        gap: float = self._fitted().gap
        return gap


class TreeEstimator(SearchEstimator):
    """An estimator that is one tree."""

    @property
    def selected_features_(self) -> npt.NDArray[np.object_]:
        """The features that the tree asks about, in the order of the table."""
        return np.array(self.tree_.features, dtype=object)

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """By how much each feature lowers the Gini impurity of the training cases, as a share of the whole.

        ndarray of float64, shape (n_features_in_,); all 0 where no test does.
        """
        return self.tree_.feature_importances()

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """Return the leaf that each row ends in.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int64, shape (n_samples,)
            Places among the nodes of the tree in preorder. Where missing values share a row out to several leaves, the
            heavier branch counts.

        Raises
        ------
        NotFittedError
            :meth:`fit` comes first.
        ValueError
            `X` lacks a column, or a cell is of another kind than those that were learnt from.
        """
        rows = self._rows(X)
        return np.asarray(self.tree_.apply(rows), dtype=np.int64)

    def decision_path(self, X: Any) -> csr_matrix:
        """Return the nodes that each row comes through on the way to its leaf.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)

        Returns
        -------
        csr_matrix of shape (n_samples, n_nodes)
            1 where a row comes through a node (in preorder), else 0.

        Raises
        ------
        NotFittedError
            :meth:`fit` comes first.
        ValueError
            `X` lacks a column, or a cell is of another kind than those that were learnt from.
        """
        starts, nodes = self.tree_.decision_path(self._rows(X))
        shape = (len(starts) - 1, self.tree_.n_nodes + self.tree_.n_leaves)
        return csr_matrix((np.ones(len(nodes), dtype=np.int64), nodes, starts), shape=shape)

    def _leaf_labels(self, X: Any, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The label of the leaf that each row ends in, of labels in the order of the tree's: also one that is no class.

        Not for trees in which a row may end in several leaves.
        """
        tree = self.tree_
        place = {label: place for place, label in enumerate(tree.schema.classes)}
        codes = np.array([place[node.prediction] for node in tree.nodes()])
        found: npt.NDArray[Any] = labels[codes[np.asarray(tree.apply(self._rows(X)))]]
        return found

    def get_depth(self) -> int:
        """Return the number of tests on the longest way to a leaf."""
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return self.tree_.n_leaves


ABSTAIN_LABEL: list[Any] = [str, Real, None]
"""Constraints of the value that is predicted where a tree abstains."""


def abstain_value(given: Any, known: Sequence[Any]) -> Any:
    """Return what is predicted where a tree abstains: beside text "abstain", and beside other labels -1, if not given.

    Raises
    ------
    ValueError
        It is a label already, or text beside numbers, or the other way round.
    """
    is_text = all(isinstance(label, str) for label in known)
    value = ("abstain" if is_text else -1) if given is None else given
    if isinstance(value, str) != is_text or value != value:
        kinds = ("text", "a number") if is_text else ("a number", "booleans or numbers")
        raise ValueError(
            f"abstain_label must be {kinds[0]}, as labels are {'text' if is_text else kinds[1]}, got {value!r}"
        )
    if value in known:
        raise ValueError(f"abstain_label must be no label of the data, got {value!r}: give another")
    return value


def is_frame(X: Any) -> bool:
    """Say whether `X` is a pandas or polars frame."""
    return isinstance(X, pl.DataFrame) or is_pandas(X, "DataFrame")


def is_series(X: Any) -> bool:
    """Say whether `X` is a pandas or polars Series."""
    return isinstance(X, pl.Series) or is_pandas(X, "Series")


def renamed(table: Any, schema: Schema) -> Any:
    """Return a table with the names of a schema, if it is a frame: where an array was learnt from, by position."""
    names = schema.feature_names
    if not is_frame(table) or [str(name) for name in table.columns] == names:
        return table
    if isinstance(table, pl.DataFrame):
        return table.rename(dict(zip(table.columns, names, strict=True)))
    return table.set_axis(names, axis=1)


def dataset(
    table: Any, y: Any = None, *, weight: Any = None, like: Dataset | Schema | None = None, rewards: Any = None
) -> Dataset:
    """Return a frame or an array, and labels of classes or rewards of actions, as a data set."""
    make = Dataset.from_arrays if isinstance(table, np.ndarray) else Dataset
    return make(table, y, task=None if y is None else "classes", weight=weight, like=like, rewards=rewards)


def labels(y: Any, estimator: Any) -> npt.NDArray[Any]:
    """Return class labels as an array of one kind: text, booleans, whole numbers.

    Raises
    ------
    ValueError
        There are none, some are missing, they are numbers that are not whole, or of several kinds.
    """
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    given: npt.NDArray[Any] = column_or_1d(y, warn=True)
    if given.dtype.kind == "O":
        kinds = set(map(type, given.tolist()))
        if all(issubclass(kind, str) for kind in kinds):
            return given  # text is always a class; scikit-learn's look at it would sort it
        if type(None) in kinds or any(label != label for label in given.tolist() if isinstance(label, float)):
            raise ValueError("Input y contains NaN or None: every row needs a label")
        for of_numpy, accepted in (("bool", (bool, np.bool_)), ("int64", Integral), ("float64", Real)):
            if all(issubclass(kind, accepted) for kind in kinds):
                given = given.astype(of_numpy)
                break
        else:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise ValueError(f"Unknown label type: y holds {names}; labels are text, booleans or whole numbers")
    if given.dtype.kind not in "OUbiuf":
        raise ValueError(f"Unknown label type: y holds {given.dtype}; labels are text, booleans or whole numbers")
    if given.dtype.kind == "f":
        assert_all_finite(given, input_name="y")
    if given.dtype.kind != "U":
        check_classification_targets(given)
    return given


def _has_text(X: Any) -> bool:
    """Whether an array of objects, or lists of cells, have a cell that is text."""
    array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object) if isinstance(X, (list, tuple)) else None
    if array is None or array.ndim != 2 or array.dtype.kind not in "OUS":
        return False
    return array.dtype.kind in "US" or any(isinstance(cell, str) for cell in array.flat)
