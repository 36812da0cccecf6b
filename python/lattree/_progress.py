"""A line on stderr that says how far a search is: what ``progress=True`` shows, by tqdm or else by rich.

In a terminal it is written over and over; tqdm also knows notebooks.
"""

from collections.abc import Callable
from typing import Any

from lattree._core import DistinctCounts, GreedyResult, OptimalResult, Progress, SubsetProgress, SubsetResult
from lattree._policy_result import PolicyProgress, PolicyResult

Report = Progress | SubsetProgress | PolicyProgress
"""What searches say while they run."""


class Line:
    """A callback for the `progress` of any search, to be closed at its end.

    Raises
    ------
    ImportError
        There is neither tqdm nor rich.
    """

    def __init__(self) -> None:
        try:
            self._show, self._end = _tqdm()
        except ModuleNotFoundError:
            try:
                self._show, self._end = _rich()
            except ModuleNotFoundError:
                raise ImportError(
                    "`progress=True` needs tqdm or rich: pip install 'lattree[progress]'; or pass a callable"
                ) from None

    def __call__(self, report: Report) -> None:
        """Show a report."""
        self.show(words(report))

    def show(self, text: str) -> None:
        """Show a text in place of the one before."""
        self._show(text)

    def close(self, result: Any = None) -> None:
        """End the line, with words on a result if there is one."""
        if result is not None:
            self._show(ended(result))
        self._end()


def words(report: Report) -> str:
    """Return a report in words: incumbent, bound and gap where there are any, what was done, and seconds."""
    if isinstance(report, Progress):
        if report.objective is None and report.lower_bound == 0 < report.nodes:
            said = [f"nodes {report.nodes:,}"]
        else:
            said = [_best(report.objective, report.lower_bound, report.gap)]
    elif isinstance(report, PolicyProgress):
        said = [_best(report.reward, report.upper_bound, report.gap)]
    else:
        # What is covered says how many there may be: as many as there are subsets left, at most.
        covered = f"{report.covered:.1%} of all subsets"
        if report.error is None:
            said = [f"trees {report.distinct:,}  built {report.built:,}", covered]
        else:
            gap = (report.error - report.lower_bound) / report.error if report.error > report.lower_bound else 0.0
            said = [_best(report.error, report.lower_bound, gap), f"trees {report.built:,}", covered]
    return "  ".join([*said, f"{report.seconds:.1f} s"])


def ended(result: OptimalResult | SubsetResult | GreedyResult | DistinctCounts | PolicyResult) -> str:
    """Return in words how a search ended."""
    if isinstance(result, (OptimalResult, SubsetResult)):
        found = _best(result.objective, result.lower_bound, result.gap)
    elif isinstance(result, PolicyResult):
        found = _best(result.reward, result.upper_bound, result.gap)
    elif isinstance(result, DistinctCounts):
        found = f"trees {result.distinct:,}  built {result.built:,}"
    else:
        found = f"leaves {result.tree.n_leaves:,}"
    return f"{result.status}  {found}  {result.seconds:.1f} s"


def number(value: float) -> str:
    """Return an objective or a bound in at most six digits, whole numbers with all of theirs."""
    return f"{value:.0f}" if value == round(value) else f"{value:.6g}"


def _best(value: float | None, bound: float, gap: float | None) -> str:
    best = f"best {'none yet' if value is None else number(value)}  bound {number(bound)}"
    return best if gap is None else f"{best}  gap {gap:.1%}"


def _tqdm() -> tuple[Callable[[str], object], Callable[[], object]]:
    from tqdm.auto import tqdm

    bar = tqdm(total=0, bar_format="{desc}")
    return bar.set_description_str, bar.close


def _rich() -> tuple[Callable[[str], object], Callable[[], object]]:
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    status = console.status("")
    last = [""]
    status.start()

    def show(text: str) -> None:
        last[0] = text
        status.update(text)

    def end() -> None:
        status.stop()
        console.print(last[0], markup=False)

    return show, end
