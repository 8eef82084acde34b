// What is shown, made from what Python sent.

import { placesInBox } from "./coats.js";
import { Fit } from "./fit.js";
import { Surface } from "./surface.js";

export class Scene {
  constructor({ meta, arrays }) {
    this.meta = meta;
    this.arrays = arrays;
    this.part = meta.part ? new Surface("part", meta.part, arrays) : null;
    this.whole = meta.whole ? new Surface("whole", meta.whole, arrays) : null;
    this.fit = meta.fit ? new Fit({ meta, arrays }, this.part) : null;
    this.map = arrays.map ?? null;
    this.before = arrays.before ?? null;
    this.confidence = arrays.confidence ?? null;
    this.doubtful = arrays.doubtful ?? null;
    this.parts = meta.parts ?? null; // two parts, neither of them whole
    this.places = this.whole ? placesInBox(this.whole) : null;
  }

  /** The map for all vertices of the part as it was given, in the numbers of the user's files. */
  fullMap(name = "map") {
    return this.arrays[`full_${name}`] ?? this.arrays[name] ?? null;
  }

  /** Whether a vertex has a match: always, but for what only one of two parts has. */
  isShared(role, vertex) {
    return !this.parts || Boolean(this.arrays[`${role}_shared`][vertex]);
  }

  /** The vertex of the part whose match lies nearest to a vertex of the whole. */
  vertexMatchedTo(target) {
    let best = -1, nearest = Infinity;
    for (let v = 0; v < this.map.length; v++) {
      if (!this.isShared("part", v)) continue;
      const apart = this.whole.distance(this.map[v], target);
      if (apart < nearest) [best, nearest] = [v, apart];
    }
    return best;
  }
}
