// What surfaces are painted with: colours, a texture, numbers, regions. `paint` holds three numbers a vertex.

export const PLAIN = hex("#c9ced6");
export const NOT_GUARANTEED = hex("#d3d5d8");
export const GUARANTEED = { boundary: hex("#e0a13a"), wormhole: hex("#3f8fd2"), same_loop: hex("#3aa27e") };
export const BOUNDARY = hex("#22252b");
export const BOUNDARY_IN_THE_DARK = hex("#f4f6fa");
export const CHOSEN = hex("#d7263d");
export const OTHER = hex("#1d4ed8");
export const PATH = hex("#6b2fa0");
export const STRAIGHT = hex("#e4572e");
export const BAD = { turned_over: hex("#d7263d"), crossing: hex("#a020a0") }; // triangles

// lowest value first; dark to bright, readable by those who do not tell red from green
const STOPS = {
  good: ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725"],
  bad: ["#f4f1e8", "#f6d39a", "#f0a35e", "#dd6a4b", "#b33a52", "#74214f", "#3a0f3d"],
  grey: ["#161616", "#f2f2f2"],
};

export function hex(text) {
  return [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16) / 255);
}

export function css(color) {
  return `rgb(${color.map((c) => Math.round(255 * c)).join(" ")})`;
}

function ramp(stops) {
  const table = new Uint8Array(4 * 256);
  for (let k = 0; k < 256; k++) {
    const t = (k / 255) * (stops.length - 1), low = Math.min(Math.floor(t), stops.length - 2);
    const [a, b] = [hex(stops[low]), hex(stops[low + 1])];
    for (let d = 0; d < 3; d++) table[4 * k + d] = Math.round(255 * (a[d] + (t - low) * (b[d] - a[d])));
    table[4 * k + 3] = 255;
  }
  return table;
}

export const TABLES = Object.fromEntries(Object.entries(STOPS).map(([name, stops]) => [name, ramp(stops)]));

/** The colour maps to choose from. */
export const COLOR_MAPS = { own: "of the view", good: "viridis", bad: "light to dark", grey: "grey" };

export function gradient(name) {
  return `linear-gradient(to right, ${STOPS[name].join(", ")})`;
}

export function plainCoat() {
  return { mode: "plain", plain: PLAIN };
}

/** Where a vertex of the whole lies in the box around it, from 0 to 1 on each axis. */
export function placesInBox(surface) {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (const v of surface.faces) {
    for (let d = 0; d < 3; d++) {
      low[d] = Math.min(low[d], surface.vertices[3 * v + d]);
      high[d] = Math.max(high[d], surface.vertices[3 * v + d]);
    }
  }
  const places = new Float32Array(surface.vertices.length);
  for (let k = 0; k < places.length; k++) {
    const d = k % 3;
    places[k] = Math.max(0, Math.min(1, (surface.vertices[k] - low[d]) / (high[d] - low[d] || 1)));
  }
  return { places, size: high.map((h, d) => h - low[d]) };
}

/** A colour for every place of the whole: nearby places have similar ones. */
export function colorPaint(places) {
  return places.map((x) => 0.14 + 0.8 * x);
}

/** Texture coordinates on the whole: its front, with the vertical axis upwards, and the depth as a third number. */
export function texturePaint({ places, size }, up) {
  const third = "xyz".indexOf(up);
  const ground = [0, 1, 2].filter((d) => d !== third).sort((a, b) => size[b] - size[a]);
  const largest = Math.max(size[third], size[ground[0]]) || 1;
  const paint = new Float32Array(places.length);
  for (let v = 0; v < places.length; v += 3) {
    paint[v] = 0.5 + ((places[v + ground[0]] - 0.5) * size[ground[0]]) / largest;
    paint[v + 1] = 0.5 + ((places[v + third] - 0.5) * size[third]) / largest;
    paint[v + 2] = places[v + ground[1]];
  }
  return paint;
}

/** What the whole is painted with, carried to the part by a map. */
export function carried(paint, map) {
  const result = new Float32Array(3 * map.length);
  for (let v = 0; v < map.length; v++) result.set(paint.subarray(3 * map[v], 3 * map[v] + 3), 3 * v);
  return result;
}

/** Numbers between two limits; those that are not finite stay plain, `marked` ones get stripes. */
export function valuePaint(values, [low, high], marked = null) {
  const paint = new Float32Array(3 * values.length);
  for (let v = 0; v < values.length; v++) {
    const share = (values[v] - low) / (high - low || 1);
    // between two vertices numbers are interpolated, and infinity can't be
    paint[3 * v] = Number.isNaN(share) ? 0 : Math.max(-1, Math.min(2, share));
    paint[3 * v + 1] = Number.isNaN(values[v]) ? 0 : 1;
    paint[3 * v + 2] = marked && marked[v] ? 1 : 0;
  }
  return paint;
}

/** Positive where D ≤ K (1 + rtol), with its zero between vertices where the margin changes sign. */
export function regionPaint(distances, threshold, vertex, rtol) {
  const paint = new Float32Array(3 * distances.length);
  let scale = 0;
  const margin = distances.map((d, v) => {
    const m = Number.isFinite(d) ? threshold[v] * (1 + rtol) - d : -Infinity;
    if (Number.isFinite(m)) scale = Math.max(scale, Math.abs(m));
    return m;
  });
  for (let v = 0; v < margin.length; v++) {
    const m = Math.max(-1, Math.min(1, margin[v] / (scale || 1)));
    paint[3 * v] = m >= 0 ? Math.max(m, 1e-6) : m;
  }
  paint[3 * vertex] = Math.max(paint[3 * vertex], 0.02);
  return paint;
}

/** Red, green, blue of each vertex, from 0 to 255, as the coat shows them without light. */
export function colorsOf(coat, count, pictured = null) {
  const colors = new Uint8Array(3 * count);
  for (let v = 0; v < count; v++) {
    let color = coat.plain;
    const [a, b, c] = coat.paint ? coat.paint.subarray(3 * v, 3 * v + 3) : [0, 0, 0];
    if (coat.mode === "color") color = [a, b, c];
    if (coat.mode === "region" && a > 0) color = coat.accent;
    if (coat.mode === "value" && b > 0.5) {
      const k = 4 * Math.round(255 * Math.max(0, Math.min(1, a)));
      color = [...coat.table.subarray(k, k + 3)].map((x) => x / 255);
    }
    if (coat.mode === "texture" && pictured) color = pixelAt(pictured, a, 1 - b);
    else if (coat.mode === "texture") {
      const odd = (Math.floor(14 * a) + Math.floor(14 * b)) % 2;
      color = [a, b, c].map((x) => (odd ? 0.65 * (0.25 + 0.7 * x) + 0.35 : 0.55 * (0.25 + 0.7 * x)));
    }
    for (let d = 0; d < 3; d++) colors[3 * v + d] = Math.round(255 * Math.max(0, Math.min(1, color[d])));
  }
  return colors;
}

/** The colour at a place of a picture, from 0 to 1 to the right and down; it repeats beyond. */
function pixelAt({ data, width, height }, x, y) {
  const column = Math.floor((x - Math.floor(x)) * width) % width, row = Math.floor((y - Math.floor(y)) * height) % height;
  return [0, 1, 2].map((d) => data[4 * (row * width + column) + d] / 255);
}

/** A limit that most values keep: the largest of all but the highest hundredth, rounded up to one digit. */
export function niceLimit(numbers) {
  const finite = Array.from(numbers).filter(Number.isFinite);
  if (!finite.length) return 1;
  finite.sort((a, b) => a - b);
  const high = finite[Math.floor(0.99 * (finite.length - 1))];
  if (!(high > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(high));
  return Math.ceil(high / unit) * unit;
}
