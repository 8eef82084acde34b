// Files that are dropped or chosen: sent to the server, which reads them as it reads all meshes.

import { ask, askJson } from "./data.js";

/** Listens for files; `told` has opened(), status(text), wrong(text). */
export class Dropped {
  constructor(told, largest) {
    this.told = told;
    this.largest = largest; // bytes
    this.last = []; // what was dropped so far
    const veil = document.getElementById("drop");
    addEventListener("dragover", (event) => {
      event.preventDefault();
      veil.hidden = false;
    });
    addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) veil.hidden = true;
    });
    addEventListener("drop", (event) => {
      event.preventDefault();
      veil.hidden = true;
      this.open([...event.dataTransfer.files]);
    });
  }

  /** One file is a part, or the whole of a part dropped before; of two, the one with holes is the part, or the smaller one. */
  async open(files) {
    if (!files.length) return;
    if (files.length > 2) {
      this.told.wrong(`${files.length} files were dropped; drop a part and its whole`);
      return;
    }
    try {
      const second = files.length === 1 && this.last.length === 1;
      const roles = second ? ["whole"] : ["part", "whole"];
      const read = second ? this.last : [];
      for (const [k, file] of files.entries()) {
        if (file.size > this.largest) {
          const sizes = [file.size, this.largest].map((size) => `${+(size / 2 ** 20).toFixed(1)} MiB`);
          throw new Error(`${file.name} has ${sizes[0]}; at most ${sizes[1]} are taken here`);
        }
        this.told.status(`reading ${file.name} (${(file.size / 1e6).toFixed(1)} MB) …`);
        const query = { role: roles[k], name: file.name };
        read.push(await askJson("/upload", query, { method: "POST", body: file }));
      }
      this.last = read;
      await this.#show(read.length === 2 && isPart(read[1], read[0]));
      const notes = read.flatMap(({ notes }) => notes);
      if (notes.length) this.told.status(notes.join(" "));
    } catch (error) {
      this.last = [];
      this.told.wrong(error.message);
    }
  }

  async #show(swapped) {
    this.told.status("preparing …");
    await ask("/open", { swapped: swapped ? "yes" : "no" }, { method: "POST" });
    await this.told.opened();
  }

  /** What is shown, the other way round. */
  async swap() {
    this.told.status("preparing …");
    await ask("/swap", {}, { method: "POST" });
    await this.told.opened();
  }
}

/** Whether of two surfaces this is the part: what is missing leaves holes; and units may differ, so that areas tell less. */
function isPart(one, other) {
  if ((one.loops > 0) !== (other.loops > 0)) return one.loops > 0;
  return one.area < other.area;
}
