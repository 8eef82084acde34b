"""The unit tests as other processors would run them: `make portable`.

Libraries choose their instructions when they start, and round differently with each choice. Every setting here makes them
choose as on another machine; a test or a rule that rounding decides fails under one of them.

    python tests/portable.py                 all settings that this processor can run, all tests
    python tests/portable.py --quick         the setting that differs most, and the tests of what computes
    python tests/portable.py Zen -- -k eigen chosen settings, with arguments for pytest
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
# what NumPy, torch and OpenBLAS can do beyond the oldest processor they run on
_WIDE = (
    "X86_V3",
    "X86_V4",
    "AVX512_ICL",
    "AVX512_SPR",
    "AVX2",
    "FMA3",
    "AVX512F",
    "AVX512CD",
    "AVX512_SKX",
    "AVX512_CLX",
)
_COMPUTES = (
    *("mesh", "geodesics", "datasets", "criterion", "spectral", "embedding", "transfer", "deformation", "evaluation"),
    *("matching", "registration"),
)


@dataclass(frozen=True)
class Setting:
    """A processor to stand in for.

    Parameters
    ----------
    name : as OpenBLAS calls it
    needs : the flag of the system's processor that it takes to run it; empty for none
    threads : of OpenBLAS, torch and numba
    oldest : take wide instructions from NumPy, numba and torch as well
    """

    name: str
    needs: str
    threads: int
    oldest: bool = False

    def environment(self) -> dict[str, str]:
        """The variables that make every library choose as on that processor."""
        threads = str(self.threads)
        chosen = {
            "OPENBLAS_CORETYPE": self.name,
            **dict.fromkeys(
                ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), threads
            ),
        }
        if self.oldest:
            chosen |= {
                "NUMBA_CPU_NAME": "generic",
                "NPY_DISABLE_CPU_FEATURES": " ".join(_features_of_numpy()),
                "ATEN_CPU_CAPABILITY": "default",
                "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
                "MKL_CBWR": "COMPATIBLE",
                "ONEDNN_MAX_CPU_ISA": "SSE41",
            }
        return chosen


SETTINGS = (
    Setting("Prescott", "", threads=1, oldest=True),
    Setting("Haswell", "avx2", threads=2),
    Setting("Zen", "avx2", threads=1),
    Setting("SkylakeX", "avx512f", threads=2),
)


def runs_here(setting: Setting) -> bool:
    """Whether this processor has the instructions; where the system does not say, it is taken to."""
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return True
    return setting.needs in flags


def _features_of_numpy() -> list[str]:
    """What can be taken from NumPy here; it complains of names that it does not know or have."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if name in _WIDE and __cpu_features__.get(name)]


def main(arguments: list[str]) -> int:
    """Run pytest under each setting, and say which ones failed."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words, for_pytest = arguments[:end], arguments[end + 1 :]
    quick = "--quick" in words
    names = [word for word in words if word != "--quick"]
    unknown = set(names) - {setting.name for setting in SETTINGS}
    if unknown:
        print(f"there is no setting {sorted(unknown)[0]}; there are {', '.join(s.name for s in SETTINGS)}")
        return 2
    failed = []
    for setting in SETTINGS[:1] if quick else SETTINGS:
        if names and setting.name not in names:
            continue
        if not runs_here(setting):
            print(f"{setting.name}: this processor lacks {setting.needs}, left out", flush=True)
            continue
        print(f"{setting.name}, {setting.threads} threads{', oldest instructions' * setting.oldest}", flush=True)
        start = time.perf_counter()
        if _tests(setting.environment(), quick=quick, more=for_pytest):
            failed.append(setting.name)
        print(
            f"{setting.name}: {'failed' if setting.name in failed else 'passed'} after {time.perf_counter() - start:.0f} s"
        )
    if failed:
        print(f"tests fail under {', '.join(failed)}; if they pass under make unit, rounding decides something in them")
    return bool(failed)


def _tests(environment: dict[str, str], *, quick: bool, more: list[str]) -> int:
    folders = [f"tests/{name}" for name in _COMPUTES] if quick else ["tests"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--doctest-modules",
        "--numprocesses",
        os.environ.get("WORKERS", "2"),
    ]
    return subprocess.run([*command, *folders, "src", *more], cwd=ROOT, env={**os.environ, **environment}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
