"""Measures what the Python package costs over the library: import, calls, threads, and the time around a fit.

    python bench/python/package.py [import] [overhead] [threads] [memory]

Each line of JSON is one measurement. Run it on an idle machine.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import threading
import time

import hmcvi
import numpy as np


def show(**measured):
    """Prints a measurement."""
    print(json.dumps(measured), flush=True)


def resident():
    """Megabytes of this process in memory."""
    with open(f"/proc/{os.getpid()}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def model_of(scale):
    """A model whose data differ from call to call."""

    @hmcvi.model
    def model(m, x, y):
        slope, sigma = m.normal("slope", 0, scale, shape=3), m.half_normal("sigma", 1)
        m.normal("y", x @ slope, sigma, observed=y)

    return model


def importing(times):
    """Seconds of `import hmcvi` in new processes, less those of an interpreter that does nothing."""
    found = {}
    for code in ("pass", "import hmcvi"):
        taken = []
        for _ in range(times):
            begun = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            taken.append(time.perf_counter() - begun)
        found[code] = float(np.median(taken))
    show(what="import", milliseconds=1e3 * (found["import hmcvi"] - found["pass"]))


def leaking(calls):
    """Memory after parts of a loop that describes and evaluates models, and fits every fifth."""
    rng, seen = np.random.default_rng(1), []
    for call in range(calls):
        x = rng.normal(size=(20, 3))
        posterior = model_of(1.0)(x=x, y=x @ np.ones(3) + rng.normal(size=20))
        posterior.log_density(np.zeros(4))
        if call % 5 == 0:
            settings = {"learning.most_updates": 20}
            fit = posterior.fit(method="gaussian", draws=20, progress=False, settings=settings)
            fit.summary(), fit.draws()
        try:
            model_of(1.0)(x=x, y=np.ones(3))
        except hmcvi.ModelError:
            pass
        if (call + 1) % (calls // 10) == 0:
            gc.collect()
            seen.append(round(resident(), 2))
    show(what="memory", calls=calls, megabytes=seen, growth_of_second_half=seen[-1] / seen[len(seen) // 2 - 1] - 1)


def parallel():
    """Time of two fits after each other and in two threads, each with a core of its own and one thread of the engine."""
    posterior, settings = hmcvi.builtin("logistic"), {"learning.tolerance": 0.0, "learning.most_updates": 1000}
    cores, bounds = sorted(os.sched_getaffinity(0))[:2], {}

    def fit(core):
        # The engine takes as many threads as this thread may use cores.
        os.sched_setaffinity(0, {core})
        bounds[core] = posterior.fit(progress=False, draws=100, settings=settings).bound

    def run(batches):
        begun = time.perf_counter()
        for batch in batches:
            threads = [threading.Thread(target=fit, args=(core,)) for core in batch]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return time.perf_counter() - begun, dict(bounds)

    one_by_one, expected = run([[core] for core in cores])
    together, found = run([cores])
    same = found == expected and len(set(found.values())) == 1
    ratio = together / one_by_one
    show(what="two fits", one_by_one=one_by_one, in_threads=together, ratio=ratio, same_bits=same, cores=os.cpu_count())


def overhead():
    """Share of the time of a fit with its draws that the library does not need."""
    posterior, settings = hmcvi.builtin("logistic"), {"learning.tolerance": 0.0, "learning.most_updates": 1500}
    for progress in (False, lambda *_: None):
        begun = time.perf_counter()
        fit = posterior.fit(draws=1000, progress=progress, settings=settings)
        whole = time.perf_counter() - begun
        begun = time.perf_counter()
        fit._fitted.draw(1000, 1)
        drawing = time.perf_counter() - begun
        library = fit.seconds + drawing
        share = (whole - library) / whole
        show(what="around a fit", progress=bool(progress), seconds=whole, library=library, share=share)


def main():
    """Measures everything, or what is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    all_of_it = {
        "import": lambda: importing(11),
        "overhead": overhead,
        "threads": parallel,
        "memory": lambda: leaking(arguments.calls),
    }
    parser.add_argument("what", nargs="*", choices=[*all_of_it, []], default=[], metavar="WHAT")
    parser.add_argument("--calls", type=int, default=1000)
    arguments = parser.parse_args()
    for what in arguments.what or all_of_it:
        all_of_it[what]()


if __name__ == "__main__":
    main()
