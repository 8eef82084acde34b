"""Options that several commands share, and what they name: a model, a device, the cache, the folder of the results.

Commands check these before anything is computed: that a model and a device are there (`model_file`, `check_torch`), and
that results will not overwrite a file that is read (`check_folder`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from partwhole.cli.shared.console import Console, command_line
from partwhole.store.arguments import how_to_install
from partwhole.store.cache import Cache, default_limit

if TYPE_CHECKING:
    from partwhole.matching.config import MatchOptions
    from partwhole.matching.matcher import Matcher
    from partwhole.matching.session import MatchSession

DistanceMethod = Literal["fast_marching", "dijkstra", "exact"]
Device = Literal["cpu", "cuda"]
MapMethod = Literal[
    "pca",
    "kernel-pca",
    "lle",
    "hessian-lle",
    "mlle",
    "ltsa",
    "laplacian",
    "diffusion",
    "diffusion-geodesic",
    "tsne",
    "tsne-geodesic",
    "umap",
    "umap-geodesic",
    "isomap",
    "mds",
    "tcie",
    "whcie",
]

# what training writes into the folder of a run; the names are those of `run_folder`, which imports torch
REQUEST = "command.json"
BLOCK_FOLDER = "blocks"
RUN_FILES = (
    *(REQUEST, "model.safetensors", "validated.safetensors", "state.safetensors", "run.json"),
    *("losses.csv", "evaluations.csv", "notes.txt", f"{BLOCK_FOLDER}/block-*.npz"),
)


# package.module:name
_IMPORT_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def complete_model(incomplete: str) -> list[str]:
    """Models that begin like this, for shell completion: built-in ones, files of weights and folders of runs."""
    from partwhole.matching.network.weights import model_names

    above, slash, begun = incomplete.rpartition("/")
    try:
        near = sorted(Path(f"{above}{slash}" or ".").expanduser().iterdir())
    except (OSError, RuntimeError):  # no such folder, or nobody's home
        near = []
    paths = [
        f"{above}{slash}{path.name}"
        for path in near
        if path.name.startswith(begun) and (path.suffix == ".safetensors" or (path / "model.safetensors").is_file())
    ]
    return [name for name in ("default", *model_names()) if name.startswith(incomplete)] + paths


def complete_method(incomplete: str) -> list[str]:
    """The same with the methods without weights."""
    from partwhole.matching.network.weights import method_names

    return [name for name in method_names() if name.startswith(incomplete)] + complete_model(incomplete)


MethodOption = Annotated[
    DistanceMethod,
    typer.Option(
        help="How to measure distances: fast_marching (accurate and fast), dijkstra (along edges, with a proof) or "
        "exact (slow)."
    ),
]
SoundOption = Annotated[
    bool,
    typer.Option("--sound", help="Allow for paths that leave inside a boundary edge: a proof for exact distances."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
SeedOption = Annotated[int, typer.Option(help="Random seed; the same seed gives the same result.", min=0)]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder for the results; created if missing.")
]
RepairOption = Annotated[bool, typer.Option("--repair", help="Repair defects of the mesh first, and list the repairs.")]
RefineOption = Annotated[
    int, typer.Option(min=0, metavar="STEPS", help="Refinement steps on each pair, such as 15; 0 for none.")
]
DeviceOption = Annotated[Device, typer.Option(help="Where to compute.")]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Processes that compute eigenfunctions; one for each core if not given.")
]
CacheOption = Annotated[
    bool,
    typer.Option(
        "--cache/--no-cache", help="Cache eigenfunctions for other runs, in PARTWHOLE_CACHE or ~/.cache/partwhole."
    ),
]


def model_option(*names: str, help: str, or_method: bool = False) -> Any:
    """An option that names a model; with `or_method` also one that names a method from Python."""
    metavar = "NAME|PATH|MODULE:NAME" if or_method else "NAME|PATH"
    completed = complete_method if or_method else complete_model
    return typer.Option(*names, metavar=metavar, autocompletion=completed, help=help)


ModelOption = Annotated[
    str,
    model_option(
        "--model",
        "-m",
        help="Model to match with: a built-in model, a .safetensors file, or the folder of a training run.",
    ),
]
MethodModelOption = Annotated[
    str,
    model_option(
        "--model",
        "-m",
        help="Model to match with: a built-in model or method (see partwhole models), a .safetensors file, the folder of a "
        "training run, or a Method from Python, as in my_package.module:MyMethod.",
        or_method=True,
    ),
]
ModelsOption = Annotated[
    list[Path],
    model_option(
        "--model",
        "-m",
        help="A built-in model or method (see partwhole models), a .safetensors file, the folder of a training run, or a "
        "Method from Python, as in my_package.module:MyMethod; may be repeated.",
        or_method=True,
    ),
]
FalloffOption = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Power by which the weight of a pair falls with its distance in TCIE and WHCIE; 0 weighs all pairs alike, as "
        "in the paper.  [default: 5; 0 for a mesh]",
    ),
]


def check_torch(device: Device) -> None:
    """Raise ValueError, with the remedy, unless torch is installed and can compute on the device."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise ValueError(f"networks need torch: {how_to_install('torch')}") from None
    from partwhole.store.arguments import check_device

    try:
        check_device(device)
    except ValueError as error:  # the remedy, in the words of the command line
        raise ValueError(re.sub(r"device='(\w+)'", r"--device \1", str(error))) from None


def suggest_gpu(device: Device, console: Console) -> None:
    """Note that a GPU is available, if it is not the device."""
    if device == "cpu" and has_gpu():
        console.note("there is a GPU here, on which training is many times faster: --device cuda")


def has_gpu() -> bool:
    """Whether torch can use a GPU here."""
    import torch

    return bool(torch.cuda.is_available())


def free_memory() -> int:
    """Bytes of main memory that are free without swapping, or a cautious guess on systems that don't report it."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return 4 << 30


def free_gpu_memory() -> int:
    """Bytes that are free on the GPU."""
    import torch

    return int(torch.cuda.mem_get_info()[0])


def open_cache(wanted: bool | str, console: Console) -> Cache | None:
    """The user's cache, if it is wanted and there is a place for it; otherwise a note says why there is none.

    A text is the place of the cache, as another process has it.
    """
    if isinstance(wanted, str):
        return Cache(wanted, limit=default_limit(), tell=console.note)
    if not wanted:
        return None
    try:
        return Cache.default(tell=console.note)
    except OSError as error:
        console.note(f"nothing is cached for other runs: {error}")
        return None


def load_model(text: str, device: Device) -> Matcher:
    """One model; its name on its card is that of its file or of its run."""
    from partwhole.matching.matcher import Matcher

    file = model_file(text)
    matcher = Matcher.load(file, device=device)
    matcher.card["name"] = _labels([file])[0]
    return matcher


def load_models(paths: Sequence[Path], device: Device) -> dict[str, Matcher]:
    """Models by name: that of their file or of their run, with the folders above where names are the same."""
    from partwhole.matching.matcher import Matcher

    return {label: Matcher.load(file, device=device) for label, file in labelled_files(paths).items()}


def labelled_files(paths: Sequence[Path]) -> dict[str, Path]:
    """Files of weights by the names that `load_models` gives them."""
    files = [model_file(path) for path in paths]
    repeated = [path for place, path in enumerate(files) if path.resolve() in {p.resolve() for p in files[:place]}]
    if repeated:
        raise ValueError(f"--model {repeated[0]} is given twice")
    return dict(zip(_labels(files), files, strict=True))


def open_session(
    model: str, options: MatchOptions, device: Device, cache: Cache | None, console: Console, **sizes: Any
) -> MatchSession:
    """A session with the model that a user named: weights, or a method from Python.

    Parameters
    ----------
    model : as `MethodModelOption` has it
    options, device, cache : see `MatchSession`
    console : told why results of a method are not cached
    sizes : `units` and `max_vertices`
    """
    from partwhole.matching.session import MatchSession

    if not is_method(model):
        return MatchSession(model_file(model), options, **sizes, device=device, cache=cache)
    from partwhole.cli.shared.imported import can_be_cached, named_method

    check_torch(device)
    method = named_method(model, device)
    cache = cache if cache is not None and can_be_cached(method, console) else None
    return MatchSession(method, options, **sizes, device=device, cache=cache)


def is_import_path(model: str | Path) -> bool:
    """Whether this is `package.module:name`, and no file.

    >>> is_import_path("mine.methods:Signatures"), is_import_path("default"), is_import_path("runs/a.safetensors")
    (True, False, False)
    """
    return bool(_IMPORT_PATH.fullmatch(str(model))) and not Path(model).exists()


def is_method(model: str | Path) -> bool:
    """Whether this names a `Method` and no weights: a built-in one, or one from Python.

    >>> is_method("pfm"), is_method("default+zoomout"), is_method("mine.methods:Signatures"), is_method("default")
    (True, True, True, False)
    """
    from partwhole.matching.network.weights import is_method_name

    return is_import_path(model) or (is_method_name(str(model)) and not Path(model).exists())


def model_file(given: str | Path) -> Path:
    """The file of weights that the name of a built-in model, a file or the folder of a run stands for.

    Commands ask for it first, so that a mistyped name is reported before anything is computed.
    """
    from partwhole.matching.network.weights import model_path, models_folder

    # a plain word that is no file here is a name
    path = model_path(str(given))
    if path.parent == models_folder():
        # no run, and nothing that torch would have to be imported for
        return path
    from partwhole.matching.training.run_folder import MODEL, STATE

    if path.is_dir():
        if (path / MODEL).is_file():
            return path / MODEL
        if (path / STATE).is_file():
            raise ValueError(f"the run in {path} is not complete; resume it: {command_line('train', '--resume', path)}")
        raise ValueError(f"{path} has no {MODEL}; give the folder of a run, or a file of weights")
    if path.name == STATE:
        raise ValueError(f"{path} is for resuming a run; give its folder, {path.parent}, or {MODEL} in it")
    if not path.is_file():
        raise ValueError(f"file not found: {path}; give a .safetensors file that `partwhole train` wrote")
    return path


def _labels(files: Sequence[Path]) -> list[str]:
    """The shortest ends of the paths that differ; `model`, the file name that all runs share, does not count.

    >>> _labels([Path("a/run1/model.safetensors"), Path("a/run2/model.safetensors"), Path("best.safetensors")])
    ['run1', 'run2', 'best']
    >>> _labels([Path("/a/run/model.safetensors"), Path("/b/run/validated.safetensors"), Path("/b/run/model.safetensors")])
    ['a/run', 'run/validated', 'b/run']
    """
    parts = []
    for file in files:
        words = [*file.resolve().parent.parts[1:], file.stem]
        parts.append(words[:-1] if file.stem == "model" and len(words) > 1 else words)
    lengths = [2 if words[-1] == "validated" and len(words) > 1 else 1 for words in parts]
    while True:
        labels = ["/".join(words[-n:]) for words, n in zip(parts, lengths, strict=True)]
        again = [
            n < len(words) and labels.count(label) > 1 for label, words, n in zip(labels, parts, lengths, strict=True)
        ]
        if not any(again):
            return labels
        lengths = [n + more for n, more in zip(lengths, again, strict=True)]


# --- results must not overwrite what is read

# (device, number) of a file, or its path where a file system has no numbers
_Identity = tuple[int, int] | str


def folder_given(output: Path | None, report: Path | None) -> Path | None:
    """The folder that --output or --report names, if one of them is given."""
    if output is not None and report is not None:
        raise ValueError("--report writes what --output does, and more; give one of them")
    return output or report


def output_folder(path: Path) -> Path:
    """The folder, created if it is missing."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"--output {path} is a file; give a folder")
    path.mkdir(parents=True, exist_ok=True)
    return path


def check_folder(
    folder: Path, writes: Iterable[str], reads: Iterable[Path | None] = (), *, option: str = "--output"
) -> None:
    """Raise ValueError if results would overwrite something that is read, by whatever name, or if their folder is a file.

    Parameters
    ----------
    folder : of the results; need not exist
    writes : patterns of files below it, see `written`; each command lists its own
    reads : files that are read, and folders of which every file is
    option : that names the folder
    """
    for place in (folder, *folder.parents):
        if os.path.lexists(place):
            if not place.is_dir():
                what = "is a file" if place == folder else f"would lie below the file {place}"
                raise ValueError(f"{option} {folder} {what}; give a folder")
            break
    _refuse(f"{option} {folder}", written(folder, writes), reads, "give another folder")


def check_file(path: Path, reads: Iterable[Path | None], *, option: str) -> None:
    """Raise ValueError if the file to write is one that is read."""
    _refuse(f"{option} {path}", [path], reads, "give another name")


def written(folder: Path, writes: Iterable[str]) -> Iterator[Path]:
    """The files in a folder that match the patterns.

    A pattern is a path with `*` for anything in a name: "map.npz", "pairs-*.csv", "*/seed-*/state.json".
    """
    for pattern in writes:
        yield from _matching(folder, pattern.split("/"))


def below(place: str, writes: Iterable[str]) -> tuple[str, ...]:
    """The same patterns in a sub-folder.

    >>> below("match", ("map.npz", "map.csv"))
    ('match/map.npz', 'match/map.csv')
    """
    return tuple(f"{place}/{pattern}" for pattern in writes)


def _matching(folder: Path, parts: list[str]) -> Iterator[Path]:
    first, *rest = parts
    names = [first]
    if "*" in first:
        try:
            # names that differ by capitals only are the same file on some systems
            names = [name for name in sorted(os.listdir(folder)) if fnmatchcase(name.lower(), first.lower())]
        except OSError:
            names = []
    for name in names:
        if rest:
            yield from _matching(folder / name, rest)
        elif os.path.isfile(folder / name):
            yield folder / name


def _refuse(said: str, written: Iterable[Path], reads: Iterable[Path | None], remedy: str) -> None:
    there = {identity: path for path in written if (identity := _identity(path)) is not None}
    if not there:
        return
    for path in reads:
        for file in () if path is None else _files(path):
            if _identity(file) in there:
                raise ValueError(f"{said} would overwrite {file}, which is read; {remedy}")


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, _, names in os.walk(path):
        yield from (Path(folder) / name for name in names)


def _identity(path: Path) -> _Identity | None:
    """Equal for two names of one file, links followed; None if there is no such file."""
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return None
    return (facts.st_dev, facts.st_ino) if facts.st_ino else os.path.normcase(os.path.realpath(path))
