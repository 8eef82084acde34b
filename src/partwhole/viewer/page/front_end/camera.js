// Where a surface is looked at from: two angles, a zoom and a shift. Angles mean what they mean in viewer/camera.py.

const GROUND = { x: [1, 2], y: [2, 0], z: [0, 1] };
const FOCAL = 1 / Math.tan(Math.PI / 12);
const DISTANCE = 5; // of the eye, in radii of the surface
const MARGIN = 0.08;

export class OrbitCamera {
  constructor(view) {
    this.up = view.up;
    this.start = { azimuth: view.azimuth, elevation: view.elevation };
    this.reset();
    this.remember();
  }

  reset() {
    Object.assign(this, this.start, { zoom: 1, shift: [0, 0], fitted: false, held: false });
  }

  /** To the right, upwards, towards the eye. */
  axes() {
    const azimuth = (this.azimuth * Math.PI) / 180, elevation = (this.elevation * Math.PI) / 180;
    const [first, second] = GROUND[this.up], third = "xyz".indexOf(this.up);
    const eye = [0, 0, 0], right = [0, 0, 0];
    eye[third] = Math.sin(elevation);
    eye[first] = Math.cos(elevation) * Math.cos(azimuth);
    eye[second] = Math.cos(elevation) * Math.sin(azimuth);
    right[first] = -Math.sin(azimuth);
    right[second] = Math.cos(azimuth);
    const up = [
      eye[1] * right[2] - eye[2] * right[1],
      eye[2] * right[0] - eye[0] * right[2],
      eye[0] * right[1] - eye[1] * right[0],
    ];
    return [right, up, eye];
  }

  /** The size at which the surface, as it is seen first, fills so many pixels: larger is better. */
  room(surface, width, height) {
    if (this.shape?.surface !== surface) {
      const start = new OrbitCamera({ ...this.start, up: this.up });
      const { low, high } = start.extent(surface);
      this.shape = { surface, wide: high[0] - low[0], tall: high[1] - low[1] };
    }
    const { wide, tall } = this.shape;
    return Math.max(Math.min(width / (wide || 1e-6), height / (tall || 1e-6)), 1e-6);
  }

  /** How far the surface reaches to the right and upwards, in its radii. */
  extent(surface) {
    const [right, up] = this.axes();
    const low = [Infinity, Infinity], high = [-Infinity, -Infinity];
    for (const v of surface.faces) {
      const p = surface.point(v);
      for (const [k, axis] of [right, up].entries()) {
        const along = (p[0] * axis[0] + p[1] * axis[1] + p[2] * axis[2]) / surface.radius;
        low[k] = Math.min(low[k], along);
        high[k] = Math.max(high[k], along);
      }
    }
    return { low, high };
  }

  /** Zoom and shift so that the surface fills a panel of this shape (width / height), but for shares at top and bottom. */
  fit(surface, aspect, top = 0, bottom = 0) {
    const { low, high } = this.extent(surface);
    const wide = Math.max(high[0] - low[0], 1e-6) / 2, tall = Math.max(high[1] - low[1], 1e-6) / 2;
    this.zoom = (((1 - MARGIN) * DISTANCE) / FOCAL) * Math.min(aspect / wide, (1 - top - bottom) / tall) * 0.95;
    this.shift = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2 + ((top - bottom) * DISTANCE) / (FOCAL * this.zoom)];
    Object.assign(this, { fitted: true, aspect });
  }

  /** Whether the surface should be fitted to a panel of this shape: it is new, or the panel is, and nobody has zoomed. */
  misfits(aspect) {
    return !this.fitted || (!this.held && Math.abs(aspect / this.aspect - 1) > 0.02);
  }

  /** From space to clip space, column by column, and the turn of normals. */
  matrices(radius, aspect) {
    const [r, u, e] = this.axes();
    const near = DISTANCE - 1.5, far = DISTANCE + 1.5;
    const fx = (FOCAL * this.zoom) / aspect, fy = FOCAL * this.zoom;
    const a = -(far + near) / (far - near), b = (-2 * far * near) / (far - near);
    const s = 1 / radius, [sx, sy] = this.shift;
    const clip = new Float32Array(16);
    for (let d = 0; d < 3; d++) {
      clip[4 * d] = fx * r[d] * s;
      clip[4 * d + 1] = fy * u[d] * s;
      clip[4 * d + 2] = a * e[d] * s;
      clip[4 * d + 3] = -e[d] * s;
    }
    clip.set([-fx * sx, -fy * sy, -a * DISTANCE + b, DISTANCE], 12);
    const turn = new Float32Array([r[0], u[0], e[0], r[1], u[1], e[1], r[2], u[2], e[2]]);
    return { clip, turn };
  }

  /** The ray through a point of the panel, given in [-1, 1]². */
  ray(x, y, radius, aspect) {
    const [r, u, e] = this.axes();
    const dx = (x * aspect) / (FOCAL * this.zoom), dy = y / (FOCAL * this.zoom);
    const [sx, sy] = this.shift;
    const origin = [0, 1, 2].map((d) => radius * (r[d] * sx + u[d] * sy + e[d] * DISTANCE));
    const direction = [0, 1, 2].map((d) => r[d] * dx + u[d] * dy - e[d]);
    return { origin, direction };
  }

  /** Let another axis point up. */
  stand(axis) {
    this.up = axis;
    this.shape = null;
    this.reset();
  }

  /** Turn so that something with this normal faces the eye, from not too far above or below. */
  face(normal) {
    const [first, second] = GROUND[this.up], height = normal["xyz".indexOf(this.up)];
    this.azimuth = (Math.atan2(normal[second], normal[first]) * 180) / Math.PI;
    this.elevation = Math.max(-50, Math.min(50, (Math.asin(Math.max(-1, Math.min(1, height))) * 180) / Math.PI));
  }

  turn(right, up) {
    this.azimuth = (this.azimuth - right) % 360;
    this.elevation = Math.max(-89.9, Math.min(89.9, this.elevation + up));
  }

  /** Shift by shares of the height of a panel. */
  move(right, up) {
    this.held = true;
    const step = (2 * DISTANCE) / (FOCAL * this.zoom);
    this.shift = [this.shift[0] - right * step, this.shift[1] - up * step];
  }

  magnify(factor) {
    this.held = true;
    this.zoom = Math.max(0.1, Math.min(200, this.zoom * factor));
  }

  /** Keep what is, so that others can follow what changes. */
  remember() {
    const { azimuth, elevation, zoom, shift, fitted } = this;
    this.was = { azimuth, elevation, zoom, shift, fitted };
  }

  /** Turn, zoom and shift as another did since it remembered; both keep what they look at, and how large it is. */
  follow(other) {
    if (!other.fitted) return this.reset();
    const { was } = other;
    this.turn(was.azimuth - other.azimuth, other.elevation - was.elevation);
    const scale = other.zoom / this.zoom;
    this.shift = this.shift.map((along, k) => along + (other.shift[k] - was.shift[k]) * scale);
    if (other.held) this.magnify(other.zoom / was.zoom);
  }
}
