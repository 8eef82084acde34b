"""Match a part of a surface to the whole it came from, and know which distances on the part can be trusted."""

from partwhole._version import __version__
from partwhole.mesh import Mesh

__all__ = ["Mesh", "__version__"]
