"""The constant between two floats in other words than the library's: all decimals are tried, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import count


def _nearest(low: Fraction, high: Fraction, step: Fraction, most: int | None = None) -> Fraction | None:
    """The multiple of a step from `low` to `high` nearest to their middle; ties: the smaller. None without one."""
    middle = (low + high) / 2
    around = range(middle // step - 1, middle // step + 3)
    inside = [n * step for n in around if low <= n * step <= high and (most is None or abs(n) < most)]
    return min(inside, key=lambda x: (abs(x - middle), x), default=None)


@cache
def between(below: float, above: float, *, single: bool = False) -> float:
    """The shortest decimal in the middle half of the gap: of fewest places, then of fewest digits, then the nearest to
    the middle, then the smaller. Floats are the decimals that they are printed as."""
    if abs(below) == float("inf") or abs(above) == float("inf"):
        return below
    a, b = (Fraction(text(x) if single else repr(float(x))) for x in (below, above))
    low, high = a + (b - a) / 4, b - (b - a) / 4
    if _nearest(low, high, Fraction(1)) is not None:
        zeros = len(str(max(abs(int(low)), abs(int(high)))))
        for digits in count(1):
            of_steps = (_nearest(low, high, Fraction(10**zero), 10**digits) for zero in range(zeros + 1))
            found = [x for x in of_steps if x is not None]
            if found:
                t = min(found, key=lambda x: (abs(x - (low + high) / 2), x))
                break
    else:
        t = next(x for places in count(1) if (x := _nearest(low, high, Fraction(1, 10**places))) is not None)
    return float(t) if float(t) < above else below


def text(x: float) -> str:
    """The digits of a float of 32 bits."""
    import numpy as np

    return str(np.float32(x))


def in_column(below: float, above: float, values: Sequence[float]) -> float:
    """The constant between two values of a column with others between them, perhaps; `values` ascend."""
    middle = below / 2 + above / 2
    middle = middle if below <= middle < above else below
    return between(max(x for x in values if x <= middle), min(x for x in values if x > middle))
