// Pairs that are marked: landmarks, which a match is steered by, and pins, matches that are kept in sight. Lines join them.

import { ask } from "./data.js";
import { at, element } from "./dom.js";
import { save } from "./downloads.js";

const COLORS = [
  [0.9, 0.1, 0.29], [0.13, 0.55, 0.13], [0.0, 0.45, 0.85], [0.85, 0.5, 0.0], [0.57, 0.12, 0.7], [0.0, 0.55, 0.55],
  [0.75, 0.0, 0.55], [0.45, 0.35, 0.1],
];

/** The list of marked pairs of a page: {part, whole, numbers, label, pin, said}, vertices as they are drawn. */
export class Marks {
  constructor(page) {
    this.page = page;
    this.list = [];
    this.adding = null; // a landmark of which one end is missing: {part, whole}
    this.changed = false; // whether landmarks are others than those of the map that is shown
  }

  /** Begin anew with the landmarks of a scene; pins stay where the surfaces are the same. */
  show(scene) {
    const same = [scene.meta.title, scene.part?.size, scene.whole?.size].join("|");
    const pins = same === this.of && scene.map ? this.list.filter(({ pin }) => pin) : [];
    this.of = same;
    this.list = (scene.meta.landmarks ?? []).map((one) => ({ ...one, pin: false, said: wordsOf(one) }));
    for (const { part } of pins) this.#put({ part, whole: scene.map[part], pin: true });
    this.adding = null;
    this.changed = false;
    this.#words();
  }

  /** Keep the chosen vertex and its match in sight. */
  pin() {
    const { scene, state } = this.page;
    if (!scene.map) return;
    if (state.picked === null) return this.page.news("Click a vertex first; then it can be pinned.");
    if (!this.page.scene.isShared("part", state.picked)) return this.page.news("This vertex has no partner that could be pinned.");
    if (this.list.some(({ part, pin }) => pin && part === state.picked)) return;
    this.#put({ part: state.picked, whole: scene.map[state.picked], pin: true });
    this.#changedList();
  }

  /** Wait for a click on the part and one on the whole; or no longer. */
  add() {
    if (!this.page.scene.whole || this.page.scene.parts) return;
    this.adding = this.adding ? null : { part: null, whole: null };
    this.#words();
    this.page.refresh();
  }

  /** An end of the landmark that is being added; whether there was one. */
  take(role, vertex) {
    if (!this.adding) return false;
    this.adding[role] = vertex;
    const { part, whole } = this.adding;
    if (part !== null && whole !== null) {
      this.list = this.list.filter((one) => one.pin || one.part !== part);
      this.#put({ part, whole, pin: false });
      this.adding = null;
      this.changed = true;
    }
    this.#changedList();
    return true;
  }

  #put({ part, whole, pin }) {
    const { scene } = this.page;
    this.list.push({ part, whole, pin, label: "", numbers: [scene.part.number(part), scene.whole.number(whole)], said: "" });
  }

  remove(mark) {
    this.list = this.list.filter((one) => one !== mark);
    this.changed ||= !mark.pin;
    this.#changedList();
  }

  #changedList() {
    this.#words();
    this.page.refresh();
  }

  get landmarks() {
    return this.list.filter(({ pin }) => !pin);
  }

  /** Ask the server for the map again, with the landmarks. */
  async matchAgain() {
    const body = JSON.stringify(this.landmarks.map(({ numbers, label }) => [...numbers, label]));
    await ask("/match", {}, { method: "POST", body });
    this.page.attempt(() => this.page.follow());
  }

  /** Landmarks and pins as `partwhole match --landmarks` reads them. */
  save(name) {
    const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const rows = this.list.map(({ numbers, label }, k) => [...numbers, quoted(label || String(k + 1))].join(","));
    save(`${name}-landmarks.csv`, [`part,whole,label\n${rows.join("\n")}\n`], "text/csv");
  }

  /** What a panel of a surface shows of the marks. */
  dots(surface, role) {
    const ends = this.list.map((mark, k) => [mark[role], colorOf(k)]);
    const open = this.adding?.[role];
    if (open !== null && open !== undefined) ends.push([open, colorOf(this.list.length)]);
    return ends.map(([vertex, color]) => ({ points: new Float32Array(surface.point(vertex)), color, width: 12, ghost: true }));
  }

  /** Lines between the ends of the marks, in pixels of the stage; faint where an end looks away. */
  lines() {
    const { page } = this, boxes = page.panels.boxes();
    const k = { part: -1, whole: -1 };
    page.panels.list.forEach(({ surface }, n) => (k[surface.role] = k[surface.role] < 0 ? n : k[surface.role]));
    if (k.part < 0 || k.whole < 0) return [];
    return this.list.map((mark, number) => {
      const ends = ["part", "whole"].map((role) => place(page.panels.list[k[role]], boxes[k[role]], mark[role]));
      return { ends, color: colorOf(number), number: number + 1, faint: ends.some(({ away }) => away), pin: mark.pin };
    });
  }

  draw() {
    const svg = at("lines");
    const lines = this.lines();
    const made = lines.flatMap(({ ends: [a, b], color, number, faint, pin }) => {
      const stroke = `rgb(${color.map((x) => Math.round(255 * x)).join(" ")})`;
      const line = drawn("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, stroke, "stroke-width": 1.6, "stroke-opacity": faint ? 0.35 : 0.9, "stroke-dasharray": pin ? "5 4" : "none" });
      const names = [a, b].map(({ x, y }) => Object.assign(drawn("text", { x: x + 9, y: y - 7, fill: stroke }), { textContent: number }));
      return [line, ...names];
    });
    svg.replaceChildren(...made);
  }

  /** The same into a picture. */
  paint(context, family) {
    context.save();
    context.font = `650 12px ${family}`;
    for (const { ends: [a, b], color, number, faint, pin } of this.lines()) {
      context.strokeStyle = context.fillStyle = `rgb(${color.map((x) => Math.round(255 * x)).join(" ")})`;
      context.globalAlpha = faint ? 0.35 : 0.9;
      context.setLineDash(pin ? [5, 4] : []);
      context.lineWidth = 1.6;
      context.beginPath();
      context.moveTo(a.x, a.y);
      context.lineTo(b.x, b.y);
      context.stroke();
      for (const { x, y } of [a, b]) context.fillText(String(number), x + 9, y - 16);
    }
    context.restore();
  }

  /** The list beside the panels, with what can be done. */
  #words() {
    const { scene } = this.page, live = scene.meta.live;
    at("marks").hidden = !scene.whole;
    at("add").setAttribute("aria-pressed", Boolean(this.adding));
    at("pin").hidden = !scene.map;
    at("add").hidden = Boolean(scene.parts); // they are matched without landmarks
    at("again").hidden = !live || !this.changed;
    at("save-marks").hidden = !this.list.length;
    const { part, whole } = this.adding ?? {};
    const missing = part === null ? (whole === null ? "a place on the part, and the same place on the whole" : "the same place on the part") : "the same place on the whole";
    at("adding").textContent = this.adding ? `Click ${missing}. Esc ends this.` : "";
    at("marked").replaceChildren(...this.list.map((mark, k) => this.#row(mark, k)));
  }

  #row(mark, k) {
    const row = element("li", "");
    const swatch = document.createElement("i");
    swatch.style.background = `rgb(${colorOf(k).map((x) => Math.round(255 * x)).join(" ")})`;
    const name = mark.label && mark.label !== String(k + 1) ? `${mark.label}: ` : "";
    const said = element("span", `${k + 1} · ${name}${mark.numbers[0]} → ${mark.numbers[1]}${mark.pin ? ", pin" : ""}`);
    if (mark.said) said.append(element("small", mark.said));
    const button = element("button", "×");
    Object.assign(button, { type: "button", title: "Remove", ariaLabel: `Remove ${mark.pin ? "pin" : "landmark"} ${k + 1}` });
    button.addEventListener("click", () => this.remove(mark));
    row.append(swatch, said, button);
    return row;
  }
}

/** What became of a landmark in the match before. */
function wordsOf({ use, before }) {
  if (use && use !== "sure") return use;
  return before === undefined || before === null ? "" : `${(100 * before).toFixed(1)} % of √area off without it`;
}

function colorOf(k) {
  return COLORS[k % COLORS.length];
}

function drawn(name, attributes) {
  const made = document.createElementNS(at("lines").namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** Where a panel shows a vertex, in pixels of the stage, and whether it looks away from the eye. */
function place({ surface, camera }, box, vertex) {
  const { clip } = camera.matrices(surface.radius, box.width / box.height);
  const point = [...surface.point(vertex), 1];
  const [x, y, , w] = [0, 1, 2, 3].map((row) => point.reduce((sum, value, column) => sum + clip[4 * column + row] * value, 0));
  const eye = camera.axes()[2], normal = surface.normal(vertex);
  return {
    x: box.left + ((x / w + 1) / 2) * box.width,
    y: box.top + ((1 - y / w) / 2) * box.height,
    away: normal.reduce((sum, n, d) => sum + n * eye[d], 0) < 0,
  };
}
