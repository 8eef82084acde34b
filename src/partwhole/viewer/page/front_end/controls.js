// What buttons, fields and sliders do.

import { act } from "./actions.js";
import { at } from "./dom.js";

export function bindControls(page) {
  for (const id of ["boundaries", "wireframe", "rings", "linked"]) at(id).addEventListener("change", () => page.refresh());
  for (const id of ["colors", "limit"]) {
    at(id).addEventListener("change", () => {
      const limit = Number(at("limit").value) / 100;
      page.recolor({ colors: at("colors").value, limit: limit > 0 ? limit : null });
    });
  }
  at("method").addEventListener("change", () => {
    page.engine.method = at("method").value;
    Object.assign(page.state.found, { trust: null, pair: null });
    page.state.other = null;
    page.refresh();
    page.measure();
  });
  at("up").addEventListener("change", () => {
    for (const camera of Object.values(page.state.cameras)) camera.stand(at("up").value);
    page.draw();
  });
  at("wipe").addEventListener("input", () => {
    page.wipe(at("wipe").value / 100);
    page.refresh();
  });
  for (const id of ["blend", "opacity"]) {
    at(id).addEventListener("input", () => page.showFit({ [id]: at(id).value / 100 }));
  }
  at("fit-coat").addEventListener("change", (event) => page.showFit({ coat: event.target.value }));
  at("choose").addEventListener("submit", (event) => {
    event.preventDefault();
    typed(page);
  });
  at("views").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...at("views").children];
    const next = buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length];
    page.choose(next.dataset.view);
    next.focus();
  });
  at("picture").addEventListener("change", () => page.attempt(async () => {
    const [file] = at("picture").files;
    if (!file) return;
    const bitmap = await createImageBitmap(file).catch(() => {
      throw new Error(`${file.name} is not a picture that this browser can read`);
    });
    page.painter.setPicture(bitmap);
    page.draw();
  }));
  at("status").addEventListener("click", () => page.status(""));
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      page.status("");
      if (page.marks.adding) page.marks.add();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input[type=number], select")) return;
    const keys = [...at("views").children, at("add"), at("pin")];
    keys.find((button) => button.ariaKeyShortcuts === event.key && !button.hidden)?.click();
  });
  document.addEventListener("click", (event) => {
    const action = event.target.closest("[data-action]")?.dataset.action;
    if (action) page.attempt(() => act(page, action));
  });
  at("meshes").addEventListener("change", async () => {
    await page.dropped.open([...at("meshes").files]);
    at("meshes").value = ""; // so that the same file can be chosen again
  });
}

/** The vertices whose numbers were typed. */
function typed(page) {
  const { part } = page.scene, { picked } = page.state;
  const read = (id) => {
    const text = at(id).value, number = Number(text);
    if (text === "") return null;
    if (!Number.isInteger(number) || number < 0 || number >= part.meta.vertices) {
      page.wrong(`there is no vertex ${text}; the part has vertices 0 to ${part.meta.vertices - 1}`);
      return null;
    }
    return part.vertexOf(number);
  };
  const vertex = read("vertex"), other = page.state.view === "trust" ? read("other") : null;
  if (vertex !== null && vertex !== picked) page.lookAt(vertex);
  else if (other !== null && vertex !== null) page.chooseOther(other);
}
