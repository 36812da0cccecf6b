"""What the system allows the process: a search that is given no limit of memory keeps within it."""

import subprocess
import sys
import textwrap

import pytest

LIMITED = """
import resource
import sys

import numpy as np

import lattree


def megabytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) >> 10 for line in status if line.startswith(name))


rng = np.random.default_rng(0)
numbers = rng.normal(size=(50_000, 20))
data = lattree.Dataset.from_arrays(numbers, (numbers[:, 0] * numbers[:, 1] > 0).astype(int))
building, held_out = data.split(0.3, seed=1)
limit = (megabytes("VmSize:") + int(sys.argv[1])) << 20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
least = min((data.target == 0).sum(), (data.target == 1).sum())
for search in (
    lattree.OptimalTreeSearch(max_depth=4, engine="continuous", time_limit=1),
    lattree.OptimalTreeSearch(max_depth=4, engine="tests", time_limit=1),
    lattree.OptimalTreeSearch(max_depth=3, threads=2, time_limit=1),
    lattree.GreedyTreeSearch(time_limit=1),
):
    result = search.run(data)
    assert result.status in ("complete", "optimal", "time_limit", "memory_limit"), result.status
    assert (result.tree.predict(data) != data.target).sum() <= least
chosen = lattree.AcceptableSubsetSearch(time_limit=1).run(building, held_out)
assert chosen.status in ("optimal", "time_limit", "memory_limit"), chosen.status
assert lattree.DistinctTreeSearch(time_limit=1).count(building).status in ("complete", "time_limit", "memory_limit")
print("done")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS and /proc are Linux's")
@pytest.mark.parametrize("megabytes", [150, 400, 2000])
def test_a_limited_address_space_is_known_to_the_default(megabytes):
    program = textwrap.dedent(LIMITED)
    done = subprocess.run(
        [sys.executable, "-W", "ignore:thresholds were thinned", "-c", program, str(megabytes)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
