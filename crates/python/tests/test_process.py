"""The package in a process: threads, forks, signals, memory, the time of an import."""

import functools
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pytest
from conftest import bits

import warpfold as wf


@pytest.fixture
def threads():
    before = wf.get_num_threads()
    yield
    wf.set_num_threads(before)


def test_bits_do_not_depend_on_threads(threads, rng):
    x = rng.standard_normal((1000, 1003)).astype("f4")
    found = set()
    for n in (1, 2, 3, 8):
        wf.set_num_threads(n)
        assert wf.get_num_threads() == n
        found.add(bits(wf.sum(x)) + bits(wf.var(x, 0)) + bits(wf.mean(x, 1)))
    assert len(found) == 1


def test_threads_of_python_reduce_at_once(rng):
    x = rng.standard_normal(300_000)
    want, found = bits(wf.sum(x)), []
    workers = [threading.Thread(target=lambda: found.extend(bits(wf.sum(x)) for _ in range(20))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 80 and set(found) == {want}


def test_the_lock_is_released():
    x = np.ones(1 << 25, "f4")
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    worker = threading.Thread(target=tick)
    worker.start()
    start = time.perf_counter()
    while time.perf_counter() - start < 0.3:
        wf.logsumexp(x)
    end = time.perf_counter()
    stop.set()
    worker.join()
    within = [t for t in ticks if start < t < end]
    assert len(within) > 10


FORKS = """
import os, signal, sys, time
import numpy as np
import warpfold as wf

x = np.random.default_rng(0).standard_normal(1 << 20)
want, rows = wf.sum(x), wf.sum(x.reshape(1024, -1), 0)
# Too few for threads of the package's own, but several tasks.
wf.unique_counts(x[:100_000]), wf.bincount(np.arange(100_000))
for generation in range(3):
    child = os.fork()
    if child == 0:
        wf.unique_counts(x[:100_000]), wf.bincount(np.arange(100_000))
        same = wf.sum(x) == want and np.array_equal(wf.sum(x.reshape(1024, -1), 0), rows)
        if not same or generation == 2:
            os._exit(0 if same else 1)
        # The child forks, too.
        continue
    deadline = time.monotonic() + 20
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            sys.exit("the child hangs")
        time.sleep(0.01)
    assert done[1] == 0
    assert wf.sum(x) == want
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_after_a_fork():
    # In a process of its own: other libraries of the tests have threads, and warn of forks.
    words = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKS]
    said = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert said.returncode == 0, said.stderr


def test_in_spawned_workers():
    code = (
        "import multiprocessing as mp, numpy as np, warpfold as wf\n"
        "if __name__ == '__main__':\n"
        "    x = [np.arange(n, dtype='f8') for n in (10, 300_000)]\n"
        "    with mp.get_context('spawn').Pool(2) as pool:\n"
        "        assert pool.map(wf.sum, x) == [wf.sum(part) for part in x]\n"
    )
    script = os.path.join(tempfile.mkdtemp(), "spawn.py")
    with open(script, "w") as file:
        file.write(code)
    subprocess.run([sys.executable, script], check=True, timeout=60)


@functools.cache
def numbers():
    return np.random.default_rng(0).random(1 << 25)


def points():
    return numbers()[:8_100_000].reshape(-1, 90)


# Each takes seconds, most of them in one step. (What is bounded by memory, such as bincount, does not take so long.)
LONG = {
    "a sum": lambda: wf.logsumexp(np.broadcast_to(np.float32(1), (1 << 20, 1 << 20))),
    "sums by label": lambda: wf.group_by(np.broadcast_to(np.float32(1), 1 << 31), np.broadcast_to(np.int8(3), 1 << 31)),
    "distinct values": lambda: wf.unique_counts(numbers()),
    "an iteration of k-means": lambda: wf.KMeans(9000, init="random", max_iter=5).fit(points()),
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("workers", [1, None])
@pytest.mark.parametrize("long", LONG)
def test_an_interrupt_ends_long_work(threads, long, workers):
    if workers:
        wf.set_num_threads(workers)
    numbers()
    # A shell that starts this in the background has it ignore the signal.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.8, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            LONG[long]()
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, handler)
    # The signal comes after 0.8 seconds. A step of k-means is long; all of them take half a minute.
    assert time.monotonic() - start < 0.8 + (9 if "k-means" in long else 2.5)
    assert wf.sum(np.ones(1 << 20)) == 1 << 20


def test_with_one_thread_callers_do_not_wait_for_one_another(threads):
    wf.set_num_threads(1)
    x, began, seen = np.ones(1 << 24, "f4"), threading.Barrier(2), []

    def work():
        began.wait()
        start = time.perf_counter()
        wf.logsumexp(x)
        seen.append((start, time.perf_counter(), time.thread_time()))

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    # Each has computed on its own thread, and has not waited in a queue for the other.
    assert all(used > 0.005 for _, _, used in seen), seen


def rss():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc here")
def test_nothing_leaks(rng):
    x = rng.standard_normal((50, 40)).astype("f4")
    large = rng.standard_normal((3, 20_000))

    def calls(n):
        for _ in range(n):
            wf.sum(x)
            wf.sum(x, 0)
            wf.minmax(x, 1)
            wf.sum(large, 0)
            wf.sum([1.0, 2.0], where=[True, False])
            wf.sum(x.astype(">f4"), (0, 1), dtype="f8", initial=1)
            try:
                wf.sum(x, 7)
            except ValueError:
                pass

    calls(300)
    before = rss()
    calls(4000)
    assert rss() - before < 3 << 20


def test_the_import_is_quick_and_imports_only_numpy():
    code = (
        "import sys, time, numpy; before = set(sys.modules); start = time.perf_counter(); import warpfold; "
        "print(time.perf_counter() - start, *{m.split('.')[0] for m in set(sys.modules) - before})"
    )
    times, new = [], set()
    for _ in range(3):
        out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
        times.append(float(out[0]))
        new |= set(out[1:])
    assert new <= {"warpfold"} | set(sys.stdlib_module_names), new
    assert min(times) < 0.05, times


def test_a_small_call_takes_no_longer_than_numpys():
    import timeit

    x = np.random.default_rng(0).random(10)
    names = {"x": x, "wf": wf, "np": np}
    ours = min(timeit.repeat("wf.sum(x)", globals=names, number=20_000, repeat=7))
    theirs = min(timeit.repeat("np.sum(x)", globals=names, number=20_000, repeat=7))
    assert ours <= theirs, (ours, theirs)
