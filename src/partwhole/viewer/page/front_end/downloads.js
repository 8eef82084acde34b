// What can be taken away: the map as CSV and NPZ, surfaces as PLY with their colours, a picture.

export function save(name, parts, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** One line for each vertex of the part, as it was given. */
export function mapCsv(columns) {
  const names = Object.keys(columns);
  const rows = Array.from(columns[names[0]], (_, k) => names.map((name) => columns[name][k]).join(","));
  return `${names.join(",")}\n${rows.join("\n")}\n`;
}

/** An archive as NumPy writes it: whole numbers as int64, others as float32, truth values as bool. */
export function npz(arrays) {
  const files = Object.entries(arrays).map(([name, array]) => [`${name}.npy`, npy(array)]);
  const chunks = [], table = [];
  let offset = 0;
  for (const [name, data] of files) {
    const title = new TextEncoder().encode(name), crc = crc32(data);
    // version, flags, method (stored), time, date, checksum, two sizes, length of the name and of what follows it
    const common = [[20, 2], [0, 2], [0, 2], [0, 2], [0x21, 2], [crc, 4], [data.length, 4], [data.length, 4], [title.length, 2], [0, 2]];
    const local = record([0x04034b50, 4], ...common);
    chunks.push(local, title, data);
    const central = record([0x02014b50, 4], [20, 2], ...common, [0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]);
    table.push(central, title);
    offset += local.length + title.length + data.length;
  }
  const size = table.reduce((sum, chunk) => sum + chunk.length, 0);
  const end = [[0x06054b50, 4], [0, 2], [0, 2], [files.length, 2], [files.length, 2], [size, 4], [offset, 4], [0, 2]];
  return [...chunks, ...table, record(...end)];
}

function record(...fields) {
  const bytes = new Uint8Array(fields.reduce((sum, [, width]) => sum + width, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [value, width] of fields) {
    if (width === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += width;
  }
  return bytes;
}

function npy(array) {
  let kind = "<f4", data = Float32Array.from(array);
  if (array instanceof Uint8Array) [kind, data] = ["|b1", array.slice()];
  else if (array instanceof Uint32Array || array instanceof Int32Array) {
    [kind, data] = ["<i8", BigInt64Array.from(array, (x) => BigInt(x))];
  }
  let header = `{'descr': '${kind}', 'fortran_order': False, 'shape': (${array.length},), }`;
  header += `${" ".repeat((64 - ((11 + header.length) % 64)) % 64)}\n`;
  const bytes = new Uint8Array(10 + header.length + data.byteLength);
  bytes.set([0x93, ...new TextEncoder().encode("NUMPY"), 1, 0, header.length & 255, header.length >> 8]);
  bytes.set(new TextEncoder().encode(header), 10);
  bytes.set(new Uint8Array(data.buffer), 10 + header.length);
  return bytes;
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

function crc32(bytes) {
  let c = 0xffffffff;
  for (const b of bytes) c = CRC_TABLE[(c ^ b) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

/** The surface that is drawn, where the user's file has it, with a colour for each vertex. */
export function ply(surface, colors) {
  const faces = surface.faces.length / 3;
  const header = [
    "ply", "format binary_little_endian 1.0", `element vertex ${surface.size}`,
    ...["x", "y", "z"].map((d) => `property double ${d}`),
    ...["red", "green", "blue"].map((c) => `property uchar ${c}`),
    `element face ${faces}`, "property list uchar int vertex_indices", "end_header", "",
  ].join("\n");
  const vertexBytes = new DataView(new ArrayBuffer(27 * surface.size));
  for (let v = 0; v < surface.size; v++) {
    for (let d = 0; d < 3; d++) {
      vertexBytes.setFloat64(27 * v + 8 * d, surface.meta.centre[d] + surface.vertices[3 * v + d], true);
      vertexBytes.setUint8(27 * v + 24 + d, colors[3 * v + d]);
    }
  }
  const faceBytes = new DataView(new ArrayBuffer(13 * faces));
  for (let f = 0; f < faces; f++) {
    faceBytes.setUint8(13 * f, 3);
    for (let c = 0; c < 3; c++) faceBytes.setInt32(13 * f + 1 + 4 * c, surface.faces[3 * f + c], true);
  }
  return [header, vertexBytes, faceBytes];
}
