"""What a search for a policy tree says: rewards, where an exact search has costs."""

from dataclasses import dataclass
from typing import Any

from lattree._core import OptimalResult, Tree


def reward_of(cost: float) -> float:
    """Return the reward that a cost is, or the cost that a reward is."""
    return 0.0 - cost


@dataclass(frozen=True, slots=True)
class PolicyProgress:
    """A running search for a policy tree, as a progress callback sees it. Pickles.

    Attributes
    ----------
    seconds : float
        Since the start.
    reward : float or None
        That of the best tree so far; None before there is one.
    upper_bound : float
        No tree has a greater reward.
    gap : float or None
        What of the reward is not proved, as :attr:`PolicyResult.gap`.
    nodes : int
        Search nodes visited.
    """

    seconds: float
    reward: float | None
    upper_bound: float
    gap: float | None
    nodes: int


class PolicyResult:
    """What a search for a policy tree found. Frozen; pickles.

    Attributes
    ----------
    tree : Tree
        The best tree; its leaves name actions. If `status` is "optimal" it is the canonical one: the same for every
        number of threads. Its nodes have costs (:attr:`Node.costs`), which are rewards with the opposite sign.
    reward : float
        The rewards of all rows by the actions that the tree gives them, times counts and weights, less `node_penalty`
        per internal node.
    upper_bound : float
        No tree within the limits has a greater reward: over all thresholds, or over the tests offered where the
        binarizer says which these are.
    tests_bound : float
        No tree over the tests offered has a greater reward.
    gap : float
        ``upper_bound - reward``, over the greater in size of both; 0 if proved.
    status, tests, exact_thresholds, resolution, seconds, stats
        As in :class:`OptimalResult`.
    trace : list of (seconds, reward, upper_bound)
        One entry per change.
    costs : OptimalResult
        The same in costs, which are rewards with the opposite sign.
    """

    __slots__ = ("_result",)
    __module__ = "lattree"
    _result: OptimalResult

    def __init__(self, result: OptimalResult) -> None:
        object.__setattr__(self, "_result", result)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: `{name}` cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: `{name}` cannot be deleted")

    @property
    def costs(self) -> OptimalResult:
        """The result of the search for least costs that it is."""
        return self._result

    @property
    def tree(self) -> Tree:
        """The best tree."""
        return self._result.tree

    @property
    def reward(self) -> float:
        """Its reward."""
        return reward_of(self._result.objective)

    @property
    def upper_bound(self) -> float:
        """What no tree exceeds."""
        return reward_of(self._result.lower_bound)

    @property
    def tests_bound(self) -> float:
        """What no tree over the tests offered exceeds."""
        return reward_of(self._result.tests_bound)

    @property
    def gap(self) -> float:
        """What of the reward is not proved."""
        return self._result.gap

    @property
    def status(self) -> str:
        """How the search ended."""
        return self._result.status

    @property
    def tests(self) -> list[str]:
        """The tests offered."""
        return self._result.tests

    @property
    def exact_thresholds(self) -> bool:
        """Whether every ordered column had a test between all its neighbouring values."""
        return self._result.exact_thresholds

    @property
    def resolution(self) -> float:
        """What all rewards are multiples of."""
        return self._result.resolution

    @property
    def seconds(self) -> float:
        """Wall clock."""
        return self._result.seconds

    @property
    def trace(self) -> list[tuple[float, float, float]]:
        """Seconds, reward and upper bound at each change."""
        return [(seconds, reward_of(cost), reward_of(bound)) for seconds, cost, bound in self._result.trace]

    @property
    def stats(self) -> dict[str, int]:
        """Counters."""
        return self._result.stats

    def __repr__(self) -> str:
        is_said = self.exact_thresholds or self.status == "optimal_over_tests"
        over = "" if is_said else " over the thresholds offered"
        return (
            f"PolicyResult: {self.status}{over}, reward {self.reward!r}, upper bound {self.upper_bound!r}, "
            f"{self.seconds:.3f} s\n{self.tree}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._result,)


PolicyProgress.__module__ = "lattree"
