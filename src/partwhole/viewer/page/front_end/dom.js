// Elements of the page.

export function at(id) {
  return document.getElementById(id);
}

/** Text, with the names of criteria as they are printed: C_T has a small T below. */
export function words(text) {
  // a number and its unit stay in one line
  return text.replace(/(\d) (%|s\b|MiB)/g, "$1\u00a0$2").split(/\b(C_[TWL])\b/).map((piece, k) => {
    if (k % 2 === 0) return document.createTextNode(piece);
    const name = document.createElement("span");
    const index = document.createElement("sub");
    index.textContent = piece.at(-1);
    name.append(piece[0], index);
    return name;
  });
}

export function element(name, text, ...children) {
  const made = document.createElement(name);
  made.append(...words(text ?? ""), ...children);
  return made;
}
