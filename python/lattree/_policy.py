"""Policy trees: which action each case should get, so that the rewards of all cases sum to the most."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from lattree._core import Binarizer, DataError, Dataset, Interrupted, OptimalResult, OptimalTreeSearch, Progress
from lattree._dtypes import quoted
from lattree._policy_result import PolicyProgress, PolicyResult, reward_of
from lattree._progress import Line


class PolicyTreeSearch:
    """Find the tree that gives each case an action, with the greatest sum of rewards, and prove it.

    Rewards are those of a dataset, ``Dataset(table, rewards=[...])``: for each row what each action is worth, such as
    the doubly robust scores of causal inference. There is no target.

    Parameters
    ----------
    max_depth, max_nodes, min_leaf, min_leaf_mass
        The limits of a tree, as in :class:`OptimalTreeSearch`.
    node_penalty : float, default=0
        What each internal node costs, in units of the rewards; finite, >= 0.
    abstain : float or None, default=None
        What a leaf earns, per unit of mass, that is "abstain" and gives no action; finite. None: there is no such leaf.
    rank, binarizer, engine, unseen
        Which tree, and over which tests, as in :class:`OptimalTreeSearch`.
    time_limit, node_limit, memory_limit, discrepancies, effort, seed, threads
        The limits of a search, as in :class:`OptimalTreeSearch`.

    Raises
    ------
    ParameterError
        A parameter is out of range; the text names it and what would be accepted.

    Notes
    -----
    It is ``OptimalTreeSearch(objective="costs")`` with the opposite sign. Source of the problem: Zhou, Athey and Wager,
    *Offline multi-action policy learning: generalization and optimization*, Operations Research 2023.
    """

    __slots__ = ("_search",)
    __module__ = "lattree"
    _search: OptimalTreeSearch

    def __init__(
        self,
        *,
        max_depth: int = 4,
        max_nodes: int | None = None,
        min_leaf: int = 1,
        min_leaf_mass: float = 0.0,
        node_penalty: float = 0.0,
        abstain: float | None = None,
        rank: str | Sequence[str] | None = ("objective", "nodes"),
        binarizer: Binarizer | None = None,
        engine: Literal["auto", "tests", "continuous"] = "auto",
        unseen: Literal["majority", "missing", "error"] = "majority",
        time_limit: float | None = None,
        node_limit: int | None = None,
        memory_limit: int | None = None,
        discrepancies: int | None = None,
        effort: Literal["proof", "tree"] = "proof",
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        if isinstance(abstain, (int, float)) and not isinstance(abstain, bool):
            abstain = reward_of(abstain)
        self._search = OptimalTreeSearch(
            objective="costs",
            max_depth=max_depth,
            max_nodes=max_nodes,
            min_leaf=min_leaf,
            min_leaf_mass=min_leaf_mass,
            node_penalty=node_penalty,
            abstain=abstain,
            rank=rank,
            binarizer=binarizer,
            engine=engine,
            unseen=unseen,
            time_limit=time_limit,
            node_limit=node_limit,
            memory_limit=memory_limit,
            discrepancies=discrepancies,
            effort=effort,
            seed=seed,
            threads=threads,
        )

    def run(
        self,
        data: Dataset,
        *,
        progress: bool | Callable[[PolicyProgress], object] | None = None,
        on_interrupt: Literal["raise", "return"] = "raise",
    ) -> PolicyResult:
        """Search a table.

        May be called again, and from several threads at once. The interpreter is free meanwhile.

        Parameters
        ----------
        data : Dataset
            With rewards (or costs), and without a target.
        progress : bool, callable or None, default=None
            As in :meth:`OptimalTreeSearch.run`; a callable is called with a :class:`PolicyProgress`.
        on_interrupt : {"raise", "return"}, default="raise"
            As there; the `result` of :class:`Interrupted` is a PolicyResult.

        Returns
        -------
        PolicyResult

        Raises
        ------
        DataError
            There are no rewards, there is a target, no row is present, or a level is unseen by the schema.
        ParameterError
            `on_interrupt` is neither word.
        ImportError
            `progress` is True, and there is neither tqdm nor rich.

        Warns
        -----
        UserWarning
            Thresholds were thinned out, as in :meth:`OptimalTreeSearch.run`.
        """
        if isinstance(data, Dataset):
            rewards = "Dataset(table, rewards=[...])"
            if data.target is not None:
                raise DataError(
                    f"PolicyTreeSearch has no use for a target, and the data have {quoted(data.schema.target or '')}: "
                    f"make the dataset without one, and say what actions are worth: {rewards}"
                )
            if data.costs is None:
                raise DataError(f"PolicyTreeSearch needs rewards of actions, and the data have none: {rewards}")
        line = Line() if progress is True else None
        call: Any = progress if line is None else line
        result = None
        try:
            found = self._search.run(
                data, progress=_reporting(call) if callable(call) else call, on_interrupt=on_interrupt
            )
            result = PolicyResult(found)
        except Interrupted as stopped:
            if isinstance(stopped.result, OptimalResult):
                stopped.result = PolicyResult(stopped.result)
            raise
        finally:
            if line is not None:
                line.close(result)
        return result

    def cancel(self) -> None:
        """Stop all runs of this search that are under way, from any thread.

        Each returns its best tree so far, with ``status == "interrupted"``.
        """
        self._search.cancel()

    @property
    def max_depth(self) -> int:
        """The longest path from the root to a leaf."""
        return self._search.max_depth

    @property
    def max_nodes(self) -> int | None:
        """The most internal nodes."""
        return self._search.max_nodes

    @property
    def min_leaf(self) -> int:
        """The fewest cases in each branch of a split."""
        return self._search.min_leaf

    @property
    def min_leaf_mass(self) -> float:
        """The least mass in each branch of a split."""
        return self._search.min_leaf_mass

    @property
    def node_penalty(self) -> float:
        """What each internal node costs."""
        return self._search.node_penalty

    @property
    def abstain(self) -> float | None:
        """What a leaf earns that gives no action."""
        return None if self._search.abstain is None else reward_of(self._search.abstain)

    @property
    def rank(self) -> tuple[str, ...]:
        """What is best among trees."""
        return self._search.rank

    @property
    def binarizer(self) -> Binarizer:
        """The tests offered."""
        return self._search.binarizer

    @property
    def engine(self) -> str:
        """Which search does the work."""
        return self._search.engine

    @property
    def unseen(self) -> str:
        """What the tree does with levels that it does not know."""
        return self._search.unseen

    @property
    def time_limit(self) -> float | None:
        """Seconds of wall clock."""
        return self._search.time_limit

    @property
    def node_limit(self) -> int | None:
        """The most search nodes."""
        return self._search.node_limit

    @property
    def memory_limit(self) -> int | None:
        """Bytes for live state and cache."""
        return self._search.memory_limit

    @property
    def discrepancies(self) -> int | None:
        """How far the search for good trees departs from the best by a look ahead."""
        return self._search.discrepancies

    @property
    def effort(self) -> str:
        """What the limits are spent on."""
        return self._search.effort

    @property
    def seed(self) -> int:
        """Where random numbers start."""
        return self._search.seed

    @property
    def threads(self) -> int | None:
        """How many threads search."""
        return self._search.threads

    def _keywords(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _KEYWORDS}

    def __repr__(self) -> str:
        return f"PolicyTreeSearch({', '.join(f'{name}={value!r}' for name, value in self._keywords().items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _search_of, (self._keywords(),)


_KEYWORDS = (
    "max_depth",
    "max_nodes",
    "min_leaf",
    "min_leaf_mass",
    "node_penalty",
    "abstain",
    "rank",
    "binarizer",
    "engine",
    "unseen",
    "time_limit",
    "node_limit",
    "memory_limit",
    "discrepancies",
    "effort",
    "seed",
    "threads",
)


def _search_of(keywords: dict[str, Any]) -> PolicyTreeSearch:
    """For pickle."""
    return PolicyTreeSearch(**keywords)


def _reporting(call: Callable[[PolicyProgress], object]) -> Callable[[Progress], object]:
    """A callback that is told of costs, for one that wants rewards."""

    def report(progress: Progress) -> object:
        reward = None if progress.objective is None else reward_of(progress.objective)
        bound = reward_of(progress.lower_bound)
        return call(PolicyProgress(progress.seconds, reward, bound, progress.gap, progress.nodes))

    return report
