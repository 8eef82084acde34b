// A surface in the browser: normals, neighbours, distances along edges, and what lies under the pointer.

const CELLS = 1500; // of the grid that a surface is drawn with while it turns slowly, about
const FACING = 0.3; // cosine of the angle to the eye under which a place is still seen well
const TRIED = 64; // vertices of which one is to be shown, if they can be seen
const MEASURED = 16; // of them, at most

export class Surface {
  constructor(role, meta, arrays) {
    this.role = role;
    this.meta = meta;
    this.vertices = arrays[`${role}_vertices`];
    this.faces = arrays[`${role}_faces`];
    this.boundary = arrays[`${role}_boundary`];
    this.boundaryVertices = arrays[`${role}_boundary_vertices`];
    this.boundaryLabels = arrays[`${role}_boundary_labels`];
    this.numbers = arrays[`${role}_numbers`] ?? null;
    this.size = this.vertices.length / 3;
    this.normals = vertexNormals(this.vertices, this.faces, meta.inwards ? -1 : 1);
    let largest = 0;
    for (const f of this.faces) {
      largest = Math.max(largest, Math.hypot(...this.point(f)));
    }
    this.radius = largest || 1;
    this.edges = null;
    this.coarse = null;
  }

  /** Move the vertices; what depends on where they are is made anew. */
  move(vertices) {
    this.vertices = vertices;
    this.normals = vertexNormals(vertices, this.faces, this.meta.inwards ? -1 : 1);
    this.segments = this.boundarySegments = this.edges = null;
  }

  /** Fewer triangles between the same vertices: in each cell of a grid one vertex stands for all. */
  get coarseFaces() {
    this.coarse ??= clustered(this, Math.sqrt(this.meta.area / CELLS));
    return this.coarse;
  }

  /** All edges, six numbers each. */
  get edgeSegments() {
    if (this.segments) return this.segments;
    const { first, to } = this.neighbours(), ends = [];
    for (let v = 0; v < this.size; v++) {
      for (let k = first[v]; k < first[v + 1]; k++) if (to[k] > v) ends.push(...this.point(v), ...this.point(to[k]));
    }
    this.segments = new Float32Array(ends);
    return this.segments;
  }

  /** The number that a vertex has in the user's file. */
  number(vertex) {
    return this.numbers ? this.numbers[vertex] : vertex;
  }

  /** The vertex that is drawn for a number of the user's file, or the nearest number that is drawn. */
  vertexOf(number) {
    if (!this.numbers) return number;
    let best = 0;
    for (let k = 1; k < this.size; k++) {
      if (Math.abs(this.numbers[k] - number) < Math.abs(this.numbers[best] - number)) best = k;
    }
    return best;
  }

  point(vertex) {
    return [this.vertices[3 * vertex], this.vertices[3 * vertex + 1], this.vertices[3 * vertex + 2]];
  }

  normal(vertex) {
    return [...this.normals.subarray(3 * vertex, 3 * vertex + 3)];
  }

  distance(u, v) {
    const x = this.vertices;
    return Math.hypot(x[3 * u] - x[3 * v], x[3 * u + 1] - x[3 * v + 1], x[3 * u + 2] - x[3 * v + 2]);
  }

  /** Neighbours and lengths of the edges to them: those of v are at first[v] to first[v + 1]. */
  neighbours() {
    if (this.edges) return this.edges;
    const n = this.size;
    const pairs = new Set();
    for (let f = 0; f < this.faces.length; f += 3) {
      for (let c = 0; c < 3; c++) {
        const u = this.faces[f + c], v = this.faces[f + ((c + 1) % 3)];
        pairs.add(Math.min(u, v) * n + Math.max(u, v));
      }
    }
    const first = new Uint32Array(n + 1);
    for (const key of pairs) {
      first[Math.floor(key / n) + 1]++;
      first[(key % n) + 1]++;
    }
    for (let v = 0; v < n; v++) first[v + 1] += first[v];
    const next = first.slice(0, n), to = new Uint32Array(first[n]), length = new Float64Array(first[n]);
    for (const key of pairs) {
      const u = Math.floor(key / n), v = key % n;
      const apart = this.distance(u, v);
      to[next[u]] = v;
      length[next[u]++] = apart;
      to[next[v]] = u;
      length[next[v]++] = apart;
    }
    this.edges = { first, to, length };
    return this.edges;
  }

  /** Distances along edges from the nearest of some vertices, by Dijkstra's algorithm; Infinity where there is no path. */
  distancesFrom(...sources) {
    const { first, to, length } = this.neighbours();
    const distance = new Float64Array(this.size).fill(Infinity);
    const heap = new Heap(this.size);
    for (const source of sources) {
      distance[source] = 0;
      heap.push(source, 0);
    }
    while (heap.count) {
      const near = heap.keys[0];
      const v = heap.pop();
      if (near > distance[v]) continue;
      for (let k = first[v]; k < first[v + 1]; k++) {
        const through = near + length[k];
        if (through < distance[to[k]]) {
          distance[to[k]] = through;
          heap.push(to[k], through);
        }
      }
    }
    return distance;
  }

  /** A vertex that is seen from a direction, and of some of those the one with which the boundary criterion guarantees most. */
  tellingVertex(eye) {
    const away = this.distancesFrom(...this.boundaryVertices);
    const turned = (v) => this.normal(v).reduce((sum, n, d) => sum + n * eye[d], 0);
    const down = eye.map((x) => -x);
    const seen = (v) => turned(v) > FACING && this.hit(this.point(v).map((x, d) => x + 3 * this.radius * eye[d]), down) === v;
    const used = [...new Set(this.faces)];
    const far = used.filter((v) => Number.isFinite(away[v])).sort((u, v) => away[v] - away[u]);
    // with the half that is near the boundary little is guaranteed; where there is no boundary, one is as good as another
    const deep = far.length ? far.slice(0, Math.ceil(far.length / 2)) : used;
    const spread = Array.from({ length: Math.min(TRIED, deep.length) }, (_, k) => deep[Math.floor((k * deep.length) / Math.min(TRIED, deep.length))]);
    const inSight = spread.filter(seen);
    let best = 0, most = -1;
    for (const v of (inSight.length ? inSight : spread).slice(0, MEASURED)) {
      const count = this.distancesFrom(v).reduce((sum, d, u) => sum + (d <= away[v] + away[u]), 0);
      if (count > most) [best, most] = [v, count];
    }
    return best;
  }

  /** The path from a vertex down to where `distances` are 0, along edges, as coordinates one after the other. */
  descend(distances, start) {
    const { first, to, length } = this.neighbours();
    const path = [...this.point(start)];
    let v = start;
    while (distances[v] > 0 && Number.isFinite(distances[v])) {
      let best = -1, cost = Infinity;
      for (let k = first[v]; k < first[v + 1]; k++) {
        if (distances[to[k]] < distances[v] && distances[to[k]] + length[k] < cost) {
          best = to[k];
          cost = distances[best] + length[k];
        }
      }
      if (best < 0) break;
      v = best;
      path.push(...this.point(v));
    }
    return new Float32Array(path);
  }

  /** The vertex nearest to where a ray first meets the surface; -1 if it does not. */
  hit(origin, direction) {
    const x = this.vertices, faces = this.faces;
    const [ox, oy, oz] = origin, [dx, dy, dz] = direction;
    let nearest = Infinity, vertex = -1;
    for (let f = 0; f < faces.length; f += 3) {
      const a = 3 * faces[f], b = 3 * faces[f + 1], c = 3 * faces[f + 2];
      const ux = x[b] - x[a], uy = x[b + 1] - x[a + 1], uz = x[b + 2] - x[a + 2];
      const vx = x[c] - x[a], vy = x[c + 1] - x[a + 1], vz = x[c + 2] - x[a + 2];
      const px = dy * vz - dz * vy, py = dz * vx - dx * vz, pz = dx * vy - dy * vx;
      const det = ux * px + uy * py + uz * pz;
      if (det === 0) continue;
      const sx = ox - x[a], sy = oy - x[a + 1], sz = oz - x[a + 2];
      const s = (sx * px + sy * py + sz * pz) / det;
      if (s < 0 || s > 1) continue;
      const qx = sy * uz - sz * uy, qy = sz * ux - sx * uz, qz = sx * uy - sy * ux;
      const t = (dx * qx + dy * qy + dz * qz) / det;
      if (t < 0 || s + t > 1) continue;
      const along = (vx * qx + vy * qy + vz * qz) / det;
      if (along > 0 && along < nearest) {
        nearest = along;
        const r = 1 - s - t;
        vertex = r >= s && r >= t ? faces[f] : s >= t ? faces[f + 1] : faces[f + 2];
      }
    }
    return vertex;
  }
}

/** Triangles whose corners lie in three cells of a grid, each corner moved to the vertex nearest to the middle of its cell. */
function clustered(surface, cell) {
  const { vertices, faces, size } = surface;
  const chosen = new Map(), cellOf = new Array(size), off = new Float32Array(size);
  for (let v = 0; v < size; v++) {
    let key = "";
    for (let c = 0; c < 3; c++) {
      const place = vertices[3 * v + c] / cell;
      key += `${Math.floor(place)},`;
      off[v] += Math.abs(place - Math.floor(place) - 0.5);
    }
    cellOf[v] = key;
    const other = chosen.get(key);
    if (other === undefined || off[v] < off[other]) chosen.set(key, v);
  }
  const kept = [];
  for (let f = 0; f < faces.length; f += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => chosen.get(cellOf[faces[f + k]]));
    if (a !== b && b !== c && c !== a) kept.push(a, b, c);
  }
  // what is smaller than its grid is drawn as it is
  return kept.length ? new Uint32Array(kept) : faces;
}

/** A binary heap of vertices; one that was pushed again with a smaller key is popped twice. */
class Heap {
  constructor(size) {
    this.keys = new Float64Array(8 * size + 16);
    this.items = new Uint32Array(8 * size + 16);
    this.count = 0;
  }

  push(item, key) {
    if (this.count === this.keys.length) {
      const keys = new Float64Array(2 * this.count), items = new Uint32Array(2 * this.count);
      keys.set(this.keys);
      items.set(this.items);
      Object.assign(this, { keys, items });
    }
    let k = this.count++;
    while (k > 0) {
      const parent = (k - 1) >> 1;
      if (this.keys[parent] <= key) break;
      this.keys[k] = this.keys[parent];
      this.items[k] = this.items[parent];
      k = parent;
    }
    this.keys[k] = key;
    this.items[k] = item;
  }

  pop() {
    const top = this.items[0];
    const key = this.keys[--this.count], item = this.items[this.count];
    let k = 0;
    for (;;) {
      let child = 2 * k + 1;
      if (child >= this.count) break;
      if (child + 1 < this.count && this.keys[child + 1] < this.keys[child]) child++;
      if (this.keys[child] >= key) break;
      this.keys[k] = this.keys[child];
      this.items[k] = this.items[child];
      k = child;
    }
    this.keys[k] = key;
    this.items[k] = item;
    return top;
  }
}

function vertexNormals(x, faces, sign) {
  const normals = new Float32Array(x.length);
  for (let f = 0; f < faces.length; f += 3) {
    const a = 3 * faces[f], b = 3 * faces[f + 1], c = 3 * faces[f + 2];
    const ux = x[b] - x[a], uy = x[b + 1] - x[a + 1], uz = x[b + 2] - x[a + 2];
    const vx = x[c] - x[a], vy = x[c + 1] - x[a + 1], vz = x[c + 2] - x[a + 2];
    const n = [sign * (uy * vz - uz * vy), sign * (uz * vx - ux * vz), sign * (ux * vy - uy * vx)];
    for (const corner of [a, b, c]) {
      for (let d = 0; d < 3; d++) normals[corner + d] += n[d];
    }
  }
  for (let k = 0; k < normals.length; k += 3) {
    const length = Math.hypot(normals[k], normals[k + 1], normals[k + 2]) || 1;
    for (let d = 0; d < 3; d++) normals[k + d] /= length;
  }
  return normals;
}
