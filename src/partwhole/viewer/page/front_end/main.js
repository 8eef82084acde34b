// Where it begins.

import { bindControls } from "./controls.js";
import { askArrays, embeddedScene } from "./data.js";
import { at } from "./dom.js";
import { Dropped } from "./files.js";
import { Page } from "./page.js";

async function begin() {
  let page;
  try {
    const embedded = embeddedScene();
    const asked = embedded ?? askArrays("/scene"); // while it is on its way, the graphics card is made ready
    page = new Page();
    bindControls(page);
    page.show(await asked);
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
