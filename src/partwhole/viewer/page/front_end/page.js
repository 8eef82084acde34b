// What is chosen and shown: asks the engine, and keeps panels and words in step with it.

import { OrbitCamera } from "./camera.js";
import { COLOR_MAPS } from "./coats.js";
import { askArrays, askJson } from "./data.js";
import { METHODS, legendElements, matchDetails, placeButtons, swappedElement, trustDetails, trustLegend, trustWords } from "./details.js";
import { at, element } from "./dom.js";
import { LiveEngine, LocalEngine } from "./engine.js";
import { fitDetails, fitLegend, fitPanels } from "./fit.js";
import { Marks } from "./marks.js";
import { Painter } from "./painter.js";
import { Panels, TITLE } from "./panels.js";
import { Scene } from "./scene.js";
import { VIEWS, judged, pairPanels, tellingOther, trustPanels } from "./views.js";

const SLOW = 45; // milliseconds of a frame above which turning is drawn more coarsely
const NEWS = 8000; // milliseconds
const COARSEST = 0.4;
const SLIDER = 46; // pixels of a panel that the slider between before and after takes
const REST = 180; // milliseconds without turning after which all is drawn finely again

export class Page {
  constructor() {
    this.painter = new Painter(at("canvas"));
    this.panels = new Panels(at("panels"), {
      pick: (panel, vertex, shift) => this.pick(panel, vertex, shift),
      hover: (panel, vertex) => this.hover(panel, vertex),
      turned: (panel) => this.turned(panel),
    });
    this.state = { view: "", picked: null, other: null, wipe: 1, found: {}, cameras: {}, options: {} };
    this.state.shown = { colors: "own", limit: null }; // how numbers become colours
    this.state.fit = { coat: "source", blend: 1, opacity: 0, vertex: null }; // the vertex is one of the template
    at("colors").replaceChildren(...Object.entries(COLOR_MAPS).map(([id, name]) => Object.assign(element("option", name), { value: id })));
    this.marks = new Marks(this);
    this.followed = 0; // matches that were followed; the last one is
    this.asked = 0; // answers to questions that are no longer asked are dropped
    this.drawing = false;
    this.motion = { fineness: 1, coarse: false, timer: 0 };
    new ResizeObserver(() => this.resized()).observe(at("stage"));
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => this.refresh());
    // a driver may take the graphics card away, and give it back
    at("canvas").addEventListener("webglcontextlost", (event) => event.preventDefault());
    at("canvas").addEventListener("webglcontextrestored", () => {
      this.painter = new Painter(at("canvas"));
      this.draw();
    });
  }

  // --- scenes

  show(data) {
    const scene = new Scene(data);
    this.scene = scene;
    this.painter.forget();
    this.coats = {};
    Object.assign(this.state, { picked: null, other: null, found: {} });
    if (scene.parts) at("linked").checked = true; // the first lies as on the second
    at("wipe").value = at("blend").value = 100;
    this.wipe(1);
    Object.assign(this.state.fit, { blend: 1, vertex: null });
    for (const role of ["part", "whole", "fit"]) {
      if (scene.meta[role]) this.state.cameras[role] = new OrbitCamera(scene.meta[role].view);
    }
    this.engine = scene.meta.live ? new LiveEngine(scene) : new LocalEngine(scene, (text) => this.status(text));
    at("method").replaceChildren(...this.engine.methods.map((id) => Object.assign(element("option", METHODS[id]), { value: id })));
    at("method").value = this.engine.method;
    document.title = scene.meta.title ? `${scene.meta.title} · partwhole` : "partwhole";
    at("title").textContent = at("title").title = scene.meta.title || "partwhole";
    at("welcome").hidden = Boolean(scene.part);
    document.body.classList.toggle("empty", !scene.part);
    const live = scene.meta.live;
    for (const name of ["open", "report"]) {
      for (const button of document.querySelectorAll(`[data-action="${name}"]`)) button.hidden = !live;
    }
    this.button("swap").hidden = !(live && scene.whole) || Boolean(scene.fit || scene.parts);
    at("downloads").hidden = !scene.part;
    for (const name of ["csv", "npz"]) this.button(name).hidden = !scene.map;
    this.button("ply-whole").hidden = !scene.whole;
    this.button("ply-fit").hidden = !scene.fit;
    at("boundaries").parentElement.hidden = at("wireframe").parentElement.hidden = at("rings").parentElement.hidden = !scene.part;
    at("up").parentElement.hidden = !scene.part;
    at("up").value = scene.part ? scene.meta.part.view.up : "z";
    at("choose").parentElement.hidden = !scene.part;
    at("vertex").max = at("other").max = scene.part ? scene.meta.part.vertices - 1 : 0;
    const notes = [...(scene.meta.notes ?? []), this.engine.note].filter(Boolean);
    at("notes").replaceChildren(...notes.map((note) => element("p", note)));
    at("warnings").replaceChildren(...(scene.meta.warnings ?? []).map((warning) => element("p", warning)));
    if (scene.meta.swapped) at("warnings").prepend(swappedElement(scene.meta.swapped, live));
    at("places").replaceChildren(...placeButtons(scene, (vertex) => this.lookAt(vertex)));
    this.marks.show(scene);
    this.#viewButtons();
    const views = Object.keys(VIEWS).filter((id) => scene.part && VIEWS[id].has(scene));
    this.choose(views.includes(this.state.view) ? this.state.view : (views[0] ?? ""));
  }

  button(action) {
    return document.querySelector(`aside .buttons [data-action="${action}"]`);
  }

  #viewButtons() {
    const scene = this.scene;
    const views = Object.entries(VIEWS).filter(([, view]) => scene.part && view.has(scene));
    const buttons = views.map(([id, view]) => {
      const button = element("button", view.name);
      Object.assign(button, { type: "button", title: `${view.name}: key ${view.key}`, ariaKeyShortcuts: view.key });
      button.dataset.view = id;
      button.setAttribute("role", "radio");
      button.addEventListener("click", () => this.choose(id));
      return button;
    });
    at("views").replaceChildren(...buttons);
    at("keys").textContent = views.map(([, { key, name }]) => `${key} ${name}`).join(", ");
  }

  choose(id) {
    this.state.view = id;
    for (const button of at("views").children) {
      const chosen = button.dataset.view === id;
      button.setAttribute("aria-checked", chosen);
      button.tabIndex = chosen ? 0 : -1;
      if (chosen) button.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    at("picture-field").hidden = id !== "texture";
    at("fit-coat").hidden = at("blender").hidden = id !== "fit";
    at("linked").parentElement.hidden = !this.scene.whole || id === "fit"; // which has one camera
    this.#colorFields();
    at("places").hidden = id !== "confidence";
    at("rings").parentElement.hidden = !id || id === "trust" || id === "fit";
    at("click").hidden = at("other-field").hidden = at("method").parentElement.hidden = id !== "trust";
    // one is shown at once: bodies on which nothing is marked tell nothing
    if (id === "trust" && this.state.picked === null) return this.chooseVertex(this.#tellingVertex());
    this.refresh();
    if (id) this.measure();
  }

  /** Fields of what the colours of the view depend on. */
  #colorFields() {
    const { view, fit } = this.state;
    const ranged = view === "fit" ? fit.coat !== "source" : VIEWS[view]?.ranged;
    at("limit").parentElement.hidden = !ranged;
    at("colors").parentElement.hidden = !(ranged || view === "confidence");
  }

  #tellingVertex() {
    const { part } = this.scene;
    return part.tellingVertex(this.state.cameras.part.axes()[2]);
  }

  // --- what is chosen

  pick(panel, vertex, shift) {
    if (vertex < 0) return;
    const { scene, state } = this;
    if (this.marks.take(panel.surface.role, vertex)) return;
    if (state.view === "fit" && panel.surface === scene.fit.surface) return this.chooseFitted(vertex);
    const second = shift || document.querySelector('input[name="click"]:checked').value === "other";
    if (state.view === "trust" && second && state.picked !== null) this.chooseOther(vertex);
    else if (panel.surface.role === "part") this.chooseVertex(vertex);
    else if (scene.map && scene.isShared("whole", vertex)) this.chooseVertex(scene.vertexMatchedTo(vertex));
  }

  chooseVertex(vertex) {
    const { state } = this;
    Object.assign(state, { picked: vertex, other: null });
    state.fit.vertex = null;
    Object.assign(state.found, { rings: null, trust: null, pair: null });
    at("vertex").value = this.scene.part.number(vertex);
    at("other").value = "";
    this.refresh();
    this.measure();
  }

  /** Choose a vertex of the fitted template. */
  chooseFitted(vertex) {
    Object.assign(this.state, { picked: null, other: null });
    this.state.fit.vertex = vertex;
    at("vertex").value = "";
    this.refresh();
  }

  /** Choose a vertex, and turn so that it is seen, and its match too. */
  lookAt(vertex) {
    const { scene, state } = this;
    state.cameras.part.face(scene.part.normal(vertex));
    state.cameras.fit?.face(scene.part.normal(vertex));
    if (scene.map && scene.isShared("part", vertex)) state.cameras.whole.face(scene.whole.normal(scene.map[vertex]));
    this.chooseVertex(vertex);
  }

  async chooseOther(vertex) {
    const { state } = this;
    state.other = vertex;
    at("other").value = this.scene.part.number(vertex);
    const asked = this.asked;
    await this.attempt(async () => {
      const pair = await this.engine.pair(state.picked, vertex);
      if (asked !== this.asked || state.other !== vertex) return;
      state.found.pair = { ...pair, other: vertex };
      this.refresh();
    });
  }

  /** The number of the vertex under the pointer, and what the view knows of it. */
  hover(panel, vertex) {
    const { scene, state } = this;
    let text = vertex < 0 ? "" : `vertex ${panel.surface.number(vertex)}`;
    if (text && panel.surface === scene.fit?.surface) text += `, ${scene.fit.sourceOf(vertex).name}`;
    if (text && scene.parts) text += scene.isShared(panel.surface.role, vertex) ? ", shared" : ", on this part only";
    if (text && panel.surface.role === "part" && scene.confidence) text += `, confidence ${scene.confidence[vertex].toFixed(2)}`;
    const row = state.found.trust;
    if (text && state.view === "trust" && row) text = trustWords(panel.surface.number(vertex), row, vertex);
    this.panels.say(panel, text);
  }

  /** Ask for what the view needs and has not got. */
  async measure() {
    const { state, engine } = this, { view, picked, found } = state;
    const asked = ++this.asked;
    const current = () => asked === this.asked;
    await this.attempt(async () => {
      const needed = VIEWS[view].needs;
      if (needed && !found[needed]) {
        this.status("measuring distances …");
        found[needed] = await engine[needed]();
        delete this.coats[view];
        if (!current()) return;
        this.status("");
        this.refresh();
      }
      if (picked === null) return;
      if (view === "trust" && !found.trust) {
        const row = judged(await engine.trust(picked), picked);
        if (!current()) return;
        found.trust = row;
        this.refresh();
        const other = tellingOther(row);
        if (state.other === null && other !== null) await this.chooseOther(other);
      } else if (view !== "trust" && !found.rings) {
        const rings = await engine.rings(picked);
        if (!current()) return;
        // no rings where there is no path
        for (const role of Object.keys(rings)) rings[role] = rings[role].map((d) => (Number.isFinite(d) ? d : 0));
        found.rings = rings;
        this.refresh();
      }
    });
  }

  async attempt(work) {
    try {
      await work();
    } catch (error) {
      this.wrong(error.message);
    }
  }

  // --- what is seen

  /** The share of the part's panel, from the left, that shows the map after refinement; the rest shows the one before. */
  wipe(share) {
    this.state.wipe = share;
    const words = { 0: "before refinement", 1: "after refinement" };
    at("wipe").ariaValueText = words[share] ?? `${Math.round(100 * share)} % after refinement`;
  }

  refresh() {
    const { scene, state } = this, view = VIEWS[state.view];
    state.options = { boundaries: at("boundaries").checked, rings: at("rings").checked, linked: at("linked").checked, dark: this.dark.matches, wireframe: at("wireframe").checked };
    if (!view) {
      this.panels.show([]);
      at("legend").replaceChildren();
      this.draw();
      return;
    }
    const trust = state.view === "trust", fit = state.view === "fit";
    this.coats[state.view] ??= view.coats(scene, state.found, state.shown);
    const coats = this.coats[state.view];
    const panels = trust ? trustPanels(scene, state) : fit ? fitPanels(scene, state) : pairPanels(scene, coats, state);
    if (!trust) for (const { surface, dots } of panels) dots.push(...this.marks.dots(surface, surface.role));
    this.panels.show(panels);
    at("wiper").hidden = !coats.part?.before;
    const legend = trust ? trustLegend(scene, state, this.engine) : fit ? fitLegend(scene, state) : legendElements(view.legend?.(scene, state.found, state.shown));
    const details = trust ? trustDetails(scene, state, this.engine) : fit ? fitDetails(scene, state) : matchDetails(scene, state);
    at("legend").replaceChildren(...legend);
    at("details").replaceChildren(...details);
    this.draw();
  }

  /** What the view of the fit shows: its coat, where the template is between rest and fit, how much of the scan lies over it. */
  showFit(chosen) {
    const { fit } = this.scene, { surface } = fit, { state } = this;
    if (chosen.blend !== undefined && chosen.blend !== state.fit.blend) {
      this.painter.drop(surface.vertices, surface.normals);
      fit.move(chosen.blend);
    }
    Object.assign(state.fit, chosen);
    this.#colorFields();
    this.refresh();
  }

  /** How numbers become colours: a colour map, and where it ends; null: as the numbers need it. */
  recolor(shown) {
    this.state.shown = shown;
    this.coats = {};
    this.refresh();
  }

  turned(panel) {
    const { cameras } = this.state;
    if (at("linked").checked) {
      for (const camera of Object.values(cameras)) {
        if (camera !== panel.camera) camera.follow(panel.camera);
      }
    }
    for (const camera of Object.values(cameras)) camera.remember();
    const { motion } = this;
    clearTimeout(motion.timer);
    motion.timer = setTimeout(() => {
      motion.timer = 0;
      this.draw();
    }, REST);
    this.draw();
  }

  /** How finely to draw: as the screen has it, but coarser while something turns that is slow to draw. */
  fineness() {
    const { motion } = this;
    this.painter.coarse = motion.timer > 0 && motion.coarse;
    if (!motion.timer) return 1;
    const began = performance.now();
    // the next frame can begin when this one is drawn, which nobody else says; in a window that is hidden none begins
    requestAnimationFrame(() => {
      const took = performance.now() - began;
      if (took > SLOW && took < 2000) this.#slower();
    });
    return motion.fineness;
  }

  /** Fewer pixels first, then fewer triangles, which is what browsers without a graphics card are slow at. */
  #slower() {
    const { motion } = this;
    if (motion.fineness < 1) motion.coarse = true;
    motion.fineness = Math.max(COARSEST, 0.75 * motion.fineness);
  }

  resized() {
    this.panels.rearrange();
    this.draw();
  }

  /** At the next frame, once. */
  draw() {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      this.drawNow();
    });
  }

  /** Sliders lie at the bottom of a panel: one belongs to the part, the others to the fitted template, which comes last. */
  #placeSliders(boxes) {
    for (const [id, box] of [["wiper", boxes.at(0)], ["blender", boxes.at(-1)]]) {
      if (box) Object.assign(at(id).style, { left: `${box.left + 12}px`, top: `${box.top + box.height - SLIDER}px`, maxWidth: `${box.width - 24}px` });
    }
  }

  drawNow(pixel = Math.min(devicePixelRatio || 1, 2) * this.fineness()) {
    const stage = at("stage").getBoundingClientRect();
    this.painter.resize(stage.width, stage.height, pixel);
    this.painter.ground = getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map((x) => x / 255);
    this.painter.begin();
    const boxes = this.panels.boxes();
    this.#placeSliders(boxes);
    this.panels.list.forEach((panel, k) => {
      const box = boxes[k];
      const aspect = box.width / box.height;
      if (panel.camera.misfits(aspect)) {
        const slider = panel.within || (panel.surface === this.scene.part && this.scene.before) ? SLIDER : 0;
        panel.camera.fit(panel.within ?? panel.surface, aspect, Math.min(TITLE / box.height, 0.3), Math.min(slider / box.height, 0.2));
      }
      panel.camera.remember();
      this.painter.draw(panel, box);
    });
    this.marks.draw();
    document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
  }

  status(text) {
    at("status").className = "";
    at("status").textContent = text;
  }

  /** A status that is news for a while. */
  news(text) {
    this.status(text);
    setTimeout(() => at("status").textContent === text && this.status(""), NEWS);
  }

  wrong(text) {
    at("status").className = "wrong";
    at("status").textContent = text;
  }

  // --- the server

  /** Follow a match that is being computed until it has ended. */
  async follow() {
    const mine = ++this.followed;
    for (;;) {
      const { number, job } = await askJson("/job");
      if (mine !== this.followed) return; // something else was opened meanwhile
      if (number !== this.scene.meta.number) {
        this.show(await askArrays("/scene"));
        this.news(job?.state === "done" ? `matched in ${job.took} s` : "");
        if (!job || job.state !== "running") return;
      }
      if (!job) return;
      at("welcome").hidden = true; // something is on its way
      if (job.state === "failed") return this.status(job.stage);
      if (job.state === "done") return;
      this.status(`${job.stage} … ${Math.round(job.seconds)} s`);
      await new Promise((go) => setTimeout(go, 400));
    }
  }
}
