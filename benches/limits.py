"""How closely limits are kept: seconds past a time limit, and seconds from Ctrl-C to the exception.

    python benches/limits.py

Prints one line per case. Nothing here can fail: how late a limit is noticed depends on the load of the machine.
"""

import _thread
import threading
import time

import numpy as np

from lattree import Binarizer, Dataset, OptimalTreeSearch


def tables() -> dict[str, Dataset]:
    """Tables whose proof takes hours."""
    rng = np.random.default_rng(0)
    return {
        "600 x 8 normals": Dataset.from_arrays(rng.normal(size=(600, 8)), rng.integers(0, 2, 600)),
        "1,500 x 70 bits": Dataset.from_arrays(rng.integers(0, 2, (1500, 70)), rng.integers(0, 2, 1500)),
        "200,000 x 40 normals": Dataset.from_arrays(rng.normal(size=(200_000, 40)), rng.integers(0, 3, 200_000)),
        "1,000,000 x 20 normals": Dataset.from_arrays(rng.normal(size=(1_000_000, 20)), rng.integers(0, 2, 1_000_000)),
    }


def main() -> None:
    """Print the figures."""
    for name, data in tables().items():
        for thresholds in ("auto", "all"):
            for depth in (4, 20):
                binarizer = Binarizer(thresholds=thresholds)
                limited = OptimalTreeSearch(max_depth=depth, rank="objective", time_limit=1.0, binarizer=binarizer)
                start = time.perf_counter()
                result = limited.run(data)
                late = time.perf_counter() - start - 1.0
                free = OptimalTreeSearch(max_depth=depth, rank="objective", binarizer=binarizer)
                sent = time.perf_counter() + 0.7
                timer = threading.Timer(0.7, _thread.interrupt_main)
                timer.start()
                try:
                    free.run(data)
                    noticed = "ended before"
                except KeyboardInterrupt:
                    noticed = f"{time.perf_counter() - sent:.3f} s"
                timer.cancel()
                print(f"{name:<24}{thresholds:<6}depth {depth:>2}  {result.status:<13}{late:+.3f} s  Ctrl-C {noticed}")


if __name__ == "__main__":
    main()
