"""Peak memory of the criteria on a large part: 50k vertices, 500 of them on the border, 2000 chosen rows.

python benchmarks/memory.py [--vertices 50000] [--rows 2000]
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import partwhole as pw
from recording import heading


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vertices", type=int, default=50_000)
    parser.add_argument("--rows", type=int, default=2000)
    given = parser.parse_args()
    print(heading())
    whole = pw.datasets.sphere(int(given.vertices * 1.15))
    # as many border vertices as asked for: three balls, each with a rim of some 160 edges
    part = pw.datasets.cut_balls(whole, pw.farthest_points(whole, 3), 0.43 * whole.area**0.5 / 3.545).part
    start = time.perf_counter()
    rows = pw.farthest_points(part, given.rows)
    D = pw.geodesic_distances(part, rows, dtype=np.float32)
    D.setflags(write=False)  # or the criterion takes a copy
    from_boundary = pw.geodesic_distances(part, part.boundary_vertices, dtype=np.float32)
    distances_done = time.perf_counter()
    found = pw.wormhole_criterion(part, D, rows=rows, from_boundary=from_boundary)
    share = found.fraction
    criterion_done = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{part.n_vertices} vertices, {len(part.boundary_vertices)} on the border, {len(rows)} rows, float32")
    print(f"distances {distances_done - start:.1f} s, threshold and mask {criterion_done - distances_done:.1f} s")
    print(
        f"guaranteed {100 * share:.1f} %; peak memory {peak:.2f} GiB, of which the matrix of distances {D.nbytes / 2**30:.2f}"
    )


if __name__ == "__main__":
    main()
