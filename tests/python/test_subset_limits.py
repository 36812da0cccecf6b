"""Subset searches where threads or memory are short: in processes of their own, whose peak is measured from outside."""

import json
import subprocess
import sys
import textwrap

import pytest

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(sys.platform != "linux", reason="limits of processes and /proc are those of Linux"),
]

TABLE = """
import numpy as np
import numpy.random  # what is imported later cannot be read by another user
import lattree
from lattree import (
    AcceptableSubsetSearch, BackwardEliminationSearch, Dataset, DistinctTreeSearch, ExhaustiveSubsetSearch,
    GreedyTreeSearch,
)

def table(rows, columns, classes, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, size=(rows, columns))
    y = (x[:, 0] * 2 + x[:, 1] + rng.integers(0, 2, rows)) % classes
    return Dataset.from_arrays(x.astype(float), y)
"""

NO_THREADS = """
import os, resource, threading
if os.geteuid() == 0:  # of root the system takes no notice
    os.setgid(65534)
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
try:
    threading.Thread(target=int).start()
    started = True
except RuntimeError:
    started = False
"""


def child(source, **parameters):
    source = TABLE + textwrap.dedent(source)
    command = [sys.executable, "-c", source, json.dumps(parameters)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


ALL = """
def all_searches():
    building, search = table(300, 11, 3), table(200, 11, 3, 1)
    found = {}
    for threads in (None, 4):
        few = tuple(building.schema.feature_names[:6])
        trees = list(DistinctTreeSearch(threads=threads).run(building))
        found[f"distinct {threads}"] = [len(trees), hash_of(tree.tree for tree in trees)]
        counts = DistinctTreeSearch(threads=threads).count(building)
        found[f"count {threads}"] = [counts.distinct, counts.status]
        for name, run in {
            "acceptable": AcceptableSubsetSearch(threads=threads, max_depth=3),
            "elimination": BackwardEliminationSearch(threads=threads),
            "black box": BackwardEliminationSearch(threads=threads, white_box=False, candidates=few),
            "exhaustive": ExhaustiveSubsetSearch(threads=threads, candidates=few),
        }.items():
            result = run.run(building, search)
            found[f"{name} {threads}"] = [result.features, result.error, result.status, str(result.tree)]
        found[f"greedy {threads}"] = str(GreedyTreeSearch(threads=threads).run(building).tree)
        found[f"optimal {threads}"] = str(lattree.OptimalTreeSearch(max_depth=2, threads=threads).run(building).tree)
    return found

def hash_of(trees):
    import hashlib
    return hashlib.sha256("".join(str(tree) for tree in trees).encode()).hexdigest()
"""


def test_fault_x4_all_searches_do_without_threads():
    def run(start):
        return child(f"{ALL}\nimport json\n{start}\nfound = all_searches()\nprint(json.dumps([started, found]))")

    started, alone = run(NO_THREADS)
    assert not started
    assert alone == run("started = True")[1]


def test_fault_x4_a_list_of_trees_is_bounded_where_no_thread_can_wait():
    source = f"""
    import json
    {textwrap.indent(NO_THREADS, "    ").strip()}
    search = DistinctTreeSearch(memory_limit=3_000_000, max_depth=6)
    trees = search.run(table(200, 40, 3))
    n = sum(1 for _ in trees)
    print(json.dumps([n, trees.status, len(next(iter(search.run(table(200, 5, 3)))).features)]))
    """
    n, status, _ = child(textwrap.dedent(source))
    assert n > 256
    assert status == "memory_limit"


def test_fault_x4_ctrl_c_is_heard_where_no_thread_can_wait():
    source = f"""
    import json, signal, time
    {textwrap.indent(NO_THREADS, "    ").strip()}
    data = table(2000, 40, 3)
    seconds = []
    for run in (DistinctTreeSearch().count, lambda d: ExhaustiveSubsetSearch(error="training").run(d)):
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        start = time.perf_counter()
        try:
            run(data)
        except KeyboardInterrupt:
            seconds.append(time.perf_counter() - start)
    print(json.dumps(seconds))
    """
    seconds = child(textwrap.dedent(source))
    assert len(seconds) == 2
    assert all(0.4 < s < 10 for s in seconds)


@pytest.mark.parametrize("which", ["acceptable", "elimination", "exhaustive", "distinct", "count"])
@pytest.mark.parametrize(
    ("rows", "columns", "classes", "limit"),
    [(3000, 10, 300, 20_000_000), (20_000, 30, 2, 30_000_000), (1000, 300, 50, 5_000_000), (60, 4, 20, 100_000)],
)
def test_fault_x1_memory_of_subset_searches(which, rows, columns, classes, limit):
    """Within the limit, a tenth of it and 32 MB; a result whatever there was room for."""
    source = """
    import json, sys
    p = json.loads(sys.argv[1])
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.normal(size=(p["rows"], p["columns"])), np.arange(p["rows"]) % p["classes"])
    table(50, 3, 2)
    # Whatever a first search loads is there.
    BackwardEliminationSearch(error="training").run(table(50, 3, 2))
    def status(name):
        with open("/proc/self/status") as lines:
            return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name + ":"))
    open("/proc/self/clear_refs", "w").write("5")
    before = status("VmRSS")
    options = dict(memory_limit=p["limit"], time_limit=3.0)
    which = p["which"]
    if which == "count":
        result = DistinctTreeSearch(**options).count(data)
    elif which == "distinct":
        trees = DistinctTreeSearch(**options).run(data)
        for _ in trees:
            pass
        result = trees
    else:
        search = {
            "acceptable": AcceptableSubsetSearch,
            "elimination": BackwardEliminationSearch,
            "exhaustive": ExhaustiveSubsetSearch,
        }[which]
        result = search(error="training", **options).run(data)
        assert 0 <= result.lower_bound <= result.objective
    print(json.dumps([result.status, status("VmHWM") - before]))
    """
    status, peak = child(source, which=which, rows=rows, columns=columns, classes=classes, limit=limit)
    print(which, rows, columns, classes, limit, status, f"{peak / 1e6:.0f} MB")
    assert peak <= 1.1 * limit + 32e6
    assert status in ("complete", "optimal", "time_limit", "memory_limit")
