"""Statistics of repeated experiments: a paired t-test, and the stability of sets of features.

Source of the correction for overlapping training sets: Nadeau and Bengio, Inference for the generalization error,
Machine Learning 52, 2003. Source of the stability: Nogueira and Brown, Measuring the stability of feature selection,
ECML-PKDD 2016.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from lattree._core import ParameterError
from lattree._dtypes import list_names

TINY = 1e-300
"""Stands for zero in a continued fraction."""


@dataclass(frozen=True)
class TTest:
    """What a paired t-test says.

    Attributes
    ----------
    difference : float
        The mean of first minus second.
    statistic : float
        That over its standard error; infinite if all differences are the same and not zero.
    degrees : int
        Degrees of freedom: pairs less one.
    p_value : float
        How likely a statistic as far from zero is, on either side, if the means do not differ.
    """

    difference: float
    statistic: float
    degrees: int
    p_value: float


def paired_t_test(first: Sequence[float], second: Sequence[float], *, test_ratio: float = 0.0) -> TTest:
    """Test whether the means of two paired samples differ.

    Parameters
    ----------
    first, second : sequence of float
        Figures of the same folds in the same order; at least two, all finite.
    test_ratio : float, default=0.0
        0 for the plain test. In cross-validation training sets overlap, and it finds differences too easily. With the
        number of cases tested per case trained on, ``1 / (k - 1)`` for k folds, the variance of the mean is enlarged by
        it: the corrected resampled t-test.

    Returns
    -------
    TTest

    Raises
    ------
    ParameterError
        The samples differ in length, have fewer than two figures or one that is not finite, or the ratio is negative.

    Notes
    -----
    If all differences are zero, the statistic is 0 and the p-value 1. Source of the correction: Nadeau and Bengio,
    Inference for the generalization error, Machine Learning 52, 2003.
    """
    n = len(first)
    if n != len(second) or n < 2:
        raise ParameterError(f"`first` and `second` must have one length of at least 2, got {n} and {len(second)}")
    if not (math.isfinite(test_ratio) and test_ratio >= 0):
        raise ParameterError(f"`test_ratio` must be finite and not negative, got {test_ratio}")
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if not np.isfinite(difference).all():
        raise ParameterError("`first` and `second` must be finite")
    mean = float(difference.mean())
    # All the same: what rounding leaves of their deviations is no spread.
    spread = 0.0 if (difference == difference[0]).all() else float(difference.std(ddof=1))
    error = spread * math.sqrt(1 / n + test_ratio)
    unspread = math.copysign(math.inf, mean) if mean else 0.0
    statistic = mean / error if error > 0 else unspread
    return TTest(mean, statistic, n - 1, _two_sided(statistic, n - 1))


def _two_sided(t: float, degrees: int) -> float:
    """Return how likely Student's t is at least as far from zero."""
    if math.isinf(t):
        return 0.0
    square = t * t
    return _beta(degrees / (degrees + square), square / (degrees + square), degrees / 2, 0.5)


def _beta(x: float, y: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b); y is 1 - x, without the rounding of x."""
    if x <= 0:
        return 0.0
    if y <= 0:
        return 1.0
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly
        return 1 - _beta(y, x, b, a)
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(y)
    return math.exp(log) / (a * _fraction(x, a, b))


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction 1 + d1 / (1 + d2 / ...) of the incomplete beta function, by Lentz's method."""
    value = c = 1.0
    d = 0.0
    for step in range(1, 10_000):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / (1 + term * d or TINY)
        c = 1 + term / c or TINY
        value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


@dataclass(frozen=True)
class Stability:
    """How alike several sets of features are.

    Attributes
    ----------
    mean : float
        The mean correlation of two of them: 1 if they are all the same, about 0 if they were drawn at random.
    sd : float or None
        The standard deviation over all pairs; None for one pair.
    n_pairs : int
        How many pairs there are.
    """

    mean: float
    sd: float | None
    n_pairs: int


def stability(subsets: Sequence[Iterable[str]], features: Sequence[str]) -> Stability:
    """Measure how little sets of selected features vary.

    Parameters
    ----------
    subsets : sequence of iterables of str
        The features selected, by name, in each of several runs; at least two runs.
    features : sequence of str
        All features there were to select from.

    Returns
    -------
    Stability

    Raises
    ------
    ParameterError
        There are fewer than two subsets, or a name is not among the features.

    Notes
    -----
    The mean of Pearson's correlation over all pairs of subsets as vectors of zeros and ones. It is undefined where a
    subset is empty or has all features: then two equal subsets count 1, and others 0.
    Source: Nogueira and Brown, Measuring the stability of feature selection, ECML-PKDD 2016.
    """
    if len(subsets) < 2:
        raise ParameterError(f"`subsets` must be at least 2, got {len(subsets)}")
    position = {name: column for column, name in enumerate(features)}
    chosen = np.zeros((len(subsets), len(features)))
    for row, subset in enumerate(subsets):
        for name in subset:
            if name not in position:
                raise ParameterError(f"`subsets` names {name!r}, which is no feature; there are {list_names(features)}")
            chosen[row, position[name]] = 1
    # n^2 times covariance and variances: whole numbers, so that equal subsets correlate by exactly 1.
    n, sizes = len(features), chosen.sum(axis=1)
    covariance = n * (chosen @ chosen.T) - np.outer(sizes, sizes)
    variance = sizes * (n - sizes)
    scale = np.sqrt(np.outer(variance, variance))
    # Two subsets of which one is empty or full are equal if they are as large.
    equal = np.equal.outer(sizes, sizes)
    correlation = np.where(scale > 0, covariance / np.where(scale > 0, scale, 1), equal)
    pairs = correlation[np.triu_indices(len(subsets), 1)]
    sd = float(pairs.std(ddof=1)) if len(pairs) > 1 else None
    return Stability(float(pairs.mean()), sd, len(pairs))
