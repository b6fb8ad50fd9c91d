// Colours of surfaces: as the camera saw them, by time, by object. All are sRGB bytes.
export const PATH = [[13, 148, 136], [99, 91, 235], [219, 64, 126]];
const TIME = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const UNSEEN = 255, NOTHING = [158, 166, 176];

export function onRamp(stops, share) {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1), k = Math.min(Math.floor(at), stops.length - 2);
  return stops[k].map((from, c) => from + (stops[k + 1][c] - from) * (at - k));
}

export const css = colour => `rgb(${colour.map(Math.round).join(", ")})`;
export const ramp = stops => `linear-gradient(90deg, ${stops.map(css).join(", ")})`;
export const timeRamp = () => ramp(TIME);

// Hues that lie far apart, one after the other.
export function ofObject(k) {
  const hue = (k * 137.508) % 360, f = n => {
    const at = (n + hue / 30) % 12;
    return 255 * (.56 - .36 * Math.max(-1, Math.min(at - 3, 9 - at, 1)));
  };
  return [f(0), f(8), f(4)];
}

// mode: camera, first, last or object. A surface keeps its own light and dark, so that edges stay visible.
export function coloured(arrays, mode) {
  const { colours } = arrays;
  if (mode === "camera") return colours;
  const made = new Uint8Array(colours.length), values = mode === "object" ? arrays.owner : arrays[mode];
  for (let i = 0; i < values.length; i++) {
    const value = values[i], light = .45 + .55 * (.3 * colours[3 * i] + .59 * colours[3 * i + 1] + .11 * colours[3 * i + 2]) / 255;
    const base = mode === "object" ? (value ? ofObject(value - 1) : NOTHING) : value === UNSEEN ? NOTHING : onRamp(TIME, value / 254);
    for (let c = 0; c < 3; c++) made[3 * i + c] = base[c] * light;
  }
  return made;
}
