// Reads what eqa_nodes/viewer/packing.py packs: a head of JSON, and typed arrays by name.
const KINDS = { Uint8Array, Uint16Array, Int32Array, Float32Array };

export async function unpack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const [name, { kind, offset, count }] of Object.entries(head.arrays)) {
    arrays[name] = new KINDS[kind](buffer, 4 + length + offset, count);
  }
  return { head, arrays };
}

export const fromBase64 = text => Uint8Array.from(atob(text.trim()), letter => letter.charCodeAt(0));

// Metres out of 16 bits of each axis.
export function metres(quantised, { low, step }) {
  const points = new Float32Array(quantised.length);
  for (let i = 0; i < points.length; i++) points[i] = low[i % 3] + step[i % 3] * quantised[i];
  return points;
}

// Corners of triangles out of their differences.
export function corners(rows) {
  const indices = new Uint32Array(rows.length);
  for (let i = 0, first = 0; i < rows.length; i += 3) {
    first += rows[i];
    indices[i] = first;
    indices[i + 1] = first + rows[i + 1];
    indices[i + 2] = first + rows[i + 2];
  }
  return indices;
}
