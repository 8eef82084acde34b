// Texts about the chosen vertices, and the legend.

import { NOT_GUARANTEED, OTHER, PATH, STRAIGHT, css, gradient } from "./coats.js";
import { element } from "./dom.js";
import { RTOL, percent } from "./views.js";

export const METHODS = { fast_marching: "by fast marching", dijkstra: "along edges", exact: "exact" };

/** Whether guaranteed pairs are proved consistent, with distances of this kind; as `what_holds` of the command line. */
function whatHolds(scene, { method, isSound }) {
  if (scene.part.meta.unproved) return `Not proved: ${scene.part.meta.unproved}.`;
  const provided = "provided that is a manifold and the part consists of some of its faces.";
  if (method === "dijkstra") return `Proved: a guaranteed pair has the same distance along edges on the whole, ${provided}`;
  if (method === "exact" && isSound) return `Proved: a guaranteed pair has the same geodesic distance on the whole, ${provided}`;
  if (method === "exact") return "Not proved: a path may leave the part inside a boundary edge. Distances along edges give a proof, and so does --sound.";
  return "Not proved: fast marching is approximate; a pair may be wrong where its error exceeds the margin. Distances along edges give a proof.";
}

function isProved(scene, engine) {
  return whatHolds(scene, engine).startsWith("Proved");
}

export function list(rows) {
  const made = document.createElement("dl");
  for (const [name, value] of rows) made.append(element("dt", name), element("dd", value));
  return made;
}

function length(value, digits = 4) {
  return Number.isFinite(value) ? value.toPrecision(digits) : "∞";
}

/** The vertex that was chosen and its match. */
export function matchDetails(scene, state) {
  if (scene.parts) return [partnerDetails(scene, state.picked)];
  if (state.picked === null) return [element("p", "Click a vertex of the part, or of the whole, to see where it goes.")];
  const v = state.picked;
  const rows = [["vertex of the part", scene.part.number(v)]];
  if (scene.map) {
    rows.push(["its match on the whole", scene.fullMap()[scene.part.number(v)]]);
    if (scene.before && scene.before[v] !== scene.map[v]) {
      rows.push(["match before refinement", scene.fullMap("before")[scene.part.number(v)]]);
    }
    if (scene.confidence) rows.push(["confidence", scene.confidence[v].toFixed(3)]);
    if (scene.doubtful) rows.push(["doubtful", scene.doubtful[v] ? "yes" : "no"]);
    const error = state.found.errors?.errors[v];
    if (error !== undefined) rows.push(["error", Number.isNaN(error) ? "truth not known" : percent(error)]);
    const distortion = state.found.distortion?.distortion;
    if (distortion) rows.push(["distortion", Number.isNaN(distortion[v]) ? "no guaranteed pair" : percent(distortion[v])]);
  }
  return [list(rows.map(([name, value]) => [name, String(value)]))];
}

/** A vertex of the first of two parts, and its partner on the second. */
function partnerDetails(scene, v) {
  if (v === null) return element("p", "Click a vertex of either part to see its partner.");
  const partner = scene.isShared("part", v) ? scene.fullMap()[scene.part.number(v)] : "none";
  const rows = [["vertex of the first part", scene.part.number(v)], ["its partner on the second", partner]];
  rows.push(["is on both, with probability", scene.arrays.part_overlap[v].toFixed(2)], ["confidence", scene.confidence[v].toFixed(2)]);
  return list(rows.map(([name, value]) => [name, String(value)]));
}

/** What is guaranteed with the chosen vertex, and what decided the pair with the other. */
export function trustDetails(scene, state, engine) {
  const row = state.found.trust;
  if (state.picked === null) return [element("p", "Click a vertex of the part to see which distances to it can be trusted.")];
  if (!row) return [element("p", "measuring…")];
  const said = [element("p", whatHolds(scene, engine))];
  if (row.noSameLoop) said.push(element("p", `C_L does not apply: ${row.noSameLoop}`));
  else said.push(element("p", scene.whole ? "C_L applies, since the whole is a sphere." : "C_L holds if the whole is a sphere."));
  if (state.other === null) {
    said.push(element("p", Number(row.shares.wormhole) === 1 ? "Every distance to this vertex is guaranteed." : ""));
    return said;
  }
  const j = state.other, D = row.distances[j];
  const verdict = (kind) => {
    const K = row[kind][j];
    return `${Number.isFinite(D) && D <= K * (1 + RTOL) ? "guaranteed" : "not guaranteed"}, K = ${length(K, 3)}`;
  };
  const rows = [
    ["vertices", `${scene.part.number(state.picked)} and ${scene.part.number(j)}`],
    ["distance D", `${length(D)} on the part`],
    ["C_T", verdict("boundary")],
    ["C_W", verdict("wormhole")],
  ];
  if (row.same_loop) rows.push(["C_L", verdict("same_loop")]);
  rows.push(["soft mask", row.soft[j].toFixed(3)]);
  said.push(list(rows));
  const hole = state.found.pair?.wormhole;
  if (hole && state.found.pair.other === j) {
    const sum = hole.to_boundary + hole.across + hole.from_boundary;
    const shorter = sum * (1 + RTOL) < D;
    const therefore = isProved(scene, engine) ? ", which is therefore right." : ": guaranteed, and not proved, as said above.";
    said.push(element("p",
      `A path through the missing region could leave at ${scene.part.number(hole.leaves)} and come back at ` +
      `${scene.part.number(hole.returns)}: at least ${length(hole.to_boundary)} + ${length(hole.across)} + ` +
      `${length(hole.from_boundary)} = ${length(sum)}, ${shorter ? "less than the distance on the part, so nothing is proved." : `not less than the distance on the part${therefore}`}`));
  }
  return said;
}

/** What is guaranteed for the vertex under the pointer, in a few words. */
export function trustWords(number, row, vertex) {
  const names = Object.entries({ boundary: "C_T", wormhole: "C_W", same_loop: "C_L" });
  const by = names.filter(([kind]) => row.coats[kind] && row.coats[kind].paint[3 * vertex] > 0).map(([, name]) => name);
  return `vertex ${number}, ${by.length ? `guaranteed by ${by.join(", ")}` : `not guaranteed, soft mask ${row.soft[vertex].toFixed(2)}`}`;
}

/** Where the map is doubtful, the largest piece first; a button each, to look at it. */
export function placeButtons(scene, look) {
  const places = (scene.meta.doubtful_places ?? []).slice(0, 6);
  if (!places.length) return [];
  const buttons = places.map(({ vertex, area_share, confidence }) => {
    const button = element("button", `${percent(area_share)} of the area, confidence ${confidence.toFixed(2)}`);
    button.type = "button";
    button.addEventListener("click", () => look(vertex));
    return button;
  });
  return [element("h2", "Doubtful places"), ...buttons];
}

/** The question whether part and whole are swapped; where they can be, with a button that does it. */
export function swappedElement(question, live) {
  const asked = element("p", question[0].toUpperCase() + question.slice(1));
  if (!live) return asked;
  const button = element("button", "Swap them");
  button.type = "button";
  button.dataset.action = "swap";
  asked.append(" ", button);
  return asked;
}

export function key(color, text) {
  const made = document.createElement("div");
  made.className = "key";
  const swatch = document.createElement("i");
  swatch.style.background = css(color);
  made.append(swatch, element("span", text));
  return made;
}

export function legendElements(said) {
  if (!said) return [];
  const made = [];
  if (said.table) {
    const bar = document.createElement("div");
    bar.className = "bar";
    bar.style.background = gradient(said.table);
    const ends = document.createElement("div");
    ends.className = "ends";
    ends.append(...said.limits.map((limit) => element("span", limit)));
    made.push(bar, ends);
  }
  if (said.text) made.push(element("p", said.text));
  return made;
}

export function trustLegend(scene, state, engine) {
  const text = "Coloured: the distance to the chosen vertex is guaranteed to be that on the whole";
  const made = [element("p", isProved(scene, engine) ? `${text}.` : `${text}, which is not proved.`)];
  made.push(key(NOT_GUARANTEED, "nothing is known"));
  if (state.other !== null) {
    made.push(key(OTHER, "the other vertex"), key(PATH, "shortest path to it on the part"));
    made.push(key(STRAIGHT, "the wormhole that decided; dashed: straight"));
  }
  made.push(...legendElements({ table: "good", limits: ["0", "soft mask", "1"] }));
  return made;
}
