// Draws panels into one canvas: surfaces with their coats, lines and dots on them.

import { DOT_FRAGMENT, DOT_VERTEX, LINE_FRAGMENT, LINE_VERTEX, MESH_FRAGMENT, MESH_VERTEX } from "./shaders.js";

const MODES = { plain: 0, color: 1, texture: 2, value: 3, region: 4 };
const OVER = 2e-3; // how much nearer to the eye a surface is drawn that lies over another
const GHOST = 0.28; // how much of a line shows through what hides it

export class Painter {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: true, premultipliedAlpha: false });
    if (!gl) throw new Error("this browser has no WebGL 2, which the page draws with; try another, or update it");
    this.canvas = canvas;
    this.gl = gl;
    this.mesh = program(gl, MESH_VERTEX, MESH_FRAGMENT);
    this.line = program(gl, LINE_VERTEX, LINE_FRAGMENT);
    this.dot = program(gl, DOT_VERTEX, DOT_FRAGMENT);
    this.corners = buffer(gl, new Float32Array([0, -1, 1, -1, 0, 1, 1, 1]));
    this.stream = gl.createBuffer();
    this.kept = new WeakMap(); // buffers and tables by the array they were made of
    this.picture = null;
    this.pixels = null; // of that picture
    this.ground = [1, 1, 1]; // the colour of the page
    this.coarse = false; // fewer triangles, for while something turns
  }

  /** Give back what was made for surfaces that are gone. */
  forget() {
    this.kept = new WeakMap();
  }

  /** Give back what was made for some arrays. */
  drop(...arrays) {
    for (const array of arrays) {
      if (this.kept.has(array)) this.gl.deleteBuffer(this.kept.get(array));
      this.kept.delete(array);
    }
  }

  setPicture(bitmap) {
    const gl = this.gl;
    this.picture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.picture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, bitmap);
    gl.generateMipmap(gl.TEXTURE_2D);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height), context = canvas.getContext("2d");
    context.drawImage(bitmap, 0, 0);
    this.pixels = context.getImageData(0, 0, bitmap.width, bitmap.height);
  }

  resize(width, height, pixel) {
    this.pixel = pixel;
    const [w, h] = [Math.max(1, Math.round(width * pixel)), Math.max(1, Math.round(height * pixel))];
    if (this.canvas.width !== w || this.canvas.height !== h) Object.assign(this.canvas, { width: w, height: h });
  }

  begin() {
    const gl = this.gl;
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  }

  /**
   * A panel, {surface, camera, coat, rings, lines, dots}, perhaps with {surface, coat, opacity} over it, in a box of page
   * pixels {left, top, width, height}.
   */
  draw(panel, box) {
    const gl = this.gl, p = this.pixel;
    const [left, bottom] = [Math.round(box.left * p), Math.round(this.canvas.height - (box.top + box.height) * p)];
    const [width, height] = [Math.round(box.width * p), Math.round(box.height * p)];
    if (width < 2 || height < 2) return;
    gl.viewport(left, bottom, width, height);
    gl.scissor(left, bottom, width, height);
    gl.enable(gl.SCISSOR_TEST);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.disable(gl.BLEND);
    if (panel.over) {
      // what is half transparent is mixed with the colour behind it, which is that of the page
      gl.clearColor(...this.ground, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
    }
    const { clip, turn } = panel.camera.matrices(panel.surface.radius, width / height);
    this.#surface(panel, clip, turn, left, width);
    if (panel.over) this.#over(panel.over, clip, turn, left, width);
    for (const line of panel.lines) this.#strokes(this.line, line, clip, [width, height], 3e-4);
    for (const dot of panel.dots) this.#strokes(this.dot, dot, clip, [width, height], 2e-3);
  }

  /** A surface through which what is behind it can be seen: its front only, so how far away that is comes first. */
  #over(panel, clip, turn, left, width) {
    const gl = this.gl;
    gl.colorMask(false, false, false, true);
    this.#surface({ ...panel, opacity: 1 }, clip, turn, left, width, OVER);
    gl.colorMask(true, true, true, true);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.#surface(panel, clip, turn, left, width, OVER);
    gl.disable(gl.BLEND);
  }

  #surface(panel, clip, turn, left, width, lift = 0) {
    const gl = this.gl, { surface, coat } = panel, at = this.mesh;
    gl.useProgram(at.program);
    gl.uniformMatrix4fv(at.clip, false, clip);
    gl.uniformMatrix3fv(at.turn, false, turn);
    gl.uniform1i(at.mode, MODES[coat.mode]);
    gl.uniform1i(at.inwards, surface.meta.inwards ? 1 : 0);
    gl.uniform1i(at.pictured, this.picture && coat.mode === "texture" ? 1 : 0);
    gl.uniform1f(at.wipe, coat.before ? left + panel.wipe * width : left + width);
    gl.uniform1f(at.spacing, panel.rings ? panel.rings.spacing : 0);
    gl.uniform1f(at.pixel, this.pixel);
    gl.uniform1f(at.lift, lift);
    gl.uniform1f(at.opacity, panel.opacity ?? 1);
    gl.uniform3fv(at.plain, coat.plain);
    gl.uniform3fv(at.accent, coat.accent ?? coat.plain);
    gl.uniform3fv(at.inside, [0.54, 0.44, 0.39]);
    gl.uniform1i(at.table, 0);
    gl.uniform1i(at.picture, 1);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, coat.table ? this.#table(coat.table) : null);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.picture);
    this.#feed(at.position, surface.vertices, 3);
    this.#feed(at.normal, surface.normals, 3);
    this.#feed(at.paint, coat.paint ?? null, 3);
    this.#feed(at.paintBefore, coat.before ?? coat.paint ?? null, 3);
    this.#feed(at.ring, panel.rings ? panel.rings.distances : null, 1);
    const faces = this.coarse ? surface.coarseFaces : surface.faces;
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.#buffer(faces, gl.ELEMENT_ARRAY_BUFFER));
    gl.drawElements(gl.TRIANGLES, faces.length, gl.UNSIGNED_INT, 0);
  }

  /** Lines: {segments: six numbers each, color, width, dash, ghost}; dots: {points: three numbers each, ...}. */
  #strokes(at, what, clip, size, lift) {
    const gl = this.gl, isLine = at === this.line;
    const data = isLine ? what.segments : what.points;
    const count = data.length / (isLine ? 6 : 3);
    if (!count) return;
    gl.useProgram(at.program);
    gl.uniformMatrix4fv(at.clip, false, clip);
    gl.uniform2f(at.size, ...size);
    gl.uniform1f(at.width, what.width * this.pixel);
    gl.uniform1f(at.lift, lift);
    if (isLine) gl.uniform1f(at.dash, (what.dash ?? 0) * this.pixel);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.corners);
    gl.enableVertexAttribArray(at.corner);
    gl.vertexAttribPointer(at.corner, 2, gl.FLOAT, false, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.stream);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STREAM_DRAW);
    for (const [k, place] of (isLine ? [at.start, at.end] : [at.start]).entries()) {
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 3, gl.FLOAT, false, isLine ? 24 : 12, 12 * k);
      gl.vertexAttribDivisor(place, 1);
    }
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    if (what.ghost) {
      gl.depthFunc(gl.GREATER);
      gl.uniform4f(at.tint, ...what.color, GHOST);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
    }
    gl.depthFunc(gl.LEQUAL);
    gl.uniform4f(at.tint, ...what.color, 1);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
    for (const place of isLine ? [at.start, at.end] : [at.start]) {
      gl.vertexAttribDivisor(place, 0);
      gl.disableVertexAttribArray(place);
    }
    gl.disableVertexAttribArray(at.corner);
  }

  #feed(place, array, size) {
    const gl = this.gl;
    if (place < 0) return;
    if (!array) {
      gl.disableVertexAttribArray(place);
      gl.vertexAttrib3f(place, 0, 0, 0);
      return;
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffer(array, gl.ARRAY_BUFFER));
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, gl.FLOAT, false, 0, 0);
  }

  #buffer(array, kind) {
    if (!this.kept.has(array)) this.kept.set(array, buffer(this.gl, array, kind));
    return this.kept.get(array);
  }

  #table(table) {
    const gl = this.gl;
    if (!this.kept.has(table)) {
      const texture = gl.createTexture();
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, table.length / 4, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, table);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
      this.kept.set(table, texture);
    }
    return this.kept.get(table);
  }
}

function buffer(gl, array, kind = gl.ARRAY_BUFFER) {
  const made = gl.createBuffer();
  gl.bindBuffer(kind, made);
  gl.bufferData(kind, array, gl.STATIC_DRAW);
  return made;
}

/** A linked program, with the place of each of its inputs by name. */
function program(gl, vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
  const places = { program: made };
  for (let k = 0; k < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); k++) {
    const { name } = gl.getActiveUniform(made, k);
    places[name] = gl.getUniformLocation(made, name);
  }
  for (let k = 0; k < gl.getProgramParameter(made, gl.ACTIVE_ATTRIBUTES); k++) {
    const { name } = gl.getActiveAttrib(made, k);
    places[name] = gl.getAttribLocation(made, name);
  }
  return places;
}
