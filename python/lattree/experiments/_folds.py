"""The sets of a repeated cross-validation, and the error of a tree on one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lattree._core import Dataset, ParameterError, Tree


class Grown(Protocol):
    """What a search for a tree returns, as far as it is looked at."""

    @property
    def tree(self) -> Tree:
        """The tree."""


@dataclass(frozen=True)
class Triple:
    """The sets of one fold.

    Attributes
    ----------
    repeat, fold : int
        Where it is, from 0.
    training : Dataset
        All folds but one.
    building, search : Dataset
        The two parts of `training`.
    test : Dataset
        The fold held out.
    """

    repeat: int
    fold: int
    training: Dataset
    building: Dataset
    search: Dataset
    test: Dataset


def triples(
    data: Dataset, *, k: int = 10, repeats: int = 10, search_fraction: float = 0.3, seed: int = 0
) -> Iterator[Triple]:
    """Deal the sets of a repeated stratified cross-validation, each training set split in two.

    Parameters
    ----------
    data : Dataset
        A table with classes to predict.
    k : int, default=10
        Folds; from 2 to the number of rows.
    repeats : int, default=10
        How often the rows are dealt into folds anew; at least 1.
    search_fraction : float, default=0.3
        The share of each training set that is its search set; between 0 and 1.
    seed : int, default=0
        The same seed gives the same sets on every platform.

    Yields
    ------
    Triple
        ``k * repeats`` of them, repeat by repeat.

    Raises
    ------
    ParameterError
        A parameter is out of range, or a building or search set would have no row.
    TypeError
        `data` is no Dataset.

    Notes
    -----
    Repeat r deals by ``data.folds(k, seed=seed + r)`` and splits every training set by
    ``training.split(search_fraction, seed=seed + r)``.
    """
    check_dataset(data)
    if repeats < 1:
        raise ParameterError(f"`repeats` must be at least 1, got {repeats}")
    if not 0 < search_fraction < 1:
        raise ParameterError(f"`search_fraction` must be between 0 and 1, got {search_fraction}")
    if data.target is None:
        raise ParameterError("`data` must have a target, to stratify by and to predict")
    return _triples(data, k, repeats, search_fraction, seed)


def _triples(data: Dataset, k: int, repeats: int, search_fraction: float, seed: int) -> Iterator[Triple]:
    for repeat in range(repeats):
        for fold, (training, test) in enumerate(data.folds(k, seed=seed + repeat)):
            building, search = training.split(search_fraction, seed=seed + repeat)
            if not (len(building) and len(search)):
                raise ParameterError(
                    f"`search_fraction` must leave rows in both parts, got {search_fraction}: "
                    f"it splits {len(training)} rows into {len(building)} and {len(search)}"
                )
            yield Triple(repeat, fold, training, building, search, test)


def check_dataset(data: object) -> None:
    """Refuse what is no Dataset, and say how to make one."""
    if not isinstance(data, Dataset):
        got = type(data).__name__
        raise TypeError(f'`data` must be a lattree.Dataset, got {got}; make one: lattree.Dataset(table, "target")')


def error_rate(tree: Tree | Grown, data: Dataset) -> float:
    """Return the share of cases that a tree predicts wrongly.

    Parameters
    ----------
    tree : Tree
        A classification tree, or a result that has one as ``tree``.
    data : Dataset
        The cases, with their target; counts and weights count as in the searches.

    Returns
    -------
    float
        From 0 to 1: the mass of the wrong cases over the mass of all.

    Raises
    ------
    ParameterError
        The cases have no target, or no mass.
    TypeError
        There is no tree, or `data` is no Dataset.
    """
    check_dataset(data)
    grown: Any = getattr(tree, "tree", tree)
    if not isinstance(grown, Tree):
        raise TypeError(f"`tree` must be a lattree.Tree or a result with a `tree`, got {type(tree).__name__}")
    target = data.target
    if target is None:
        raise ParameterError("`data` must have a target, to compare predictions with")
    # Without features, what stands beside the target is counts and weights, whatever they are called.
    beside = data.select([]).to_polars().drop(str(data.schema.target))
    mass = np.ones(len(data))
    for column in beside.iter_columns():
        mass = mass * column.to_numpy()
    if not mass.sum() > 0:
        raise ParameterError("`data` must have cases of positive mass, got none")
    wrong = grown.predict(data).to_numpy() != target.to_numpy()
    return float(mass[wrong].sum() / mass.sum())
