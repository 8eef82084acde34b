// What runs on the graphics card.

export const MESH_VERTEX = `#version 300 es
uniform mat4 clip;
uniform mat3 turn;
uniform float lift;        // towards the eye, so that what lies over another surface is not in it
in vec3 position;
in vec3 normal;
in vec3 paint;
in vec3 paintBefore;
in float ring;
out vec3 turned;
out vec3 here;
out vec3 before;
out float away;
void main() {
  gl_Position = clip * vec4(position, 1.0);
  gl_Position.z -= lift * gl_Position.w;
  turned = turn * normal;
  here = paint;
  before = paintBefore;
  away = ring;
}`;

export const MESH_FRAGMENT = `#version 300 es
precision highp float;
uniform int mode;          // 0 plain, 1 colour, 2 texture, 3 value, 4 region
uniform bool inwards;
uniform bool pictured;
uniform float wipe;        // right of this many pixels the map before refinement is shown
uniform float spacing;     // between rings; 0 for none
uniform float pixel;       // of the page, in pixels of the screen
uniform vec3 plain;
uniform vec3 accent;
uniform vec3 inside;
uniform float opacity;
uniform sampler2D table;
uniform sampler2D picture;
in vec3 turned;
in vec3 here;
in vec3 before;
in float away;
out vec4 color;

vec3 painted(vec3 p) {
  if (mode == 1) return p;
  if (mode == 2) {
    if (pictured) return texture(picture, vec2(p.x, 1.0 - p.y)).rgb;
    vec2 cell = floor(p.xy * 14.0);
    float odd = mod(cell.x + cell.y, 2.0);
    vec3 hue = vec3(0.25) + 0.7 * p;
    return mix(hue * 0.55, mix(hue, vec3(1.0), 0.35), odd);
  }
  if (mode == 3) {
    if (p.y < 0.999) return plain;
    vec3 looked = texture(table, vec2(clamp(p.x, 0.002, 0.998), 0.5)).rgb;
    float stripe = mod((gl_FragCoord.x + gl_FragCoord.y) / pixel, 8.0);
    return p.z > 0.5 && stripe < 2.5 ? looked * 0.45 : looked;
  }
  if (mode == 4) {
    float width = max(fwidth(p.x), 1e-6);
    return mix(plain, accent, smoothstep(-width, width, p.x));
  }
  return plain;
}

void main() {
  bool front = gl_FrontFacing != inwards;
  vec3 n = normalize(turned) * (front ? 1.0 : -1.0);
  vec3 base = painted(gl_FragCoord.x > wipe ? before : here);
  if (!front) base = mix(base, inside, 0.55);
  if (spacing > 0.0 && away > 0.3 * spacing) {
    float r = away / spacing;
    float off = abs(fract(r - 0.5) - 0.5) / max(fwidth(r), 1e-6);
    base = mix(base, vec3(0.06, 0.07, 0.1), 0.75 * (1.0 - smoothstep(0.6 * pixel, 1.3 * pixel, off)));
  }
  float key = max(dot(n, normalize(vec3(-0.35, 0.55, 0.9))), 0.0);
  float grazing = 1.0 - max(n.z, 0.0);
  float light = 0.36 + 0.58 * key + 0.12 * max(n.y, 0.0) - 0.18 * grazing * grazing * grazing;
  color = vec4(base * light + 0.06 * pow(key, 24.0), opacity);
}`;

export const LINE_VERTEX = `#version 300 es
uniform mat4 clip;
uniform vec2 size;         // of the panel in pixels
uniform float width;
uniform float lift;        // towards the eye, so that a line on a surface is not in it
in vec2 corner;
in vec3 start;
in vec3 end;
out float along;
void main() {
  vec4 a = clip * vec4(start, 1.0), b = clip * vec4(end, 1.0);
  vec2 pa = a.xy / a.w * size * 0.5, pb = b.xy / b.w * size * 0.5;
  vec2 direction = pb - pa;
  float length_ = max(length(direction), 1e-4);
  vec2 across = vec2(-direction.y, direction.x) / length_;
  vec4 p = corner.x < 0.5 ? a : b;
  // half a width beyond each end, so that pieces join
  vec2 out_ = across * corner.y * width * 0.5 + direction / length_ * (corner.x - 0.5) * width * 0.8;
  p.xy += out_ * 2.0 / size * p.w;
  p.z -= lift * p.w;
  along = corner.x * length_;
  gl_Position = p;
}`;

export const LINE_FRAGMENT = `#version 300 es
precision highp float;
uniform vec4 tint;
uniform float dash;
in float along;
out vec4 color;
void main() {
  if (dash > 0.0 && mod(along, dash) > 0.6 * dash) discard;
  color = tint;
}`;

export const DOT_VERTEX = `#version 300 es
uniform mat4 clip;
uniform vec2 size;
uniform float width;
uniform float lift;
in vec2 corner;
in vec3 start;
out vec2 off;
void main() {
  vec4 p = clip * vec4(start, 1.0);
  off = vec2(corner.x * 2.0 - 1.0, corner.y);
  p.xy += off * width / size * p.w;
  p.z -= lift * p.w;
  gl_Position = p;
}`;

export const DOT_FRAGMENT = `#version 300 es
precision highp float;
uniform vec4 tint;
in vec2 off;
out vec4 color;
void main() {
  float r = length(off);
  float width = fwidth(r);
  if (r > 1.0) discard;
  vec3 ring = mix(tint.rgb, vec3(1.0), smoothstep(0.72 - width, 0.72 + width, r));
  color = vec4(ring, tint.a * (1.0 - smoothstep(1.0 - width, 1.0, r)));
}`;
