// The view "Fit": the template that was fitted to the part, beside the scan and under it.

import { BAD, TABLES, hex, plainCoat, valuePaint } from "./coats.js";
import { key, legendElements, list } from "./details.js";
import { element } from "./dom.js";
import { Surface } from "./surface.js";
import { dot, limitOf, linesOf, percent, sizeNote, tableOf } from "./views.js";

const SCAN = hex("#45b08c"); // over the template
const COATS = { distance: "fit_distance", error: "fit_expected_error" };

/** The fitted template, and the scan in the same place: both about the middle of the template. */
export class Fit {
  constructor({ meta, arrays }, part) {
    this.meta = meta.fit;
    this.arrays = arrays;
    this.surface = new Surface("fit", meta.fit, arrays);
    this.surface.role = "whole"; // it has the same vertices
    const off = meta.part.centre.map((x, d) => x - meta.fit.centre[d]);
    const moved = { ...arrays, part_vertices: part.vertices.map((x, k) => x + off[k % 3]) };
    this.scan = new Surface("part", meta.part, moved);
    this.fitted = this.surface.vertices;
    this.length = Math.sqrt(meta.fit.area);
    // one measure for both, which holds the template at rest too
    const reach = [this.scan.vertices, this.fitted, arrays.fit_rest].map(farthest);
    this.surface.radius = this.scan.radius = Math.max(...reach);
    this.coats = new Map();
  }

  /** Move the template: 0 is at rest, 1 as it was fitted. */
  move(share) {
    const { fit_rest: rest } = this.arrays;
    this.surface.move(this.fitted.map((x, k) => rest[k] + share * (x - rest[k])));
  }

  /** What a vertex of the template rests on: an entry of the list of sources. */
  sourceOf(vertex) {
    return this.meta.sources[this.arrays.fit_source[vertex]];
  }

  /** The vertex of the template where a vertex of the scan lies; null if the scan lies apart from the template there. */
  placeOf(vertex) {
    const place = vertex === null ? -1 : this.arrays.fit_nearest[vertex];
    return place < 0 ? null : place;
  }

  /** The numbers of a coat as shares of √area; where nothing was seen, a distance to the scan means nothing. */
  numbers(coat) {
    const given = this.arrays[COATS[coat]];
    return Array.from(given, (x, v) => (coat === "distance" && this.arrays.fit_source[v] ? NaN : x / this.length));
  }

  coat(chosen, shown) {
    const name = [chosen, shown.colors, shown.limit].join();
    if (!this.coats.has(name)) this.coats.set(name, this.#made(chosen, shown));
    return this.coats.get(name);
  }

  #made(chosen, shown) {
    if (chosen === "source") {
      const paint = new Float32Array(3 * this.surface.size);
      for (let v = 0; v < this.surface.size; v++) paint.set(this.sourceOf(v).color, 3 * v);
      return { ...plainCoat(), mode: "color", paint };
    }
    const numbers = this.numbers(chosen);
    return { ...plainCoat(), mode: "value", table: TABLES[tableOf("bad", shown)], paint: valuePaint(numbers, [0, limitOf(numbers, shown)]) };
  }
}

function farthest(points) {
  let most = 0;
  for (let k = 0; k < points.length; k += 3) most = Math.max(most, Math.hypot(points[k], points[k + 1], points[k + 2]));
  return most || 1;
}

/** The scan, and the template with as much of the scan over it as was chosen. */
export function fitPanels(scene, state) {
  const { fit } = scene, { blend, opacity, coat } = state.fit;
  const { surface, scan } = fit, camera = state.cameras.fit;
  const common = { camera, within: surface, wipe: 1, rings: null };
  const place = fittedVertex(scene, state);
  return [
    {
      ...common, surface: scan, title: "Scan", note: sizeNote(scene.part), coat: plainCoat(),
      lines: linesOf(scan, state.options), dots: state.picked === null ? [] : [dot(scan, state.picked)],
    },
    {
      ...common, surface, title: titleOf(blend), note: sizeNote(surface), coat: fit.coat(coat, state.shown),
      over: opacity > 0 ? { surface: scan, coat: { mode: "plain", plain: SCAN }, opacity } : null,
      lines: [...linesOf(surface, state.options), ...(opacity > 0 ? linesOf(scan, { ...state.options, wireframe: false }) : []), ...badLines(fit, blend)],
      dots: place === null ? [] : [dot(surface, place)],
    },
  ];
}

function titleOf(blend) {
  if (blend === 1) return "Fitted template";
  return blend === 0 ? "Template at rest" : `Template, ${percent(blend)} of the way`;
}

/** The vertex of the template that was chosen, or where the vertex of the scan lies. */
function fittedVertex(scene, state) {
  return state.fit.vertex ?? scene.fit.placeOf(state.picked);
}

/** Triangles that turned over or go through others, where the template was fitted. */
function badLines(fit, blend) {
  if (blend < 1) return [];
  return ["crossing", "turned_over"].map((name) => ({ segments: sides(fit.arrays[`fit_${name}`]), color: BAD[name], width: 2.4, ghost: true }));
}

/** The sides of triangles that are given by their corners, six numbers each. */
function sides(corners) {
  const segments = new Float32Array(2 * corners.length);
  for (let f = 0; f < corners.length; f += 9) {
    for (let c = 0; c < 3; c++) {
      const next = f + 3 * ((c + 1) % 3);
      segments.set(corners.subarray(f + 3 * c, f + 3 * c + 3), 2 * f + 6 * c);
      segments.set(corners.subarray(next, next + 3), 2 * f + 6 * c + 3);
    }
  }
  return segments;
}

const SAID = {
  source: {
    seen: "seen by the scan",
    between: "between: beside what was seen",
    unseen: "made up: the scan saw nothing there",
  },
  distance: "How far the template is from the scan, as a share of √area. Grey: not seen, so there is nothing to compare with.",
  error: "Expected distance of a vertex from its true position, as a share of √area.",
};

export function fitLegend(scene, state) {
  const { fit } = scene, { coat } = state.fit, { meta } = fit;
  const made = coat === "source" ? meta.sources.map(({ name, color, share }) => key(color, `${SAID.source[name]}, ${percent(share)}`)) : [];
  if (coat !== "source") {
    const end = limitOf(fit.numbers(coat), state.shown);
    const limits = ["0", `${percent(end)} or more, ${lengthOf(end * fit.length)}`];
    made.push(...legendElements({ table: tableOf("bad", state.shown), limits, text: SAID[coat] }));
  }
  if (state.fit.opacity > 0) made.push(key(SCAN, "the scan, over the template"));
  if (meta.turned_over) made.push(key(BAD.turned_over, `turned over: ${count(meta.turned_over, "triangle")}`));
  if (meta.crossing) made.push(key(BAD.crossing, `intersecting: ${count(meta.crossing, "pair")} of triangles`));
  if (!meta.turned_over && !meta.crossing) made.push(element("p", "No triangle turned over, and none go through each other."));
  return made;
}

function count(number, what) {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

function lengthOf(x) {
  return String(Number(x.toPrecision(2)));
}

/** The vertices that were chosen on the scan and on the template. */
export function fitDetails(scene, state) {
  const { fit } = scene, place = fittedVertex(scene, state);
  if (state.picked === null && place === null) return [element("p", "Click a vertex of the scan or of the template.")];
  const rows = [];
  if (state.picked !== null) rows.push(["vertex of the scan", scene.part.number(state.picked)]);
  if (place === null) rows.push(["on the template", "lies apart from it"]);
  else {
    const { fit_distance: distance, fit_expected_error: error } = fit.arrays;
    rows.push(["vertex of the template", fit.surface.number(place)], ["source", fit.sourceOf(place).name]);
    rows.push(["distance to the scan", withShare(distance[place], fit)], ["expected error", withShare(error[place], fit)]);
  }
  return [list(rows.map(([name, value]) => [name, String(value)]))];
}

function withShare(x, fit) {
  return `${lengthOf(x)} (${lengthOf((100 * x) / fit.length)} %)`;
}
