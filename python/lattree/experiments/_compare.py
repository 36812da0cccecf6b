"""Several ways to select features on the same folds, and what sets them apart."""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import polars as pl

from lattree._choices import FINISHED
from lattree._core import Dataset, GreedyTreeSearch, Interrupted, LattreeError, ParameterError
from lattree._dtypes import list_names
from lattree.experiments._folds import Grown, Triple, check_dataset, error_rate, triples
from lattree.experiments._statistics import Stability, paired_t_test, stability

MEASURES = ("search_error", "generalisation_error", "n_features", "seconds", "cpu_seconds")
"""The figures of a fold that :meth:`Comparison.summary` has rows for, in their order."""

TIMES = ("seconds", "cpu_seconds")
"""Those that no method is best at: what selects nothing takes no time."""

ENDED = (None, *FINISHED)
"""The statuses of searches that no limit ended; what is no search of this package may have none."""

SUMMARY: dict[str, pl.DataType] = {
    "measure": pl.String(),
    "method": pl.String(),
    "n": pl.Int64(),
    "mean": pl.Float64(),
    "sd": pl.Float64(),
    "p_value": pl.Float64(),
    "mark": pl.String(),
}
"""The columns of a summary, but the last."""


class MethodError(LattreeError, RuntimeError):
    """A method of :func:`compare` failed; the text names it and the fold, and the cause is chained."""


class Selection(Protocol):
    """What a search over subsets returns, as far as it is looked at; ``status`` too, if it is there."""

    @property
    def features(self) -> Sequence[str]:
        """The names of the features selected."""


class TreeSearch(Protocol):
    """What grows trees: a :class:`GreedyTreeSearch` or anything else that has its ``run``."""

    def run(self, data: Dataset, /) -> Grown:
        """Grow a tree."""


Method: TypeAlias = Callable[[Dataset, Dataset], Sequence[str] | Selection | Grown]
"""Chooses features, given a building set and a search set."""


def every_feature(building: Dataset, search: Dataset) -> list[str]:
    """Select all features: the baseline of a comparison.

    Parameters
    ----------
    building, search : Dataset
        As every method of :func:`compare` takes them.

    Returns
    -------
    list of str
    """
    return building.schema.feature_names


@dataclass(frozen=True)
class FoldRow:
    """What one method came to on one fold.

    Attributes
    ----------
    repeat, fold : int
        Which fold, from 0.
    method : str
        Its name.
    status : str or None
        The status of its result, where it has one: ``"time_limit"`` and its like tell of searches that did not end.
    selected : tuple of str
        The features selected, in the table's order.
    used : tuple of str
        Those that the tree grown on the whole training set asks about.
    search_error, generalisation_error : float
        The errors, from 0 to 1.
    seconds, cpu_seconds : float
        What the selection took, by the wall clock and of all threads together.
    """

    repeat: int
    fold: int
    method: str
    status: str | None
    selected: tuple[str, ...]
    used: tuple[str, ...]
    search_error: float
    generalisation_error: float
    seconds: float
    cpu_seconds: float

    @property
    def n_features(self) -> int:
        """How many features the tree uses."""
        return len(self.used)

    @property
    def finished(self) -> bool:
        """Whether no limit ended the search."""
        return self.status in ENDED


@dataclass(frozen=True, repr=False)
class Comparison:
    """What :func:`compare` found.

    Attributes
    ----------
    rows : tuple of FoldRow
        Fold by fold, the methods in their order.
    features : tuple of str
        All features of the table.
    k : int
        Folds per repeat.
    search_fraction : float
        The share of the training sets that were search sets.
    """

    rows: tuple[FoldRow, ...]
    features: tuple[str, ...]
    k: int
    search_fraction: float

    def __repr__(self) -> str:
        each = len(self.rows) // max(1, len(self.methods))
        return f"Comparison: {each} folds, methods {list_names(self.methods)}; see summary() and frame"

    @property
    def methods(self) -> list[str]:
        """The names of the methods, in their order."""
        return list(dict.fromkeys(row.method for row in self.rows))

    @property
    def frame(self) -> pl.DataFrame:
        """The rows as a table: the attributes of :class:`FoldRow`, and ``n_features``."""
        texts = pl.List(pl.String())
        return pl.DataFrame(
            [asdict(row) | {"n_features": row.n_features} for row in self.rows],
            schema_overrides={"status": pl.String(), "selected": texts, "used": texts},
        )

    def values(self, measure: str, method: str) -> list[float]:
        """Return the figures of one method, fold by fold.

        Parameters
        ----------
        measure : str
            ``"search_error"``, ``"generalisation_error"``, ``"n_features"``, ``"seconds"`` or ``"cpu_seconds"``.
        method : str
            The name of a method.

        Raises
        ------
        ParameterError
            There is no such measure or method.
        """
        if measure not in MEASURES:
            raise ParameterError(f"`measure` must be one of {list_names(MEASURES)}, got {measure!r}")
        self._check_method(method)
        return [float(getattr(row, measure)) for row in self.rows if row.method == method]

    def stability(self, method: str) -> Stability:
        """Return how alike the sets of features are that the trees of one method use.

        Parameters
        ----------
        method : str
            The name of a method; there must be two folds.

        Raises
        ------
        ParameterError
            There is no such method, or one fold only.
        """
        self._check_method(method)
        return stability([row.used for row in self.rows if row.method == method], self.features)

    def _check_method(self, method: str) -> None:
        if method not in self.methods:
            raise ParameterError(f"`method` must be one of {list_names(self.methods)}, got {method!r}")

    def summary(self, *, alpha: float = 0.05, corrected: bool = False) -> pl.DataFrame:
        """Return means and standard deviations, and which methods are no worse than the best.

        Parameters
        ----------
        alpha : float, default=0.05
            A method differs from the best one if a paired t-test over the folds gives a p-value below this.
        corrected : bool, default=False
            Whether that test allows for the overlap of training sets (see `test_ratio` of :func:`paired_t_test`).

        Returns
        -------
        polars.DataFrame
            A row per measure and method: ``measure``, that is ``search_error``, ``generalisation_error``,
            ``n_features``, ``seconds``, ``cpu_seconds`` or ``stability``; ``method``; ``n``, folds or pairs of folds;
            ``mean``; ``sd``, null for one fold; ``p_value`` against the best, null where there is no test; ``mark``:
            ``"best"``, ``"same"`` (not different from it) or empty; ``unfinished``: folds on which a limit ended the
            search.

        Raises
        ------
        ParameterError
            `alpha` is not between 0 and 1.

        Notes
        -----
        The best has the least mean, of stability the greatest; of equal means the first. Stability needs two folds, and
        has no test: pairs of folds that share a fold are no sample of independent ones. Times have no mark and no test.
        """
        if not 0 < alpha < 1:
            raise ParameterError(f"`alpha` must be between 0 and 1, got {alpha}")
        rows = [row for measure in MEASURES for row in self._summary(measure, alpha, corrected)]
        if len(self.values("n_features", self.methods[0])) > 1:
            rows += self._stabilities()
        unfinished = [sum(row.method == method and not row.finished for row in self.rows) for _, method, *_ in rows]
        return pl.DataFrame(rows, schema=SUMMARY, orient="row").with_columns(pl.Series("unfinished", unfinished))

    def _summary(self, measure: str, alpha: float, corrected: bool) -> Iterator[tuple[Any, ...]]:
        # The ratio of cases tested to cases learned from.
        searched = self.search_fraction / (1 - self.search_fraction)
        ratio = (searched if measure == "search_error" else 1 / (self.k - 1)) if corrected else 0.0
        values = {method: self.values(measure, method) for method in self.methods}
        means = {method: float(np.mean(of)) for method, of in values.items()}
        best = None if measure in TIMES else min(means, key=means.__getitem__)
        for method, of in values.items():
            sd = float(np.std(of, ddof=1)) if len(of) > 1 else None
            p_value = None
            if best is not None and method != best and len(of) > 1:
                p_value = paired_t_test(of, values[best], test_ratio=ratio).p_value
            mark = "best" if method == best else "same" if p_value is not None and p_value >= alpha else ""
            yield (measure, method, len(of), means[method], sd, p_value, mark)

    def _stabilities(self) -> Iterator[tuple[Any, ...]]:
        found = {method: self.stability(method) for method in self.methods}
        best = max(found, key=lambda method: found[method].mean)
        for method, stable in found.items():
            mark = "best" if method == best else ""
            yield ("stability", method, stable.n_pairs, stable.mean, stable.sd, None, mark)


def compare(
    data: Dataset,
    methods: Mapping[str, Method],
    *,
    k: int = 10,
    repeats: int = 10,
    folds: int | None = None,
    search_fraction: float = 0.3,
    seed: int = 0,
    tree_search: TreeSearch | None = None,
    progress: Callable[[FoldRow, int, int], object] | None = None,
) -> Comparison:
    """Run several ways to select features on the same folds.

    Parameters
    ----------
    data : Dataset
        A table with classes to predict.
    methods : mapping of str to callable
        Names, and what to call with a building set and a search set. It returns names of features, or a result that
        has them as ``features``: the ``run`` of a search over subsets is such a callable. Of a result with a ``tree``
        alone, the features of the tree are taken.
    k, repeats, search_fraction, seed
        As for :func:`triples`.
    folds : int or None, default=None
        How many of the ``k * repeats`` folds to run, from the first; None: all.
    tree_search : GreedyTreeSearch or None, default=None
        What grows the trees that are judged; None: ``GreedyTreeSearch()``. The parameters of the methods' own searches
        are not known here: where they have any (``max_depth``, ``costs``), give the same.
    progress : callable or None, default=None
        Called after each run with its :class:`FoldRow`, the number of runs done and that of all.

    Returns
    -------
    Comparison

    Raises
    ------
    ParameterError
        There is no method, or as for :func:`triples`.
    MethodError
        A method raised, what it returned is no list of features, or no tree could be grown over them.
    TypeError
        `data` is no Dataset, `methods` no mapping to callables, or `tree_search` has no ``run``.
    Interrupted
        Ctrl-C; `result` is the Comparison of the runs done by then.

    Notes
    -----
    Errors are shares of cases, also where the searches have `costs`.
    """
    check_dataset(data)
    _check_methods(methods)
    if isinstance(tree_search, type) or (tree_search is not None and not callable(getattr(tree_search, "run", None))):
        raise TypeError(f"`tree_search` must be a search, such as GreedyTreeSearch(max_depth=3), got {tree_search!r}")
    search = GreedyTreeSearch() if tree_search is None else tree_search
    dealt = triples(data, k=k, repeats=repeats, search_fraction=search_fraction, seed=seed)
    runs = k * repeats if folds is None else folds
    if not 1 <= runs <= k * repeats:
        raise ParameterError(f"`folds` must be from 1 to {k * repeats}, or None, got {folds}")
    rows: list[FoldRow] = []
    try:
        # The range first: the folds beyond it are not dealt.
        for _, triple in zip(range(runs), dealt, strict=False):
            for name, method in methods.items():
                rows.append(_run(name, method, triple, search))
                if progress is not None:
                    progress(rows[-1], len(rows), runs * len(methods))
    except KeyboardInterrupt as error:
        stopped = Interrupted(
            f"after {len(rows)} of {runs * len(methods)} runs; those are in `.result` of this exception"
        )
        stopped.result = Comparison(tuple(rows), tuple(data.schema.feature_names), k, search_fraction)
        raise stopped from error
    return Comparison(tuple(rows), tuple(data.schema.feature_names), k, search_fraction)


def _check_methods(methods: object) -> None:
    if not isinstance(methods, Mapping):
        got = type(methods).__name__
        raise TypeError(f'`methods` must be a dict of names and callables, {{"name": search.run}}, got {got}')
    if not methods:
        raise ParameterError("`methods` must name at least one method, got none")
    for name, method in methods.items():
        if not isinstance(name, str):
            raise TypeError(f"`methods` must have names that are strings, got {name!r}")
        search = hasattr(method, "run")
        if not callable(method) or (search and isinstance(method, type)):
            hint = "; pass `search.run`, not the search" if search else ""
            raise TypeError(f"`methods` must have callables, got {method!r} for {name!r}{hint}")


@contextlib.contextmanager
def named(where: str) -> Iterator[None]:
    """Say where an exception came from."""
    try:
        yield
    except Exception as error:
        raise MethodError(f"{where}: {type(error).__name__}: {error}") from error


def _run(name: str, method: Method, triple: Triple, search: TreeSearch) -> FoldRow:
    where = f"method {name!r}, repeat {triple.repeat}, fold {triple.fold}"
    with named(where):
        wall, cpu = time.perf_counter(), time.process_time()
        result = method(triple.building, triple.search)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        selected = _names(result, triple.training.schema.feature_names)
    with named(f"tree_search for {where}"):
        built = search.run(triple.building.select(selected)).tree
        trained = search.run(triple.training.select(selected)).tree
        errors = error_rate(built, triple.search), error_rate(trained, triple.test)
    status = getattr(result, "status", None)
    return FoldRow(
        triple.repeat,
        triple.fold,
        name,
        None if status is None else str(status),
        tuple(selected),
        tuple(feature for feature in selected if feature in set(trained.features)),
        *errors,
        wall,
        cpu,
    )


def _names(result: Sequence[str] | Selection | Grown, known: Sequence[str]) -> list[str]:
    """Return what a method selected in the order of the columns, by which greedy trees settle ties."""
    holder = result if hasattr(result, "features") else getattr(result, "tree", result)
    given: Any = getattr(holder, "features", holder)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ParameterError(f"a method must return names of features or have them as `features`, got {result!r}")
    names = list(given)
    every = set(known)
    for name in names:
        if name not in every:
            raise ParameterError(f"a method selected {name!r}, which is no feature; there are {list_names(known)}")
    chosen = set(names)
    if len(chosen) < len(names):
        raise ParameterError(f"a method selected a feature twice: {list_names(names)}")
    return [name for name in known if name in chosen]
