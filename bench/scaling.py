"""Predict how training scales over processes, from what `hmcvi bench step` and `hmcvi bench exchange` measured.

A step of B rows on R processes of one thread takes about

    ordered:      B c / min(R, S) + f + (S - S/R + R - 1) P / (R beta) + (S + 3 R) lambda
    per process:  B c / R         + f + 2 (R - 1) P / (R beta)         + 3 R lambda

with c the time of a row, f what every process does by itself, P the bytes of the sums, S the shards of the batch,
lambda the latency of a message and beta the bandwidth. docs/clusters.md has the numbers. Prints Markdown.
"""

import argparse


def shards(rows):
    """Shards of a batch, as `hmcvi_graph::CpuOptions` divides it."""
    most = min(max(rows // 160, 16), 256)
    return 1 << (min(max(rows // 40, 2 if rows >= 16 else 1), most).bit_length() - 1)


def step(a, rows, processes, sums):
    """Milliseconds of a step."""
    if processes == 1:
        return rows * a.row + a.fixed
    if sums == "per-process":
        busy, parts, messages = processes, 2 * (processes - 1) / processes, 3 * processes
    else:
        s = shards(rows)
        busy = min(processes, s)
        parts = (s - s / processes + processes - 1) / processes
        messages = s + 3 * processes
    return rows * a.row / busy + a.fixed + parts * a.bytes / (a.bandwidth * 1e6) + messages * a.latency / 1e3


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--row", type=float, required=True, help="milliseconds of a row")
    p.add_argument("--fixed", type=float, required=True, help="milliseconds of what every process does by itself")
    p.add_argument("--bytes", type=float, default=2.47e6, help="bytes of the sums over rows [%(default)s]")
    p.add_argument("--latency", type=float, required=True, help="microseconds of a message")
    p.add_argument("--bandwidth", type=float, required=True, help="GB/s that come to each process")
    p.add_argument("--batch", type=int, nargs="*", default=[500, 2000], help="rows of all processes together")
    p.add_argument("--rows-each", type=int, default=250, help="rows of each process for weak scaling [%(default)s]")
    p.add_argument("--processes", type=int, nargs="*", default=[1 << k for k in range(1, 11)])
    a = p.parse_args()
    columns = [(batch, sums) for batch in a.batch for sums in ("ordered", "per-process")]
    weak = [("weak, " + sums, sums) for sums in ("ordered", "per-process")]
    heads = [f"batch {batch}, {sums}" for batch, sums in columns] + [name for name, _ in weak]
    print("| processes | " + " | ".join(heads) + " |")
    print("|---" * (len(heads) + 1) + "|")
    for n in a.processes:
        cells = []
        for batch, sums in columns:
            t = step(a, batch, n, sums)
            cells.append(f"{t:.1f} ms, {step(a, batch, 1, sums) / t:.2f}")
        for _, sums in weak:
            t = step(a, a.rows_each * n, n, sums)
            cells.append(f"{t:.0f} ms, {100 * step(a, a.rows_each, 1, sums) / t:.0f}%")
        print(f"| {n} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
