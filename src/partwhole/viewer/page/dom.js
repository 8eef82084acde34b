// Elements of the page.

export function at(id) {
  return document.getElementById(id);
}

export function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}
