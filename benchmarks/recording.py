"""What every benchmark records beside its numbers: the machine, the date, the commit."""

from __future__ import annotations

import json
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np


def surroundings() -> dict[str, str]:
    return {
        "device": processor(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def heading() -> str:
    here = surroundings()
    return f"{here['device']}; {here['date']}; commit {here['commit']}; Python {here['python']}, NumPy {here['numpy']}"


def commit() -> str:
    run = ["git", "describe", "--always", "--dirty"]
    found = subprocess.run(run, capture_output=True, text=True, cwd=Path(__file__).parent, check=False)
    return found.stdout.strip() or "unknown"


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def save(path: Path | None, numbers: dict[str, Any]) -> None:
    """Write the numbers with their surroundings as JSON, if a path was given."""
    if path is not None:
        path.write_text(json.dumps({**surroundings(), **numbers}, indent=2) + "\n")


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows]]
    return "\n".join(lines)
