// Where it begins.

import { bindControls } from "./controls.js";
import { askArrays, embeddedScene } from "./data.js";
import { at } from "./dom.js";
import { Dropped } from "./files.js";
import { Page } from "./page.js";

async function begin() {
  let page;
  try {
    page = new Page();
    bindControls(page);
    const embedded = embeddedScene();
    page.show(embedded ?? (await askArrays("/scene")));
    document.body.dataset.ready = "yes";
    window.partwhole = page; // for scripts, and for those who like to look
    if (embedded) return;
    page.dropped = new Dropped({
      opened: async () => {
        page.show(await askArrays("/scene"));
        page.status("");
        page.attempt(() => page.follow());
      },
      status: (text) => page.status(text),
      wrong: (text) => page.wrong(text),
    }, page.scene.meta.largest_upload);
    await page.attempt(() => page.follow());
  } catch (error) {
    at("status").className = "wrong";
    at("status").textContent = error.message;
    document.body.dataset.ready = "failed";
  }
}

begin();
