// A picture of the panels with their titles, as PNG, at twice the resolution of the page.

const PICTURE_SCALE = 2;

export async function picture(page) {
  const stage = document.getElementById("stage").getBoundingClientRect();
  const canvas = document.createElement("canvas");
  const colors = getComputedStyle(document.body);
  page.painter.coarse = false;
  page.drawNow(PICTURE_SCALE);
  Object.assign(canvas, { width: page.painter.canvas.width, height: page.painter.canvas.height });
  const context = canvas.getContext("2d");
  context.fillStyle = colors.backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(page.painter.canvas, 0, 0); // in the same turn as it was drawn: the buffer is not kept
  context.scale(canvas.width / stage.width, canvas.height / stage.height);
  context.fillStyle = colors.color;
  context.textBaseline = "top";
  page.panels.boxes().forEach((box, k) => {
    const { title, note } = page.panels.list[k];
    context.font = `650 13px ${colors.fontFamily}`;
    context.fillText(title, box.left + 12, box.top + 8);
    context.font = `12px ${colors.fontFamily}`;
    context.fillText(note, box.left + 12, box.top + 26, box.width - 24);
  });
  page.marks.paint(context, colors.fontFamily);
  page.draw();
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
