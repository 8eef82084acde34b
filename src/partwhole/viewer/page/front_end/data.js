// From the bytes that Python packed to typed arrays, and the questions a page asks its server.

/** What `pack` in packing.py was given: {meta, arrays}. Arrays are views of the buffer. */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const kinds = { Float32Array, Uint32Array, Int32Array, Uint8Array };
  const arrays = {};
  for (const [name, [kind, offset, size]] of Object.entries(header.arrays)) {
    arrays[name] = new kinds[kind](buffer, 4 + length + offset, size);
  }
  return { meta: header.meta, arrays };
}

/** The scene inside a report; null on a page that has a server. */
export function embeddedScene() {
  const element = document.getElementById("scene");
  if (!element) return null;
  const text = atob(element.textContent);
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
  return unpack(bytes.buffer);
}

const token = new URLSearchParams(location.search).get("token") ?? "";

/** Ask the server; an error it answers with is thrown in its words. */
export async function ask(path, query = {}, options = {}) {
  const address = `${path}?${new URLSearchParams(query)}`;
  let response;
  try {
    response = await fetch(address, { ...options, headers: { "X-Partwhole-Token": token } });
  } catch {
    throw new Error("the server does not answer; was `partwhole view` ended?");
  }
  if (!response.ok) {
    const said = await response.json().catch(() => ({}));
    throw new Error(said.error ?? `the server answers ${response.status}`);
  }
  return response;
}

export async function askArrays(path, query) {
  return unpack(await (await ask(path, query)).arrayBuffer());
}

export async function askJson(path, query, options) {
  return (await ask(path, query, options)).json();
}
