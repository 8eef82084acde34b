// Buttons that open files, or take something away.

import { colorsOf } from "./coats.js";
import { ask } from "./data.js";
import { at } from "./dom.js";
import { mapCsv, npz, ply, save } from "./downloads.js";
import { picture } from "./picture.js";

export async function act(page, action) {
  const { scene } = page;
  const name = (scene.meta.title || "partwhole").replace(/[^\w.-]+/g, "-").replace(/^-|-$/g, "");
  if (action === "open") at("meshes").click();
  if (action === "swap") await page.dropped.swap();
  if (action === "add-landmark") page.marks.add();
  if (action === "pin") page.marks.pin();
  if (action === "match-again") await page.marks.matchAgain();
  if (action === "save-marks") page.marks.save(name);
  if (action === "csv") save(`${name}-map.csv`, [mapCsv(columnsOf(page.scene))], "text/csv");
  if (action === "npz") {
    const { part_vertex: _, whole_vertex: vertex_map, ...others } = columnsOf(page.scene);
    save(`${name}-map.npz`, npz({ vertex_map, ...others }), "application/octet-stream");
  }
  if (action === "ply-part" || action === "ply-whole") {
    const surface = action === "ply-part" ? scene.part : scene.whole;
    const panel = page.panels.list.find((p) => p.surface === surface);
    const coat = panel?.coat ?? { mode: "plain", plain: [0.8, 0.8, 0.8] };
    save(`${name}-${surface.role}.ply`, ply(surface, colorsOf(coat, surface.size, page.painter.pixels)), "application/octet-stream");
  }
  if (action === "ply-fit") {
    const { fit } = scene, { coat, shown } = { ...page.state.fit, shown: page.state.shown };
    const colors = colorsOf(fit.coat(coat, shown), fit.surface.size);
    save(`${name}.ply`, ply({ ...fit.surface, vertices: fit.fitted }, colors), "application/octet-stream");
  }
  if (action === "png") save(`${name}.png`, [await picture(page)], "image/png");
  if (action === "report") {
    page.status("writing the report …");
    save(`${name}.html`, [await (await ask("/report")).blob()], "text/html");
    page.status("");
  }
}

/** The map and what is known of it, one entry for each vertex of the part as it was given. */
function columnsOf(scene) {
  const { arrays } = scene;
  const whole_vertex = scene.fullMap();
  const columns = { part_vertex: Uint32Array.from(whole_vertex, (_, k) => k), whole_vertex };
  for (const name of ["confidence", "doubtful", "part_shared", "part_overlap"]) {
    const values = arrays[`full_${name}`] ?? arrays[name];
    if (values) columns[name.replace("part_", "")] = values;
  }
  return columns;
}
