"""Transfer values at vertices, labels, landmarks, textures and skeletons from one surface to another through a map."""

from partwhole.transfer.correspondence import Correspondence
from partwhole.transfer.landmarks import TransferredLandmarks, transfer_landmarks
from partwhole.transfer.skinning import TransferredSkin, transfer_skinning
from partwhole.transfer.texture import TransferredTexture, transfer_texture
from partwhole.transfer.values import transfer_by_kind, transfer_labels, transfer_values

__all__ = [
    "Correspondence",
    "TransferredLandmarks",
    "TransferredSkin",
    "TransferredTexture",
    "transfer_by_kind",
    "transfer_labels",
    "transfer_landmarks",
    "transfer_skinning",
    "transfer_texture",
    "transfer_values",
]
