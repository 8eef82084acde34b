"""Points without triangles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from partwhole.datasets import cut_plane, plane, sphere
from partwhole.matching import Matcher, TrainingConfig, match
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.scans.point_clouds import read_cloud, surface_of_points
from partwhole.mesh import write_mesh


def test_a_ball_comes_back() -> None:
    ball = sphere(1500, jitter=0.3)
    found = surface_of_points(ball.vertices, name="cloud")
    assert found.name == "cloud"
    assert np.array_equal(found.vertices, ball.vertices)
    assert found.is_closed
    assert found.euler_characteristic == 2
    assert found.area == pytest.approx(ball.area, rel=0.01)
    assert (np.einsum("ij,ij->i", found.vertex_normals, ball.vertices) > 0).all(), "faces look outwards"


def test_what_is_missing_stays_missing() -> None:
    part = cut_plane(sphere(2000), (0, 0, 0.2), (0, 0, 1)).part
    found = surface_of_points(part.vertices)
    assert found.area == pytest.approx(part.area, rel=0.05)
    # the boundary is found, though not always along the same edges
    boundary = found.vertices[found.boundary_vertices]
    assert np.quantile(boundary[:, 2], 0.9) < 0.35
    assert len(found.boundary_loops) == 1


def test_a_slit_of_two_spacings_is_not_bridged() -> None:
    sheet = plane(900)
    spacing = (sheet.area / 900) ** 0.5
    beside = np.abs(sheet.vertices[:, 0] - sheet.vertices[:, 0].mean()) > spacing
    assert surface_of_points(sheet.vertices[beside]).n_components == 2


def test_two_sheets_stay_two() -> None:
    sheet = plane(900).vertices
    size = np.ptp(sheet[:, 0])
    found = surface_of_points(np.concatenate([sheet, sheet + np.array([0, 0, 0.3 * size])]))
    assert found.n_components == 2


def test_points_that_are_no_surface() -> None:
    with pytest.raises(
        ValueError, match="points has 12 points and no faces; clouds of 30 to 60000 points can be matched"
    ):
        surface_of_points(np.zeros((12, 3)))
    with pytest.raises(ValueError, match="coordinates that are not finite"):
        surface_of_points(np.full((50, 3), np.nan))
    line = np.stack([np.linspace(0, 1, 50), np.zeros(50), np.zeros(50)], axis=1)
    with pytest.raises(ValueError, match="its 50 points do not lie on a surface"):
        surface_of_points(line)


def test_files_of_points(tmp_path: Path) -> None:
    points = sphere(100).vertices
    np.savetxt(tmp_path / "a.xyz", np.concatenate([points, points], axis=1))
    np.savetxt(tmp_path / "a.csv", points, delimiter=",")
    np.save(tmp_path / "a.npy", points)
    (tmp_path / "a.off").write_text("OFF\n100 0 0\n" + "\n".join(" ".join(map(repr, row)) for row in points.tolist()))
    columns = "".join(f"property double {name}\n" for name in "xyz")
    header = f"ply\nformat ascii 1.0\nelement vertex 100\n{columns}end_header\n"
    (tmp_path / "a.ply").write_text(header + "\n".join(" ".join(map(repr, row)) for row in points.tolist()) + "\n")
    for name in ("a.xyz", "a.csv", "a.npy", "a.off", "a.ply"):
        found = read_cloud(tmp_path / name)
        assert found is not None, name
        assert np.allclose(found, points)


def test_files_that_hold_no_cloud(tmp_path: Path) -> None:
    write_mesh(sphere(50), tmp_path / "mesh.ply")
    (tmp_path / "words.xyz").write_text("what is this")
    (tmp_path / "broken.off").write_text("OFF\n3 zwei 0")
    np.save(tmp_path / "flat.npy", np.zeros((5, 2)))
    (tmp_path / "mesh.stl").write_text("solid\nendsolid\n")
    for name in ("mesh.ply", "words.xyz", "broken.off", "flat.npy", "mesh.stl"):
        assert read_cloud(tmp_path / name) is None, name


def test_a_cloud_is_matched_and_what_is_weaker_is_said(tmp_path: Path, config: TrainingConfig) -> None:
    torch.manual_seed(0)
    matcher = Matcher(new_network(config.network), config)
    whole = sphere(500)
    cut = cut_plane(whole, (0, 0, 0), (0, 0, 1))
    np.savetxt(tmp_path / "scan.xyz", cut.part.vertices)
    found = match(tmp_path / "scan.xyz", whole, model=matcher)
    assert len(found.vertex_map) == cut.part.n_vertices
    assert found.notes[0].startswith(
        "the part is a point cloud, and was triangulated: gaps of a few points count as holes"
    )
