// The views: which panels each has, how they are painted, and what the legend says.

import {
  BOUNDARY, BOUNDARY_IN_THE_DARK, CHOSEN, GUARANTEED, NOT_GUARANTEED, OTHER, PATH, PLAIN, STRAIGHT, TABLES,
  carried, colorPaint, niceLimit, plainCoat, regionPaint, texturePaint, valuePaint,
} from "./coats.js";

export const RTOL = 1e-5; // as in trust_explorer.py
const CRITERIA = {
  boundary: "C_T, boundary criterion",
  wormhole: "C_W, wormhole criterion",
  same_loop: "C_L, same-loop criterion",
};

/** Each view: its name, its key, whether this scene has it, and what it paints the part (and the whole) with. */
export const VIEWS = {
  fit: { name: "Fit", key: "f", has: (scene) => scene.fit, coats: () => ({}) }, // see fit.js
  plain: { name: "Surfaces", key: "1", has: (scene) => !scene.map, coats: () => ({}) },
  shared: {
    name: "Shared",
    key: "1", // never there together with the surfaces alone, nor with the next
    has: (scene) => scene.parts,
    coats: (scene) => sharedCoats(scene, colorPaint(scene.places.places)),
    legend: (scene) => ({
      text: `Partners have the same colour; grey is what only one part has. Shared are ${percent(scene.parts.shares[0])} of the first part and ` +
        `${percent(scene.parts.shares[1])} of the second; the first lies as on the second.`,
    }),
  },
  overlap: {
    name: "Overlap",
    key: "2",
    has: (scene) => scene.parts,
    coats: (scene, found, shown) => ofBoth((role) => values(tableOf("good", shown), scene.arrays[`${role}_overlap`], [0, 1])),
    legend: (scene, found, shown) => ({
      table: tableOf("good", shown), limits: ["0", "1"], text: "How probable it is that a vertex is on both parts.",
    }),
  },
  correspondence: {
    name: "Correspondence",
    key: "1",
    has: (scene) => scene.map && !scene.parts,
    coats: (scene) => both(scene, "color", colorPaint(scene.places.places)),
    legend: () => ({ text: "A vertex of the part has the colour of its match on the whole." }),
  },
  texture: {
    name: "Texture",
    key: "2",
    has: (scene) => scene.map && !scene.parts,
    coats: (scene) => both(scene, "texture", texturePaint(scene.places, scene.meta.whole.view.up)),
    legend: () => ({ text: "A texture on the whole, carried to the part. Tears show where the map is discontinuous." }),
  },
  confidence: {
    name: "Confidence",
    key: "3",
    has: (scene) => scene.map && scene.confidence,
    coats: (scene, found, shown) => scene.parts
      ? ofBoth((role) => values(tableOf("good", shown), scene.arrays[`${role}_confidence`], [0, 1]))
      : { part: values(tableOf("good", shown), scene.confidence, [0, 1], null, scene.doubtful) },
    legend: (scene, found, shown) => ({
      table: tableOf("good", shown), limits: ["0", "1"],
      text: `How sure each match is${scene.parts ? ", and that there is one" : ""}.${scene.doubtful ? " Striped: doubtful, do not rely on it." : ""}`,
    }),
  },
  distortion: {
    name: "Distortion",
    key: "4",
    needs: "distortion",
    ranged: true,
    has: (scene) => scene.map && !scene.parts,
    coats: (scene, found, shown) => {
      if (!found.distortion) return {};
      const limits = [0, limitOf(found.distortion.distortion, shown)];
      return { part: values(tableOf("bad", shown), found.distortion.distortion, limits, found.distortion.distortion_before) };
    },
    legend: (scene, found, shown) => found.distortion && {
      table: tableOf("bad", shown),
      limits: ["0", `${percent(limitOf(found.distortion.distortion, shown))} or more`],
      text: "By how much the map changes the guaranteed distances of a vertex, on average, as a share of √(area of the whole). Grey: none is guaranteed.",
    },
  },
  trust: { name: "Trust", key: "5", has: (scene) => scene.part, coats: () => ({}) },
  errors: {
    name: "Error",
    key: "6",
    needs: "errors",
    ranged: true,
    has: (scene) => scene.map && scene.meta.truth,
    coats: (scene, { errors }, shown) =>
      errors ? { part: values(tableOf("bad", shown), errors.errors, [0, limitOf(errors.errors, shown)]) } : {},
    legend: (scene, { errors }, shown) => errors && {
      table: tableOf("bad", shown), limits: ["0", `${percent(limitOf(errors.errors, shown))} or more`],
      text: "Geodesic error: how far a match is from the true place, as a share of √(area of the whole).",
    },
  },
};

/** The colour map that was chosen, or that of the view. */
export function tableOf(own, { colors }) {
  return colors === "own" ? own : colors;
}

/** Where colours end: as was chosen, or as most numbers need it. */
export function limitOf(numbers, { limit }) {
  return limit ?? niceLimit(numbers);
}

function both(scene, mode, paint) {
  const coat = { mode, plain: PLAIN };
  const part = { ...coat, paint: carried(paint, scene.map) };
  if (scene.before) part.before = carried(paint, scene.before);
  return { part, whole: { ...coat, paint } };
}

function ofBoth(coat) {
  return { part: coat("part"), whole: coat("whole") };
}

/** The colours of the second part, on both where something is shared. */
function sharedCoats(scene, paint) {
  return ofBoth((role) => {
    const own = role === "part" ? carried(paint, scene.map) : paint.slice();
    for (let v = 0; 3 * v < own.length; v++) if (!scene.isShared(role, v)) own.set(PLAIN, 3 * v);
    return { mode: "color", plain: PLAIN, paint: own };
  });
}

function values(table, numbers, limits, before = null, marked = null) {
  const coat = { mode: "value", plain: PLAIN, table: TABLES[table], paint: valuePaint(numbers, limits, marked) };
  if (before) coat.before = valuePaint(before, limits, marked);
  return coat;
}

/** Part and whole, or two parts, side by side. */
export function pairPanels(scene, coats, state) {
  const surfaces = [["part", scene.part], ["whole", scene.whole]].filter(([, surface]) => surface);
  return surfaces.map(([role, surface]) => ({
    surface,
    title: scene.parts ? (role === "part" ? "First part" : "Second part") : role === "part" ? "Part" : "Whole",
    note: sizeNote(surface),
    coat: coats[role] ?? plainCoat(),
    camera: state.cameras[role],
    wipe: role === "part" && coats.part?.before ? state.wipe : 1,
    rings: state.options.rings ? ringsOf(scene, state, role) : null,
    lines: linesOf(surface, state.options),
    dots: dotsOf(scene, state, role),
  }));
}

/** Rings at the same distances on both. */
function ringsOf(scene, state, role) {
  const distances = state.found.rings?.[role];
  if (!distances || state.picked === null || (role === "whole" && !scene.isShared("part", state.picked))) return null;
  const spacing = Math.sqrt((scene.whole ?? scene.part).meta.area) / 12;
  return { distances, spacing: role === "part" ? spacing / scene.meta.factor : spacing };
}

function dotsOf(scene, state, role) {
  if (state.picked === null) return [];
  if (role === "part") return [dot(scene.part, state.picked, CHOSEN)];
  return scene.map && scene.isShared("part", state.picked) ? [dot(scene.whole, scene.map[state.picked], CHOSEN)] : [];
}

/** The part once for each criterion, with what is guaranteed with the chosen vertex, and once with the soft mask. */
export function trustPanels(scene, state) {
  const row = state.found.trust, camera = state.cameras.part, surface = scene.part;
  const lines = linesOf(surface, state.options);
  const dots = state.picked === null ? [] : [dot(surface, state.picked, CHOSEN)];
  const pair = pairStrokes(scene, state);
  const common = { surface, camera, wipe: 1, rings: null };
  const kinds = Object.keys(CRITERIA).filter((kind) => (row ? row[kind] : kind !== "same_loop"));
  const panels = kinds.map((kind) => ({
    ...common,
    title: CRITERIA[kind],
    color: GUARANTEED[kind],
    note: row ? `${percent(row.shares[kind])} guaranteed` : "measuring…",
    coat: row ? row.coats[kind] : { mode: "plain", plain: NOT_GUARANTEED },
    lines: [...lines, ...pair.lines],
    dots: [...dots, ...pair.dots],
  }));
  panels.push({
    ...common,
    title: "Soft mask of C_W",
    note: "min(K / D, 1)",
    coat: row ? row.coats.soft : { mode: "plain", plain: NOT_GUARANTEED },
    lines,
    dots,
  });
  return panels;
}

/** Masks, shares and coats from distances and thresholds; once for each row. */
export function judged(row, vertex) {
  const { distances } = row;
  const found = { ...row, coats: {}, shares: {}, vertex };
  for (const kind of Object.keys(CRITERIA)) {
    if (!row[kind]) continue;
    const paint = regionPaint(distances, row[kind], vertex, RTOL);
    found.coats[kind] = { mode: "region", plain: NOT_GUARANTEED, accent: GUARANTEED[kind], paint };
    let count = 0;
    for (let v = 0; v < distances.length; v++) if (paint[3 * v] > 0) count++;
    found.shares[kind] = count / distances.length;
  }
  const soft = Float32Array.from(distances, (d, v) => {
    if (v === vertex || d === 0) return 1;
    return Number.isFinite(d) ? Math.min(row.wormhole[v] / d, 1) : 0;
  });
  found.coats.soft = { mode: "value", plain: PLAIN, table: TABLES.good, paint: valuePaint(soft, [0, 1]) };
  found.soft = soft;
  return found;
}

/** The vertex for which a wormhole is shown unless another is chosen: the one that misses its threshold by most. */
export function tellingOther(row) {
  let best = null, most = 0;
  row.distances.forEach((d, v) => {
    const miss = Number.isFinite(d) ? d - row.wormhole[v] * (1 + RTOL) : 0;
    if (miss > most) [best, most] = [v, miss];
  });
  return best;
}

function pairStrokes(scene, state) {
  const pair = state.found.pair, surface = scene.part;
  if (state.other === null || !pair) return { lines: [], dots: [] };
  const lines = [{ segments: chain(pair.geodesic), color: PATH, width: 3.5, ghost: true }];
  const dots = [dot(surface, state.other, OTHER)];
  if (pair.wormhole) {
    const ends = [...surface.point(pair.wormhole.leaves), ...surface.point(pair.wormhole.returns)];
    lines.push({ segments: chain(pair.out), color: STRAIGHT, width: 2, ghost: true });
    lines.push({ segments: chain(pair.back), color: STRAIGHT, width: 2, ghost: true });
    lines.push({ segments: new Float32Array(ends), color: STRAIGHT, width: 3, dash: 10, ghost: true });
    dots.push({ points: new Float32Array(ends), color: STRAIGHT, width: 10, ghost: true });
  }
  return { lines, dots };
}

/** Points one after the other as segments. */
function chain(points) {
  const segments = new Float32Array(Math.max(0, 2 * (points.length - 3)));
  for (let k = 0; 3 * k + 3 < points.length; k++) segments.set(points.subarray(3 * k, 3 * k + 6), 6 * k);
  return segments;
}

export function dot(surface, vertex, color = CHOSEN) {
  return { points: new Float32Array(surface.point(vertex)), color, width: 14, ghost: true };
}

export function linesOf(surface, { boundaries, wireframe, dark }) {
  const lines = boundaries ? [boundaryLine(surface, dark)] : [];
  if (wireframe) lines.unshift({ segments: surface.edgeSegments, color: dark ? BOUNDARY_IN_THE_DARK : BOUNDARY, width: 0.7 });
  return lines;
}

function boundaryLine(surface, dark) {
  surface.boundarySegments ??= new Float32Array(Array.from(surface.boundary).flatMap((v) => surface.point(v)));
  return { segments: surface.boundarySegments, color: dark ? BOUNDARY_IN_THE_DARK : BOUNDARY, width: 2.2 };
}

export function sizeNote(surface) {
  const { meta } = surface;
  const drawn = surface.numbers ? `, ${meta.shown.toLocaleString("en")} drawn` : "";
  const loops = `${meta.loops} boundary loop${meta.loops === 1 ? "" : "s"}`;
  return `${meta.name}: ${meta.vertices.toLocaleString("en")} vertices${drawn}, ${loops}`;
}

export function percent(share) {
  if (share > 0 && share < 0.01) return `${(100 * share).toFixed(1)} %`;
  return `${+(100 * share).toFixed(1)} %`;
}
