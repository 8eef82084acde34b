// Distances and criteria for the vertex that was clicked: from the server, or measured here, along edges.

import { askArrays } from "./data.js";

/** Asks the server behind the page. */
export class LiveEngine {
  constructor(scene) {
    this.note = "";
    this.sound = scene.meta.sound;
    this.method = this.chosen = scene.meta.method;
    this.methods = [...new Set([this.chosen, "fast_marching", "dijkstra"])];
  }

  /** Boundary edges are allowed for with the method that was chosen at the start. */
  get isSound() {
    return this.sound && this.method === this.chosen;
  }

  async trust(vertex) {
    const { meta, arrays } = await askArrays("/trust", { vertex, method: this.method });
    return { ...arrays, noSameLoop: meta.no_same_loop };
  }

  async pair(vertex, other) {
    const { meta, arrays } = await askArrays("/pair", { vertex, other, method: this.method });
    return { wormhole: meta.wormhole, ...arrays };
  }

  async rings(vertex) {
    return (await askArrays("/rings", { vertex })).arrays;
  }

  async distortion() {
    return (await askArrays("/distortion")).arrays;
  }

  async errors() {
    return (await askArrays("/errors")).arrays;
  }
}

/** Does the same without a server. The criteria are those of criterion/thresholds.py, with distances along edges. */
export class LocalEngine {
  constructor(scene, tell) {
    this.scene = scene;
    this.tell = tell;
    this.boundary = null;
    this.method = "dijkstra";
    this.methods = [this.method];
    this.isSound = false;
    const proved = scene.part && !scene.part.meta.unproved;
    this.note = `This is a report: distances are measured in the browser, along edges${proved ? ", which is what the criteria are proved for" : ""}.`;
  }

  async trust(vertex) {
    const { part } = this.scene;
    const { fields, straight, chained } = await this.#measured();
    const distances = part.distancesFrom(vertex);
    const boundary = new Float64Array(part.size).fill(Infinity);
    for (const field of fields) {
      for (let v = 0; v < part.size; v++) if (field[v] < boundary[v]) boundary[v] = field[v];
    }
    const here = boundary[vertex];
    const row = { distances, boundary: boundary.map((d) => d + here), noSameLoop: this.scene.meta.no_same_loop };
    row.wormhole = thresholdRow(fields, straight, vertex, part.size);
    if (chained) row.same_loop = thresholdRow(fields, chained, vertex, part.size);
    return row;
  }

  async pair(vertex, other) {
    const { part } = this.scene;
    const { fields, straight } = await this.#measured();
    const geodesic = part.descend(part.distancesFrom(vertex), other);
    const count = fields.length;
    let best = Infinity, out = -1, back = -1;
    for (let a = 0; a < count; a++) {
      for (let b = 0; b < count; b++) {
        const length = fields[a][vertex] + straight[a * count + b] + fields[b][other];
        if (length < best) [best, out, back] = [length, a, b];
      }
    }
    if (out < 0) return { wormhole: null, geodesic };
    const wormhole = {
      leaves: part.boundaryVertices[out],
      returns: part.boundaryVertices[back],
      to_boundary: fields[out][vertex],
      across: straight[out * count + back],
      from_boundary: fields[back][other],
    };
    return { wormhole, geodesic, out: part.descend(fields[out], vertex), back: part.descend(fields[back], other) };
  }

  async rings(vertex) {
    const { part, whole, map } = this.scene;
    const found = { part: Float32Array.from(part.distancesFrom(vertex)) };
    if (whole && map) found.whole = Float32Array.from(whole.distancesFrom(map[vertex]));
    return found;
  }

  async distortion() {
    return this.scene.arrays;
  }

  async errors() {
    return this.scene.arrays;
  }

  /** Distances from the boundary and the lengths across the missing region, once; the page stays responsive meanwhile. */
  #measured() {
    this.boundary ??= this.#measure();
    return this.boundary;
  }

  async #measure() {
    const { part, meta } = this.scene;
    const numbers = part.boundaryVertices, count = numbers.length;
    const fields = [];
    let rested = performance.now();
    for (const b of numbers) {
      fields.push(part.distancesFrom(b));
      if (performance.now() - rested > 60) {
        this.tell(`measuring from the boundary: ${fields.length} of ${count}`);
        await new Promise((go) => setTimeout(go));
        rested = performance.now();
      }
    }
    const straight = new Float64Array(count * count);
    for (let a = 0; a < count; a++) {
      for (let b = 0; b < count; b++) straight[a * count + b] = part.distance(numbers[a], numbers[b]);
    }
    const chained = meta.no_same_loop || !count ? null : chainedJumps(part, fields, straight);
    this.tell("");
    return { fields, straight, chained };
  }
}

/** K_j = min over b₁, b₂ of d(i, b₁) + across(b₁, b₂) + d(b₂, j). */
function thresholdRow(fields, across, vertex, size) {
  const count = fields.length, row = new Float64Array(size).fill(Infinity);
  for (let b = 0; b < count; b++) {
    let through = Infinity;
    for (let a = 0; a < count; a++) through = Math.min(through, fields[a][vertex] + across[a * count + b]);
    const field = fields[b];
    for (let v = 0; v < size; v++) if (through + field[v] < row[v]) row[v] = through + field[v];
  }
  return row;
}

/** As `Boundary.chained`: jumps within a loop, moves between loops, as often as there are loops. */
function chainedJumps(part, fields, straight) {
  const labels = part.boundaryLabels, count = labels.length;
  const jump = straight.map((s, k) => (labels[Math.floor(k / count)] === labels[k % count] ? s : Infinity));
  const move = straight.map((_, k) => {
    const a = Math.floor(k / count), b = k % count;
    return labels[a] === labels[b] ? Infinity : fields[a][part.boundaryVertices[b]];
  });
  const step = minPlus(move, jump, count);
  let chain = jump;
  for (let loops = new Set(labels).size; loops > 1; loops--) {
    const longer = minPlus(chain, step, count);
    let changed = false;
    for (let k = 0; k < longer.length; k++) {
      if (longer[k] < chain[k]) changed = true;
      else longer[k] = chain[k];
    }
    if (!changed) break;
    chain = longer;
  }
  return chain.map((c, k) => Math.max(c, straight[k]));
}

function minPlus(a, b, count) {
  const c = new Float64Array(count * count).fill(Infinity);
  for (let i = 0; i < count; i++) {
    for (let k = 0; k < count; k++) {
      const x = a[i * count + k];
      if (x === Infinity) continue;
      for (let j = 0; j < count; j++) {
        const y = x + b[k * count + j];
        if (y < c[i * count + j]) c[i * count + j] = y;
      }
    }
  }
  return c;
}
