"""Arguments of another kind than was meant: every public name answers with one line that says what to give instead.

The calls are made in an interpreter of their own: while tests run, annotations are checked before the library can speak.
"""

from __future__ import annotations

import json
import subprocess
import sys
from textwrap import dedent, indent

import pytest

# each line is a call and a piece of what is said
MESHES = """
    pw.geodesic_distances({given})
    pw.boundary_criterion({given}, D)
    pw.wormhole_criterion({given}, D)
    pw.same_loop_criterion({given}, D)
    pw.decimate({given}, 50)
    pw.farthest_points({given}, 5)
    pw.metric_at_vertices({given}, np.ones(9))
    pw.metric_on_faces({given}, np.ones(9))
    pw.uniform_metric({given}, 1.0)
    pw.scale_invariant_metric({given})
    pw.refine_boundary({given}, 2)
    pw.remesh({given}, 0.1)
    pw.write_mesh({given}, "x.ply")
    pw.datasets.cut_plane({given}, (0, 0, 0), (0, 0, 1))
    pw.datasets.cut_balls({given}, [0], 0.1)
    pw.datasets.random_cuts({given})
    spectral.laplacian({given})
    spectral.gradients({given})
    spectral.eigenpairs({given}, 5)
"""
OTHERS = """
    pw.repair("scan.ply") | scan.ply does not exist
    pw.repair(None) | mesh must be a surface, got NoneType; give a path, a pw.Mesh, (vertices, faces), or a mesh of trimesh
    pw.repair((part.vertices, [[0, 1, 2], [0]])) | mesh: faces must be an array, got [[0, 1, 2], [0]]
    pw.as_mesh(part.vertices) | mesh has no faces; a point cloud is not a surface
    pw.as_mesh((part.vertices, part.faces, 3)) | mesh must be a surface, got (array([[
    pw.repair(part.vertices, [[0, 1, 2], [0]]) | mesh: faces must have shape (m, 3), got [[0, 1, 2], [0]]
    pw.repair(part, min_component_fraction="x") | min_component_fraction must be a number, got 'x'
    pw.datasets.Pair.of("scan.ply", part) | scan.ply does not exist
    pw.datasets.Pair.of(3, part) | part must be a surface, got int; give a path, a pw.Mesh, (vertices, faces)
    pw.datasets.Pair(part, None) | whole must be a Mesh, got NoneType; make one with pw.as_mesh
    pw.WHCIE().fit("scan.ply") | scan.ply does not exist
    pw.WeightedMDS().fit("scan.ply") | X must be an array of numbers, got 'scan.ply'; read the file first
    pw.TCIE(n_components="2").fit(part.vertices) | n_components must be a whole number, got '2'
    pw.match(part, part, landmarks=[(0.5, 0)]) | landmarks[0]: a vertex must be a whole number, got 0.5
    pw.match(part, part, landmarks=[3, 4]) | landmarks must be a list of (vertex of the part, vertex of the whole), got 3
    pw.match(part, part, landmarks=[(1, 2, 3)]) | landmarks must be a list of (vertex of the part, vertex of the whole), with
    pw.fit("scan.ply", part) | scan.ply does not exist
    pw.fit(part, part, options={"hold": "rest"}) | options must be a FitOptions, got dict; use pw.FitOptions(...)
    pw.fit(part, part, match_options="x") | match_options must be a MatchOptions, got str; use partwhole.matching.MatchOptions
    pw.datasets.PartsRecipe(3) | of must be a recipe such as BodiesRecipe(), got 3
    pw.merge(part, part, 3) | found must be a PartsMatch, got int; use pw.match_parts(a, b)
    pw.merge(part, part, options={"hold": "rest"}) | options must be a FitOptions, got dict; use pw.FitOptions(...)
    pw.registration.fit_match(part) | found must be a MatchResult, got Mesh; use pw.match(scan, template)
    shape_statistics(part) | shapes must be a list of surfaces, or an array of their vertices, got Mesh(
    shape_statistics("scan.ply") | shapes must be a list of surfaces, or an array of their vertices, got 'scan.ply'
    shape_statistics(np.ones((2, 5, 3)) * 1j) | shapes must be an array of numbers, got array([[[
    stats.shape(["x"]) | scores must be an array of numbers, got ['x']
    stats.shape([np.nan]) | scores must be finite, got [nan]
    stats.mode(0, "x") | deviations must be a number, got 'x'
    stats.save(3) | folder must be a path, a str or pathlib.Path, got 3
    stats.save("folder", names=3) | names must be a list with a name for each shape, got 3
    stats.save("folder", modes="x") | modes must be a whole number, got 'x'
    stats.save("folder", modes=-1) | modes=-1 must not be negative
    show("scan.ply") | scan.ply does not exist
    show(part, 3) | whole must be a surface, got int; give a path, a pw.Mesh, (vertices, faces), or a mesh of trimesh
    pw.criterion.consistency(3, D, D) | part must be a surface, got int
    pw.evaluation.coverage([0], 3) | whole must be a surface, got int
    pw.Mesh("scan.ply", None) | mesh: vertices must be an array of numbers, got 'scan.ply'
    pw.Mesh([[0, 0, 0], [1, 0]], [[0, 1, 2]]) | mesh: vertices must be an array of numbers, got [[0, 0, 0], [1, 0]]
    pw.Mesh([["a", "b", "c"]], [[0, 1, 2]]) | mesh: vertices must be an array of numbers, got [['a', 'b', 'c']]
    pw.Mesh(part.vertices + 1j, part.faces) | mesh: vertices must be an array of numbers, got array([[
    pw.Mesh(part.vertices, None) | mesh: faces must have shape (m, 3), got ()
    pw.read_mesh(None) | path must be a path, a str or pathlib.Path, got None
    pw.read_mesh(part) | path must be a path, a str or pathlib.Path, got Mesh(
    pw.read_mesh(b"x.off") | path must be a path, a str or pathlib.Path, got b'x.off'
    pw.write_mesh(part, 3) | path must be a path, a str or pathlib.Path, got 3
    pw.geodesic_distances(part, [[1, 2], [3]]) | sources must be a list of vertex numbers, got [[1, 2], [3]]
    pw.geodesic_distances(part, "all") | sources must be a list of vertex numbers
    pw.geodesic_distances(part, [0.5]) | sources must be a list of vertex numbers
    pw.geodesic_distances(part, dtype="double precision") | dtype must be float32 or float64, got 'double precision'
    pw.geodesic_distances(part, metric=2.0) | metric must be a Metric, got 2.0; make one with pw.uniform_metric
    pw.geodesic_distances(part, out=3.5) | out must be a path, a str or pathlib.Path, got 3.5
    pw.geodesic_distances(part, out="part.ply") | out='part.ply' is written as a NumPy array; give a name that ends in .npy
    pw.geodesic_distances(part, threads=-1) | threads=-1 must be at least 1, or None
    pw.geodesic_distances(part, threads="2") | threads must be a whole number or None, got '2'
    pw.geodesic_distances(part, device="tpu") | device must be 'cpu' or 'cuda', got 'tpu'
    pw.wormhole_criterion(part, 3) | D must be a matrix of float32 or float64
    pw.wormhole_criterion(part, [[0, 1], [1]]) | D must be a matrix of float32 or float64, got [[0, 1], [1]]
    pw.wormhole_criterion(part, D * np.nan) | D contains nan
    pw.wormhole_criterion(part, D, metric_bound=None) | metric_bound must be a number, got None
    pw.wormhole_criterion(part, D, rtol="x") | rtol must be a number, got 'x'
    pw.wormhole_criterion(part, D, rows=[[1], [2, 3]]) | rows must be a list of vertex numbers, got [[1], [2, 3]]
    pw.decimate(part, "50") | n_vertices must be a whole number, got '50'
    pw.decimate(part, -3) | n_vertices=-3 is too few
    pw.farthest_points(part, 5.5) | count must be a whole number, got 5.5
    pw.farthest_points(part, 5, first="a") | first must be a whole number or None, got 'a'
    pw.farthest_points(part, 5, seed=-1) | seed must be a non-negative whole number or a numpy.random.Generator, got -1
    pw.refine_boundary(part, None) | pieces must be a whole number, got None
    pw.remesh(part, "x") | edge_length must be a number, got 'x'
    pw.remesh(part, 0.1, iterations=2.5) | iterations must be a whole number, got 2.5
    pw.uniform_metric(part, "2") | scale must be a number, got '2'
    pw.FitOptions(hold="still") | hold must be one of 'seen', 'rest', 'symmetric', got 'still'
    pw.FitOptions(steps=2.5) | steps must be a whole number, got 2.5
    pw.FitOptions(stiffness="x") | stiffness must be a number, got 'x'
    pw.scale_invariant_metric(part, regulariser=None) | regulariser must be a number, got None
    pw.metric_at_vertices(part, [[1, 2], [3]]) | values must be an array of numbers, got [[1, 2], [3]]
    pw.evaluation.geodesic_errors([0.5], pw.datasets.GroundTruth.of_map([0]), D) | vertex_map must be a list of vertex numbers
    pw.evaluation.coverage([0.5], part) | vertex_map must be a list of vertex numbers, got shape (1,) of float64
    BarycentricMap(np.zeros((2, 3), int), np.ones((2, 3)), np.ones(3, bool)) | triangles (p, 3) must be whole numbers
    BarycentricMap.closest(part.vertices, 3) | mesh must be a surface, got int; give a path, a pw.Mesh, (vertices, faces)
    BarycentricMap(3, 4, 5) | triangles must be a ndarray, got int; use np.array(...)
    SurfaceTree(3) | mesh must be a surface, got int; give a path, a pw.Mesh, (vertices, faces)
    SurfaceTree(part).nearest(np.ones((2, 2))) | points must have shape (p, 3), got (2, 2)
    SurfaceTree(part).nearest(part.vertices, part.vertices[:5]) | normals has 5 rows for 60 points; give one for each
    pw.datasets.Pair.of(part, part, np.arange(60)) | ground_truth must be a GroundTruth, got ndarray; make one with
    pw.datasets.GroundTruth.of_map([[1], [2, 3]]) | vertex_map must be whole numbers in 1 dimension(s), got [[1], [2, 3]]
    pw.datasets.sphere_cap(angle=None) | angle must be a number, got None
    pw.datasets.slivers(stretch="x") | stretch must be a number, got 'x'
    pw.datasets.torus(seed="x") | seed must be a non-negative whole number or a numpy.random.Generator, got 'x'
    pw.datasets.with_fewer_vertices([], None) | n_vertices must be a whole number, got None
    pw.datasets.make_set({"part": part}, None) | output must be a path, a str or pathlib.Path, got None
    pw.datasets.make_set({"part": part}, "set", parts=2.5) | parts must be a whole number, got 2.5
    pw.datasets.make_set({"part": part}, "set", seed=None) | seed must be a whole number, got None
    pw.datasets.body_pairs(1, parts_per_pose=None) | parts_per_pose must be a whole number, got None
    pw.datasets.body_pairs(1, plans=None) | plans must be one or several of 'biped'
    pw.datasets.cut_plane(part, "x", (0, 0, 1)) | origin must be an array of numbers, got 'x'
    pw.datasets.cut_balls(part, [1, 2], []) | radius has shape (0,); give one for all balls, or one for each of 2
    pw.datasets.random_cuts(part, ["holes"]) | recipe=['holes'] must be one of
    pw.criterion.consistency(part, D, D, tolerances=0.01) | tolerances must be a list of relative errors, such as [0.01], got
    pw.criterion.consistency(part, D, D, criteria=None) | criteria must be distinct and among
    pw.write_mesh(part, "x.ply", colors=[[1], [2, 3]]) | colors must have shape (60, 3), one row a vertex, got [[1], [2
    pw.mesh.read_landmark_pairs(None, part, part) | paths must be a path, a str or pathlib.Path, got None
    pw.mesh.write_landmarks("x.csv", part, None) | landmark number 1: a vertex must be a whole number, got None
    pw.WHCIE(longest_step="x").fit(part.vertices) | longest_step must be a number or None, got 'x'
    pw.WHCIE(small_radius=None).fit(part.vertices) | small_radius must be a number, got None
    pw.WHCIE(small_distance="x").fit(part.vertices) | small_distance must be a number or None, got 'x'
    pw.WHCIE(max_iter=None).fit(part.vertices) | max_iter must be a whole number, got None
    pw.WHCIE(boundary=[[1], [2, 3]]).fit(part.vertices) | boundary must be "auto", point numbers or a mask, got [[1]
    pw.embedding.boundary_points("scan.ply") | X must be an array of numbers, got 'scan.ply'
    pw.embedding.boundary_points(part.vertices, n_neighbors=None) | n_neighbors must be a whole number, got None
    pw.evaluation.geodesic_errors([0], [0], D) | ground_truth must be a GroundTruth, got list; make one with
    pw.evaluation.coverage([[1], [2, 3]], part) | vertex_map must be a list of vertex numbers, got [[1], [2, 3]]
    pw.evaluation.pck_curve("x") | errors must be an array of numbers, got 'x'
    pw.evaluation.pck_curve([0.1], steps=2.5) | steps must be a whole number, got 2.5
    pw.evaluation.calibration("x", [1]) | confidence must be an array of numbers, got 'x'
    pw.evaluation.evaluate_map(part, [0]) | pair must be a Pair, got Mesh; make one with Pair.of(part, whole, ground_truth)
    spectral.eigenpairs(part, 2.5) | k must be a whole number, got 2.5
    spectral.zoomout(range(60), basis, basis, start=2.5) | start must be a whole number, got 2.5
    spectral.functional_map([[1], [2, 3]], basis, basis) | the map must be a vertex of the whole for each vertex of the part
    transfer_values(np.ones(60), laid.places, missing="x") | missing must be an array of numbers, got 'x'
    save(3, "folder") | result must be a MatchResult, a PartsMatch or a FittedTemplate, got 3
    BarycentricMap.closest("x", part) | points must be an array of numbers, got 'x'
    BarycentricMap.closest(np.ones((2, 2)), part) | points must have shape (p, 3), got (2, 2)
    BarycentricMap.closest(part.vertices, part, directions="x") | directions must be an array of numbers, got 'x'
    BarycentricMap.closest(part.vertices, part, directions=part.vertices[:5]) | directions has 5 rows for 60 points
    BarycentricMap.closest(part.vertices, part, reach="x") | reach must be a number, got 'x'
    Correspondence(3, part, laid.places) | part must be a Mesh, got int; make one with pw.as_mesh
    Correspondence(part, part, None) | places must be a BarycentricMap, got NoneType; use BarycentricMap.at_vertices
    Correspondence(part, part, laid.places, reach="x") | reach must be a number or None, got 'x'
    transfer_values(3, laid.places) | values must be an array with a row for each vertex, got 3
    transfer_values(np.ones(60), laid) | places must be a BarycentricMap, got Correspondence; use correspondence.towards
    transfer_labels(None, laid.places) | labels must be an array with a row for each vertex, got None
    transfer_by_kind(np.ones(60), None) | correspondence must be a Correspondence, got NoneType; use result.correspondence
    transfer_by_kind(np.ones(60), laid, kind="colour") | kind='colour' must be one of 'auto', 'scalar', 'vector', 'label'
    transfer_by_kind(np.ones(60), laid, kind="vector") | values has shape (60,) of float64; kind='vector' needs (n, 3)
    transfer_by_kind(np.ones(60), laid, to="scan") | to='scan' must be 'part' or 'whole'
    transfer_by_kind([[1, 2], [3]], laid) | values must be an array with a row for each vertex, got [[1, 2], [3]]
    transfer_landmarks([[1, 2]], laid) | points must be rows of three finite numbers, got shape (1, 2)
    transfer_landmarks(part.vertices, part) | correspondence must be a Correspondence, got Mesh
    transfer_skinning(3, part, part, laid.places) | skin must be a Skin, got int; take that of a TexturedMesh
    transfer_texture(part, laid) | textured must be a TexturedMesh, got Mesh; use partwhole.mesh.textured.read_textured
    transfer_texture(TexturedMesh(part), laid, texture=3) | texture must be a Texture, got int
    TexturedMesh(3) | mesh must be a Mesh, got int; make one with pw.as_mesh
    TexturedMesh(part, skin=3) | skin must be a Skin, got int; use partwhole.mesh.textured.Skin(...)
    write_landmarks("x.csv", part, [1], 3) | labels must be a list with a name for each vertex, got 3
    transfer_texture(TexturedMesh(part), laid, size=2.5) | size must be a whole number, got 2.5
    read_textured("scan.ply") | scan.ply: textures and skeletons are read from .glb and .obj, not '.ply'
    read_textured(3) | path must be a path, a str or pathlib.Path, got 3
    write_textured("scan.ply", "x.glb") | mesh must be a Mesh, got str; make one with pw.as_mesh
    write_textured(TexturedMesh(part), "x.ply") | x.ply: textures and skeletons are written as .glb or .obj, not '.ply'
    write_textured(TexturedMesh(part), "x.glb", influences=5) | influences=5 must be 4 or 8
    pw.TrainingConfig(iterations="x") | iterations must be a whole number, got 'x'
    pw.TrainingConfig(learning_rate=None) | learning_rate must be a number, got None
    pw.datasets.sphere("many") | n_vertices must be a whole number, got 'many'
    pw.datasets.annulus("wide") | inner must be a number, got 'wide'
    pw.datasets.sphere(300, jitter="x") | jitter must be a number, got 'x'
    pw.datasets.make_body(["hand"], 800) | plan=['hand'] must be one of
    pw.datasets.make_body("hand", 800.5) | n_vertices must be a whole number, got 800.5
    pw.datasets.body_pairs(None) | n_bodies must be a whole number, got None
    pw.datasets.swiss_roll("x") | n_samples must be a whole number, got 'x'
    pw.datasets.FolderPairs(3) | root must be a path, a str or pathlib.Path, got 3
    pw.datasets.DefaultRecipe(3) | assets must be a path, a str or pathlib.Path, got 3
    pw.datasets.BodiesRecipe(plans="hand") | plans must be several kinds of bodies, such as ('biped', 'hand'), got 'hand'
    pw.datasets.people_pairs("people") | people must be People, got 'people'; use pw.datasets.People(path)
    pw.datasets.cut_balls(part, [[1], [2, 3]], 0.1) | centres must be a list of vertex numbers, got [[1], [2, 3]]
    pw.datasets.cut_balls(part, [1], "wide") | radius must be an array of numbers, got 'wide'
    pw.datasets.make_set({"part": part}, "set", progress=True) | progress must be a function that is called with (what is
    pw.datasets.with_parts_turned(3) | pairs must be a data set or a list of pw.datasets.Pair, got 3
"""
LEARNED = """
    pw.match((part.vertices, part.faces, 3), part) | part must be a surface, got (array([[
    pw.match(part, None) | whole must be a surface, got NoneType; give a path, a pw.Mesh, (vertices, faces), or a mesh of
    pw.match("scan.ply", part) | scan.ply does not exist
    pw.match(part.vertices[:5, :2], part) | part: points must have shape (n, 3), got (5, 2)
    pw.load(3) | folder must be a path, a str or pathlib.Path, got 3
    pw.match(part, part, cache=3) | cache must be a Cache, a folder, True for the default one, or None, got 3
    pw.match(part, part, model={}) | model must be the name of a built-in model, a file of weights or a Matcher, got {}
    pw.match(part, part, refine="3") | refine must be a whole number, got '3'
    pw.match(part, part, yaw_steps=2.5) | yaw_steps must be a whole number or None, got 2.5
    pw.match(part, part, repair="yes") | repair must be True, False or None, got 'yes'
    pw.fit(part, part, repair=1) | repair must be True, False or None, got 1
    pw.match(part, part, up=2) | up=2 must be an axis
    pw.match(part, part, max_vertices="500") | max_vertices must be a whole number, got '500'
    pw.match(part, part, progress=True) | progress must be a function that is called with (what is done, steps done
    pw.match(part, part, device="tpu") | device must be 'cpu' or 'cuda', got 'tpu'
    pw.match(part, part, device="cuda") | device='cuda' needs
    pw.Matcher.load("default", device="cuda") | device='cuda' needs
    pw.train(pairs, device="cuda") | device='cuda' needs
    Benchmark(pairs, device="cuda") | device='cuda' needs
    pw.geodesic_distances(part, device="cuda") | device='cuda' needs
    pw.wormhole_criterion(part, D, device="cuda") | device='cuda' needs
    pw.Matcher.load(None) | model must be the name of a built-in model
    pw.Matcher(None, None) | a Matcher is of a network and a TrainingConfig, got NoneType and NoneType
    pw.train(None) | pairs must be a data set or a list of pw.datasets.Pair, got None
    pw.train("folder") | pairs must be a data set, got 'folder'; pw.datasets.FolderPairs(path) reads a folder
    pw.train([part, part]) | pairs must be of pw.datasets.Pair, got Mesh; use pw.datasets.Pair.of(part, whole)
    pw.train(pairs, "pfaust-h") | config must be a TrainingConfig, got 'pfaust-h'; use partwhole.matching.preset('pfaust-h')
    pw.train(pairs, small, loss="wormhole") | loss must be a Loss such as pw.WormholeLoss(1e3), got 'wormhole'
    pw.train(pairs, small, start="default") | start must be a Matcher, got str; use pw.Matcher.load('default')
    pw.train(pairs, small, watch=[pairs]) | watch must be pairs by name
    pw.train(pairs, small, folder=3) | folder must be a path, a str or pathlib.Path, got 3
    pw.train(pairs, small, network="mine") | network must be a partwhole.matching.Network, got 'mine'
    pw.train(pairs, small, cache=3) | cache must be a Cache, a folder, True for the default one, or None, got 3
    pw.train(pairs, small, heartbeat="x") | heartbeat must be a function that is called with the state of the run, or None
    pw.TrainingConfig(scaling=None) | scaling must be a list of numbers, got None
    pw.TrainingConfig(score_weights=["a"]) | score_weights must be a number, got 'a'
    pw.matching.preset(None) | there is no preset None; there are
    pw.matching.card_of([]) | name must be that of a built-in model, such as
    pw.Matcher.load("default", network="x") | network must be a partwhole.matching.Network, got 'x'
    Benchmark(pairs, max_vertices=None) | max_vertices must be a whole number, got None
    Benchmark(pairs, progress=True) | progress must be a function
    Benchmark(pairs, workers="x") | workers must be a whole number or None, got 'x'
    pw.train(pairs, small, workers=0) | workers=0 must be at least 1
    PairStream("bodies", small) | recipe must be a PairRecipe such as pw.datasets.BodiesRecipe(), got 'bodies'
    PairStream(pw.datasets.BodiesRecipe(), "default") | config must be a TrainingConfig such as preset('default')
    PairStream(pw.datasets.BodiesRecipe(), small, blocks="3") | blocks must be a whole number, got '3'
    PairStream(pw.datasets.BodiesRecipe(), small, folder=3) | folder must be a path, a str or pathlib.Path, got 3
    pw.evaluate("default", pairs) | matcher must be a Matcher, got str; use pw.Matcher.load('default')
    pw.evaluate(matcher, None) | pairs must be a data set or a list of pw.datasets.Pair, got None
    pw.evaluate(matcher, pairs, refine="x") | refine must be a whole number, got 'x'
    pw.evaluate(matcher, pairs, progress=True) | progress must be a function
    pw.WormholeLoss("x") | weight must be a number, got 'x'
    pw.WormholeLoss(masked_sides="whole") | masked_sides must be 'part' or 'both', got 'whole'
    matcher.save(None) | path must be a path, a str or pathlib.Path, got None
"""
BEGIN = """
    import json, os, sys
    from pathlib import Path
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import numpy as np
    import partwhole as pw
    from partwhole import spectral
    from partwhole.viewer.show import show
    part = pw.datasets.annulus(n_vertices=60)
    D = pw.geodesic_distances(part, method="dijkstra")
    from partwhole.mesh.textured import TexturedMesh, read_textured, write_textured
    from partwhole.mesh.barycentric import BarycentricMap, SurfaceTree
    from partwhole.mesh.landmarks import write_landmarks
    from partwhole.registration import shape_statistics
    from partwhole.saved import save
    from partwhole.transfer import Correspondence, transfer_by_kind, transfer_labels, transfer_landmarks
    from partwhole.transfer import transfer_skinning, transfer_texture, transfer_values
    basis = spectral.eigenpairs(part, 5)
    laid = Correspondence(part, part, BarycentricMap.at_vertices(range(60)))
    stats = shape_statistics(np.stack([part.vertices * [1, 1, z] + [0, 0, z] * part.vertices[:, :1] for z in (1, 2)]))
"""
WITH_TORCH = """
    from partwhole.matching import Benchmark, PairStream
    from partwhole.matching.network.diffusion_net import new_network
    small = pw.TrainingConfig(iterations=1, width=8, blocks=1, features=8, map_eigenpairs=20, diffusion_eigenpairs=20)
    pairs = [pw.datasets.Pair.of(part, part, pw.datasets.GroundTruth.of_map(np.arange(60)))]
    matcher = pw.Matcher(new_network(small.network), small)
"""
END = """
    for call in json.load(sys.stdin):
        try:
            eval(call)
            print(json.dumps("nothing was refused"))
        except (ValueError, FileNotFoundError) as error:
            print(json.dumps(str(error)))
        except Exception as fault:
            print(json.dumps(f"a fault, {type(fault).__name__}: {fault}"))
"""


def answers(calls: list[str], *begin: str) -> list[str]:
    code = "\n".join(dedent(text) for text in (BEGIN, *begin, END))
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(calls), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, indent(done.stderr, "  ")
    return [json.loads(line) for line in done.stdout.splitlines()]


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize(("table", "begin"), [(OTHERS, ()), (LEARNED, (WITH_TORCH,))], ids=["plain", "with torch"])
def test_what_is_of_another_kind_is_refused_in_one_line(table: str, begin: tuple[str, ...]) -> None:
    calls, wanted = zip(*(line.split(" | ") for line in lines(table)), strict=True)
    for call, piece, said in zip(calls, wanted, answers(list(calls), *begin), strict=True):
        assert said.startswith(piece), call
        assert "\n" not in said, call


def test_every_function_of_a_surface_takes_it_in_any_form() -> None:
    """A path and arrays go through to what is wrong with them; what can't be a surface is answered with what can."""
    refused = (
        "mesh must be a surface, got {}; give a path, a pw.Mesh, (vertices, faces), or a mesh of trimesh, Open3D, "
    )
    refused += "PyVista or meshio"
    given = {
        "'scan.ply'": "scan.ply does not exist",
        "Path('scan.ply')": "scan.ply does not exist",
        "(part.vertices, part.faces + 100)": "mesh: face 0 is [",
        "None": refused.format("NoneType"),
    }
    calls = [(line.format(given=text), said) for line in lines(MESHES) for text, said in given.items()]
    for (call, wanted), said in zip(calls, answers([call for call, _ in calls]), strict=True):
        assert said.startswith(wanted), call
        assert "\n" not in said, call
