"""Pictures of textures, PNG or JPEG, through Pillow, which comes with matplotlib."""

from __future__ import annotations

import io
import warnings

import numpy as np
from jaxtyping import UInt8

from partwhole.mesh.formats.common import FormatError

# a few bytes may promise a picture that fills the memory
MOST_PIXELS = 2**26


def decode_image(data: bytes, where: str, *, most_pixels: int = MOST_PIXELS) -> UInt8[np.ndarray, "h w 4"]:
    """Red, green, blue and opacity of every pixel."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the size is judged here
            with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as image:
                width, height = image.size
                if width * height <= most_pixels:
                    return np.asarray(image.convert("RGBA"))
    except Image.DecompressionBombError:
        width = height = 2**16
    except Exception as error:  # Pillow raises what it likes on damaged files
        raise FormatError(f"{where}: the picture can't be read as PNG or JPEG: {type(error).__name__}") from None
    raise FormatError(f"{where}: the pictures have more than {most_pixels} pixels; write smaller ones")


def encode_png(image: UInt8[np.ndarray, "h w 4"]) -> bytes:
    """PNG, without opacity if everything is opaque."""
    from PIL import Image

    opaque = bool((image[..., 3] == 255).all())
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image[..., :3] if opaque else image)).save(buffer, format="PNG")
    return buffer.getvalue()
