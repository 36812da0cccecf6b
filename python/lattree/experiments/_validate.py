"""Searches compared by cross-validation, and the simplest that is not clearly worse than the best."""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from lattree._core import (
    AcceptableSubsetSearch,
    BackwardEliminationSearch,
    DataError,
    Dataset,
    DistinctTreeSearch,
    ExhaustiveSubsetSearch,
    GreedyTreeSearch,
    Interrupted,
    ParameterError,
    Tree,
    _shown,
)
from lattree._progress import Line
from lattree._series import to_series
from lattree.experiments._compare import ENDED, TreeSearch, named
from lattree.experiments._folds import check_dataset, error_rate

Rows: TypeAlias = npt.NDArray[np.int64]

SUBSET_SEARCHES = (AcceptableSubsetSearch, BackwardEliminationSearch, ExhaustiveSubsetSearch)
"""Searches that may need rows to judge by, beside those that they learn from."""


class Splitter(Protocol):
    """What deals rows into folds: scikit-learn's splitters, or anything else that has their ``split``."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[tuple[Any, Any]]:
        """Yield pairs of row numbers: those to learn from, and those to test on."""


@dataclass(slots=True)
class _Scores:
    """What one search came to, fold by fold."""

    errors: list[float] = field(default_factory=list)
    training: list[float] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    unfinished: list[bool] = field(default_factory=list)

    def first(self, n_folds: int) -> "_Scores":
        """Return those of the first folds."""
        return _Scores(*(getattr(self, one.name)[:n_folds] for one in fields(self)))


def cross_validate(
    search: TreeSearch | Sequence[TreeSearch] | Mapping[str, TreeSearch],
    data: Dataset,
    *,
    cv: int | Splitter | Iterable[tuple[Any, Any]] = 5,
    groups: Any = None,
    seed: int = 0,
    search_fraction: float = 0.3,
    progress: bool | Callable[[str, int, int], object] | None = None,
) -> pl.DataFrame:
    """Estimate the error on new rows of one search or several, and choose among them.

    Parameters
    ----------
    search : search, sequence of searches, or mapping of str to searches
        Any search that has a tree as its result, or anything else whose ``run(data)`` returns what has a ``tree``.
        Without a mapping, searches are called by their class and the parameters that are not at their defaults. All see
        the same folds. ``OptimalTreeSearch(max_depth=0)`` predicts the heaviest class: what others have to beat.
    data : Dataset
        A table with classes to predict.
    cv : int, splitter, or iterable of pairs, default=5
        How many folds, from 2 to the number of rows, each class dealt evenly (with `groups`: whole groups, dealt so
        that folds are about as large); or what has scikit-learn's ``split(X, y, groups)``, which is given row numbers
        as X; or pairs of row numbers, to learn from and to test on, each at most once.
    groups : array-like of shape (n_rows,) or None, default=None
        Rows of one group, of one patient say, are never on both sides of a fold. For a `cv` of pairs it must be None.
    seed : int, default=0
        Deals the folds where `cv` is a number, and splits the rows of subset searches; from 0 to 2^64 - 1. The same
        seed gives the same folds on every platform. A splitter has a seed of its own.
    search_fraction : float, default=0.3
        A subset search that judges by rows held out gets this share of the training rows for it; the tree is then grown
        again on all of them, over the features selected and with the same parameters. Between 0 and 1.
    progress : bool, callable or None, default=None
        True: show what is done in a line on stderr, by tqdm or rich (extra ``progress``). A callable is called after
        each run with the name of its search, the number of runs done and that of all.

    Returns
    -------
    polars.DataFrame
        A row per search, in their order: ``search``, the name; ``folds``; ``error``, the mean over folds of the share
        of cases (by counts and weights) predicted wrongly on the rows held out, and ``standard_error`` of that mean,
        null for a single fold; ``training_error``, ``leaves``, ``depth`` and ``seconds``, means; ``unfinished``, runs
        that a limit ended; ``best``, true for the least error (of equal ones the fewest leaves, then the first);
        ``one_standard_error``, true for the search of fewest leaves whose error is at most that of the best and one
        standard error more (of equal ones the least error); ``errors``, fold by fold, for :func:`paired_t_test` and
        plots.

    Raises
    ------
    ParameterError
        A parameter is out of range, a search is given twice, folds have no rows or rows that there are not, `groups`
        has another length than the table or misses a value.
    DataError
        `data` has no classes, or `groups` mixes kinds or is no list of values.
    MethodError
        A search failed on a fold; the text names both, and the cause is chained.
    TypeError
        `search` is none or cannot choose a tree, or `data` is no Dataset.
    Interrupted
        Ctrl-C; `result` is the frame of the folds that all searches had done by then, None where there are none.

    Notes
    -----
    The one-standard-error rule: Breiman et al., *Classification and regression trees*, 1984, section 3.4.3. Training
    sets overlap, so that the standard error is somewhat too small; and the error of the search chosen is, as the least
    of several, an optimistic estimate. Complexity: as many runs as folds times searches.

    >>> import lattree
    >>> searches = [lattree.OptimalTreeSearch(max_depth=depth) for depth in (0, 1, 2)]
    >>> found = lattree.experiments.cross_validate(searches, lattree.datasets.load("iris"))
    >>> found.filter("one_standard_error")["search"].item()
    'OptimalTreeSearch(max_depth=2)'
    """
    check_dataset(data)
    searches = _named_searches(search)
    if data.target is None or data.schema.task != "classes":
        target = "absent" if data.target is None else data.schema.task
        raise DataError(f"cross-validation needs classes, but the target is {target}")
    if isinstance(search_fraction, bool) or not isinstance(search_fraction, (int, float, np.integer, np.floating)):
        raise TypeError(f"`search_fraction` must be a number, got {type(search_fraction).__name__}")
    if not 0 < search_fraction < 1:
        raise ParameterError(f"`search_fraction` must be between 0 and 1, got {search_fraction}")
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise TypeError(f"`progress` must be True, False, a callable or None, got {type(progress).__name__}")
    n_folds, folds = _folds(data, cv, groups, seed)
    scores = {name: _Scores() for name in searches}
    line = Line() if progress is True else None
    runs, done = n_folds * len(searches), 0
    try:
        for place, (training, held_out) in enumerate(folds):
            for name, one in searches.items():
                if line is not None:
                    line.show(f"{done} of {runs} runs: fold {place + 1}, {_shown(name)}")
                with named(f"search {name!r}, fold {place}"):
                    _run(one, training, held_out, seed, search_fraction, scores[name])
                done += 1
                if callable(progress):
                    progress(name, done, runs)
    except KeyboardInterrupt as error:
        whole = done // len(searches)
        stopped = Interrupted(f"after {done} of {runs} runs; folds that all have done are in `.result`")
        stopped.result = _frame({name: of.first(whole) for name, of in scores.items()}) if whole else None
        raise stopped from error
    finally:
        if line is not None:
            line.show(f"{done} of {runs} runs")
            line.close()
    return _frame(scores)


def _run(search: Any, training: Dataset, test: Dataset, seed: int, fraction: float, scores: _Scores) -> None:
    started = time.perf_counter()
    result = _fit(search, training, seed, fraction)
    seconds = time.perf_counter() - started
    tree = result.tree
    if not isinstance(tree, Tree):
        raise TypeError(f"`run` must return what has a lattree.Tree as `tree`, got {type(tree).__name__}")
    error, training_error = error_rate(tree, test), error_rate(tree, training)
    # All at the end: Ctrl-C may come before.
    scores.errors.append(error)
    scores.training.append(training_error)
    scores.leaves.append(tree.n_leaves)
    scores.depths.append(tree.depth)
    scores.seconds.append(seconds)
    scores.unfinished.append(getattr(result, "status", None) not in ENDED)


def _fit(search: Any, training: Dataset, seed: int, fraction: float) -> Any:
    """Run a search on a training set; one that judges by rows held out gets a part of it for that."""
    if not isinstance(search, SUBSET_SEARCHES) or search.error != "search":
        return search.run(training)
    result = search.run(*training.split(fraction, seed=seed))
    keywords = search.__getnewargs_ex__()[1]
    greedy = {name: keywords[name] for name in GreedyTreeSearch().__getnewargs_ex__()[1] if name in keywords}
    grown = GreedyTreeSearch(**greedy).run(training.select(result.features))
    return grown if result.status in ENDED else _Regrown(grown.tree, result.status)


@dataclass(frozen=True, slots=True)
class _Regrown:
    """The tree of all training rows over the features that a search had selected when a limit ended it."""

    tree: Tree
    status: str


def _frame(every: Mapping[str, _Scores]) -> pl.DataFrame:
    means = {name: float(np.mean(of.errors)) for name, of in every.items()}
    spread = {name: _standard_error(of.errors) for name, of in every.items()}
    leaves = {name: float(np.mean(of.leaves)) for name, of in every.items()}
    best = min(every, key=lambda name: (means[name], leaves[name]))
    most = means[best] + (spread[best] or 0.0)
    simplest = min((name for name in every if means[name] <= most), key=lambda name: (leaves[name], means[name]))
    rows = [
        {
            "search": name,
            "folds": len(of.errors),
            "error": means[name],
            "standard_error": spread[name],
            "training_error": float(np.mean(of.training)),
            "leaves": leaves[name],
            "depth": float(np.mean(of.depths)),
            "seconds": float(np.mean(of.seconds)),
            "unfinished": sum(of.unfinished),
            "best": name == best,
            "one_standard_error": name == simplest,
            "errors": of.errors,
        }
        for name, of in every.items()
    ]
    return pl.DataFrame(rows, schema_overrides={"standard_error": pl.Float64()})


def _standard_error(errors: Sequence[float]) -> float | None:
    return float(np.std(errors, ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else None


def _named_searches(given: Any) -> dict[str, Any]:
    """The searches by name; an error for what is none."""
    if hasattr(given, "run"):
        given = [given]
    if isinstance(given, Mapping):
        found = dict(given)
        for name in found:
            if not isinstance(name, str):
                raise TypeError(f"`search` must have names that are strings, got {name!r}")
    elif isinstance(given, Iterable) and not isinstance(given, str):
        listed = list(given)
        for one in listed:
            _check_search(one)
        found = {_name(one): one for one in listed}
        if len(found) < len(listed):
            names = [_name(one) for one in listed]
            twice = next(name for name in names if names.count(name) > 1)
            raise ParameterError(f'`search` has {twice} twice; leave one out, or give names: {{"name": search}}')
    else:
        raise TypeError(f"`search` must be a search, a list or a dict of them, got {type(given).__name__}")
    if not found:
        raise ParameterError("`search` must have at least one search, got none")
    for one in found.values():
        _check_search(one)
    return found


def _check_search(one: Any) -> None:
    if isinstance(one, DistinctTreeSearch):
        raise TypeError("DistinctTreeSearch lists trees and chooses none; AcceptableSubsetSearch chooses among them")
    if isinstance(one, type) or not callable(getattr(one, "run", None)):
        raise TypeError(f"`search` must be a search, such as OptimalTreeSearch(max_depth=3), got {one!r}")


def _name(search: Any) -> str:
    """The class, and the parameters that are not at their defaults."""
    kind = type(search)
    if not hasattr(search, "__getnewargs_ex__"):
        return repr(search)
    default = kind().__getnewargs_ex__()[1]
    given = search.__getnewargs_ex__()[1]
    said = ", ".join(f"{name}={value!r}" for name, value in given.items() if value != default[name])
    return f"{kind.__name__}({said})"


def _folds(data: Dataset, cv: Any, groups: Any, seed: int) -> tuple[int, Iterable[tuple[Dataset, Dataset]]]:
    """How many folds there are, and their rows: those to learn from, and those to test on."""
    known = None if groups is None else _group_numbers(groups, len(data))
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        at_most, of = (len(data), "rows") if known is None else (int(known.max(initial=-1)) + 1, "groups")
        if not 2 <= cv <= at_most:
            raise ParameterError(f"`cv` must be from 2 to the number of {of}, which is {at_most}, got {cv}")
        if known is None:
            return int(cv), data.folds(int(cv), seed=seed)
        return int(cv), _taken(data, _by_groups(known, int(cv), seed))
    if hasattr(cv, "split") and not isinstance(cv, (type, str)):
        target = data.target
        assert target is not None  # checked by the caller
        pairs = cv.split(np.arange(len(data))[:, None], target.to_numpy(), known)
    elif isinstance(cv, Iterable) and not isinstance(cv, (str, Mapping)):
        if known is not None:
            raise ParameterError("`groups` must be None where `cv` says which rows are in which fold")
        pairs = cv
    else:
        raise TypeError(f"`cv` must be a number of folds, a splitter or pairs of row numbers, got {cv!r}")
    folds = list(_checked(pairs, len(data)))
    if not folds:
        raise ParameterError("`cv` must give at least one fold, got none")
    return len(folds), _taken(data, folds)


def _taken(data: Dataset, folds: Iterable[tuple[Rows, Rows]]) -> Iterator[tuple[Dataset, Dataset]]:
    return ((data.take(learn), data.take(test)) for learn, test in folds)


def _by_groups(groups: Rows, k: int, seed: int) -> list[tuple[Rows, Rows]]:
    """Whole groups, the largest first, each into the fold of fewest rows; which of equal ones comes first is chance."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"`seed` must be a whole number, got {type(seed).__name__}")
    if not 0 <= seed < 2**64:
        raise ParameterError(f"`seed` must be from 0 to 2^64 - 1, got {seed}")
    sizes = np.bincount(groups)
    # Of Python rather than numpy, whose streams may change with its version.
    shuffled = np.array(random.Random(seed).sample(range(len(sizes)), len(sizes)))
    fold_of, filled = np.zeros(len(sizes), dtype=np.int64), np.zeros(k, dtype=np.int64)
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold_of[group] = np.argmin(filled)
        filled[fold_of[group]] += sizes[group]
    of_row = fold_of[groups]
    return [(np.flatnonzero(of_row != fold), np.flatnonzero(of_row == fold)) for fold in range(k)]


def _group_numbers(groups: Any, n_rows: int) -> Rows:
    """The groups as numbers from 0 on."""
    if isinstance(groups, str):
        raise TypeError(f"`groups` must have a value per row, got the text {groups!r}")
    series = to_series("groups", groups).alias("")
    if series.dtype.is_float():
        series = series.fill_nan(None)
    if len(series) != n_rows:
        raise ParameterError(f"`groups` must have a value per row, {n_rows}, got {len(series)}")
    if series.null_count():
        raise ParameterError(
            f"`groups` must name a group for each row, got none at row {series.is_null().arg_true()[0]}"
        )
    return series.rank("dense").to_numpy().astype(np.int64) - 1


def _checked(pairs: Iterable[Any], n_rows: int) -> Iterator[tuple[Rows, Rows]]:
    for fold, pair in enumerate(pairs):
        try:
            learn, test = (np.asarray(rows) for rows in pair)
        except (TypeError, ValueError):
            raise TypeError(f"`cv` must give pairs of row numbers, got {pair!r} for fold {fold}") from None
        for what, rows in (("learn from", learn), ("test on", test)):
            if rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "iu"):
                raise TypeError(f"`cv` must give row numbers, got {rows.dtype} of shape {rows.shape} for fold {fold}")
            if not len(rows):
                raise ParameterError(f"`cv` must give rows to {what}, got none for fold {fold}")
            if rows.min() < 0 or rows.max() >= n_rows:
                wrong = rows.min() if rows.min() < 0 else rows.max()
                raise ParameterError(f"`cv` must give rows from 0 to {n_rows - 1}, got {wrong} for fold {fold}")
        yield learn.astype(np.int64), test.astype(np.int64)
