"""The 0/1 tests that columns offer, as a transformer."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

import lattree
from lattree._core import Schema, _OfferedTests
from lattree.sklearn._base import AT_LEAST_ONE, TableEstimator, dataset, labels


class Binarizer(TransformerMixin, TableEstimator):  # type: ignore[misc]
    """Columns as the 0/1 tests that an exact search over tests would be offered, such as ``age <= 30``.

    For models that know 0 and 1 only, or to see what a tree can ask. The trees of this package need no such step: they
    take columns as they are.

    Parameters
    ----------
    thresholds : {"auto", "all", "exact", "quantile", "mdlp"}, default="auto"
        Where ordered columns are cut. "all", or "exact": between all neighbouring values. "quantile": at quantiles.
        "mdlp": where the minimum description length principle says, which needs `y` (Fayyad and Irani, IJCAI 1993).
        "auto": as "all" while there are at most `max_tests` tests, else at quantiles.
    max_tests : int, default=1000
        How many tests quantiles make, without `max_thresholds`; levels and missing values always have theirs.
    max_thresholds : int or None, default=None
        The most cuts of one column, under "auto" and "quantile".
    nominal : {"one_vs_rest", "subsets"}, default="one_vs_rest"
        A test for each level, or for each proper subset of at most 10 levels.
    missing : {"own_test", "fails"}, default="own_test"
        A missing value fails every test on a value. With "own_test", columns that have missing values in training also
        offer a test for it.

    Attributes
    ----------
    tests_ : list of str
        The tests, in the order of the columns and their cuts, without those that all rows pass or fail, and without
        those that tell the rows apart as an earlier one does.
    n_features_in_ : int
        How many columns there were.
    feature_names_in_ : ndarray of str
        Their names, where all were text.

    Examples
    --------
    >>> import polars as pl
    >>> X = pl.DataFrame({"age": [22, 35, None], "city": ["Bern", "Basel", "Bern"]})
    >>> Binarizer().set_output(transform="polars").fit_transform(X).columns
    ['age <= 30', 'age is missing', 'city is Basel']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "thresholds": [StrOptions({"auto", "all", "exact", "quantile", "mdlp"})],
        "max_tests": [AT_LEAST_ONE],
        "max_thresholds": [AT_LEAST_ONE, None],
        "nominal": [StrOptions({"one_vs_rest", "subsets"})],
        "missing": [StrOptions({"own_test", "fails"})],
    }

    def __init__(
        self,
        *,
        thresholds: str = "auto",
        max_tests: int = 1000,
        max_thresholds: int | None = None,
        nominal: str = "one_vs_rest",
        missing: str = "own_test",
    ) -> None:
        self.thresholds = thresholds
        self.max_tests = max_tests
        self.max_thresholds = max_thresholds
        self.nominal = nominal
        self.missing = missing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.thresholds == "mdlp"
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _schema(self) -> Schema:
        return self._offered.schema

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> "Binarizer":
        """Find the tests that a table offers.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array-like of shape (n_samples, n_features)
            Numbers, text, categories, dates, booleans; NaN and None are missing values.
        y : array-like of shape (n_samples,) or None, default=None
            Labels, which ``thresholds="mdlp"`` asks about.

        Returns
        -------
        Binarizer
            The transformer itself.

        Raises
        ------
        ValueError
            A parameter is out of range, or `X` or `y` cannot be learnt from; the text says which, and why.
        """
        table = self._table(X, reset=True)
        binarizer = lattree.Binarizer(
            thresholds=self.thresholds,  # type: ignore[arg-type]
            max_tests=self.max_tests,
            max_thresholds=self.max_thresholds,
            nominal=self.nominal,  # type: ignore[arg-type]
            missing=self.missing,  # type: ignore[arg-type]
        )
        y = labels(y, self) if self.thresholds == "mdlp" else None
        self._offered: _OfferedTests = binarizer._offered(dataset(table, y))
        self.tests_ = self._offered.words()
        return self

    def transform(self, X: Any) -> npt.NDArray[np.int8]:
        """Return which tests each row passes.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int8, shape (n_samples, n_tests)
            1 where a row passes a test, else 0. Missing values, and levels that training did not have, pass no test on
            a value. Or a frame, as ``set_output`` says.

        Raises
        ------
        NotFittedError
            :meth:`fit` comes first.
        ValueError
            `X` lacks a column, or a cell is of another kind than those that were learnt from.
        """
        rows = self._rows(X)
        return self._offered.passes(dataset(rows, like=self._schema))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the tests in words, the names of the columns of what :meth:`transform` returns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names for the columns, where training was on an array without; else they must be those of training.

        Returns
        -------
        ndarray of str objects, shape (n_tests,)

        Raises
        ------
        NotFittedError
            :meth:`fit` comes first.
        ValueError
            `X` lacks a column, or a cell is of another kind than those that were learnt from.
        """
        check_is_fitted(self)
        names = [str(name) for name in _check_feature_names_in(self, input_features)]
        return np.array(self._offered.words(names), dtype=object)
