"""Times the matrix products of a training step in NumPy, that is, in the BLAS that it was built with."""

import json
import sys
import time

import numpy as np


def operands(products, batch, generator):
    """Makes the factors and the result of each product; equal shapes share theirs."""
    made = {}

    def matrix(rows, cols):
        if (rows, cols) not in made:
            made[rows, cols] = generator.standard_normal((rows, cols), np.float32)
        return made[rows, cols]

    for is_sum, rows, cols, terms in products:
        if is_sum:
            # Products that are added up stand on top of one another, which makes one product of them.
            yield matrix(batch * terms, rows).T, matrix(batch * terms, cols), np.empty((rows, cols), np.float32)
        else:
            yield matrix(batch, rows), matrix(rows, cols), np.empty((batch, cols), np.float32)


def main():
    products = json.loads(sys.argv[1])
    ready = {}
    # Each line "go BATCH STEPS" asks for the time of so many steps' products; any other line ends it.
    while (words := sys.stdin.readline().split()) and words[0] == "go":
        batch, steps = int(words[1]), int(words[2])
        if batch not in ready:
            ready[batch] = list(operands(products, batch, np.random.default_rng(1)))
        begin = time.perf_counter()
        for _ in range(steps):
            for left, right, result in ready[batch]:
                np.matmul(left, right, out=result)
        seconds = time.perf_counter() - begin
        print(json.dumps({"us_per_image": seconds * 1e6 / (steps * batch)}), flush=True)


if __name__ == "__main__":
    main()
