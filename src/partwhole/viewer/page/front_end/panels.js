// The panels of the page: their frames and titles, and what pointers and keys do in them.

import { css } from "./coats.js";
import { words } from "./dom.js";

const STILL = 5; // a pointer that moves less than this many pixels has clicked
const STEP = 10; // degrees of an arrow key
export const TITLE = 46; // pixels of a panel that its title takes

/** Frames for panels in one element; `told` has pick(panel, vertex, shift), hover(panel, vertex), and turned(panel). */
export class Panels {
  constructor(element, told) {
    this.element = element;
    this.told = told;
    this.list = [];
  }

  /** Show these panels; frames are kept, so that focus stays where it is. */
  show(panels) {
    while (this.element.children.length > panels.length) this.element.lastChild.remove();
    while (this.element.children.length < panels.length) this.element.append(this.#frame(this.element.children.length));
    panels.forEach((panel, k) => {
      const frame = this.element.children[k];
      panel.frame = frame;
      frame.setAttribute("aria-label", `${panel.title}. ${panel.note}`);
      frame.children[0].title = panel.note;
      const [heading] = frame.children;
      heading.replaceChildren();
      if (panel.color) {
        const swatch = document.createElement("i");
        swatch.style.background = css(panel.color);
        heading.append(swatch);
      }
      const note = document.createElement("small");
      note.textContent = panel.note;
      heading.append(...words(panel.title), note);
      const wipe = frame.querySelector(".wipe");
      wipe.hidden = panel.wipe === 1;
      wipe.style.left = `${100 * panel.wipe}%`;
    });
    this.list = panels;
    this.#arrange();
  }

  /** Boxes of the panels in page pixels, relative to the element. */
  boxes() {
    const outer = this.element.getBoundingClientRect();
    return this.list.map(({ frame }) => {
      const box = frame.getBoundingClientRect();
      return { left: box.left - outer.left, top: box.top - outer.top, width: box.width, height: box.height };
    });
  }

  /** As many columns as let the surfaces be largest. */
  #arrange() {
    const { width, height } = this.element.getBoundingClientRect();
    const count = this.list.length || 1;
    let best = 1, largest = 0;
    for (let columns = 1; columns <= count; columns++) {
      const wide = width / columns, tall = height / Math.ceil(count / columns) - TITLE;
      const scales = this.list.map(({ camera, surface, within }) => camera.room(within ?? surface, wide, tall));
      // a little for no empty places, where it hardly matters
      const size = Math.min(...scales) * (count % columns ? 0.8 : 1);
      if (size > largest) [best, largest] = [columns, size];
    }
    this.element.style.gridTemplateColumns = `repeat(${best}, 1fr)`;
  }

  /** A few words in the corner of a panel. */
  say(panel, text) {
    if (panel) panel.frame.querySelector("output").textContent = text;
  }

  rearrange() {
    this.#arrange();
  }

  #frame(k) {
    const frame = document.createElement("section");
    frame.className = "panel";
    frame.tabIndex = 0;
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-describedby", "hint");
    const wipe = document.createElement("div");
    wipe.className = "wipe";
    wipe.hidden = true;
    frame.append(document.createElement("h2"), wipe, document.createElement("output"));
    frame.addEventListener("pointerleave", () => this.say(this.list[k], ""));
    const pointers = new Map();
    let moved = 0, apart = 0;
    frame.addEventListener("pointerdown", (event) => {
      frame.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      if (pointers.size === 1) moved = 0;
      apart = spread(pointers);
    });
    frame.addEventListener("pointermove", (event) => {
      const panel = this.list[k], last = pointers.get(event.pointerId);
      if (!panel) return;
      if (!last) {
        if (event.pointerType === "mouse") this.told.hover(panel, this.#under(panel, event.clientX, event.clientY));
        return;
      }
      const dx = event.clientX - last[0], dy = event.clientY - last[1];
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      moved += Math.abs(dx) + Math.abs(dy);
      if (moved < STILL) return;
      frame.classList.add("turning");
      const { height } = frame.getBoundingClientRect();
      if (pointers.size > 1) {
        const now = spread(pointers);
        if (apart > 0) panel.camera.magnify(now / apart);
        apart = now;
        panel.camera.move(dx / height / 2, -dy / height / 2);
      } else if (event.shiftKey || event.buttons & 6) panel.camera.move(dx / height, -dy / height);
      else panel.camera.turn((dx / height) * 240, (dy / height) * 240);
      this.told.turned(panel);
    });
    const done = (event) => {
      const clicked = pointers.size === 1 && moved < STILL && event.type === "pointerup";
      pointers.delete(event.pointerId);
      frame.classList.remove("turning");
      const panel = this.list[k];
      if (clicked && panel) this.told.pick(panel, this.#under(panel, event.clientX, event.clientY), event.shiftKey);
    };
    frame.addEventListener("pointerup", done);
    frame.addEventListener("pointercancel", done);
    frame.addEventListener("contextmenu", (event) => event.preventDefault());
    frame.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.list[k].camera.magnify(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)));
      this.told.turned(this.list[k]);
    }, { passive: false });
    frame.addEventListener("keydown", (event) => this.#key(this.list[k], event));
    return frame;
  }

  #key(panel, event) {
    const { camera } = panel;
    const keys = {
      ArrowLeft: () => camera.turn(-STEP, 0),
      ArrowRight: () => camera.turn(STEP, 0),
      ArrowUp: () => camera.turn(0, STEP),
      ArrowDown: () => camera.turn(0, -STEP),
      "+": () => camera.magnify(1.2),
      "=": () => camera.magnify(1.2),
      "-": () => camera.magnify(1 / 1.2),
      0: () => camera.reset(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (keys[event.key]) {
      keys[event.key]();
      this.told.turned(panel);
    } else if (event.key === "Enter") {
      const box = panel.frame.getBoundingClientRect();
      const vertex = this.#under(panel, box.left + box.width / 2, box.top + box.height / 2);
      this.told.pick(panel, vertex, event.shiftKey);
    } else return;
    event.preventDefault();
  }

  #under(panel, x, y) {
    const box = panel.frame.getBoundingClientRect();
    const { camera, surface } = panel;
    const across = (2 * (x - box.left)) / box.width - 1, up = 1 - (2 * (y - box.top)) / box.height;
    const { origin, direction } = camera.ray(across, up, surface.radius, box.width / box.height);
    return surface.hit(origin, direction);
  }
}

function spread(pointers) {
  const [a, b] = [...pointers.values()];
  return b ? Math.hypot(a[0] - b[0], a[1] - b[1]) : 0;
}
