// The place in three dimensions, as the reconstructor publishes it. Nothing of it is loaded before somebody looks.
import { ask, el } from "./lib.js";

const PLACE_MS = 500, CLOUD_MS = 2000, POINT_M = .045, ABOVE_M = 2; // a ceiling is higher than that above the floor
const NONE = "There is no reconstruction: no reconstructor runs, or it has published nothing yet. It is off by default: start the graph with the reconstructor enabled (reconstruct:=true of the launch files, eqa console --reconstruct).";
let library = null, viewer = null, top = null, newest = null, busy = false;
const shown = { map: -1, cloud: 0, cloudAt: -Infinity };
const wait = ms => new Promise(done => setTimeout(done, ms));

export function showPlace(live) {
  newest = live;
  if (!live.cloud) say(NONE);
  else if (!busy) follow().catch(error => say("The reconstruction cannot be shown: " + error.message)).finally(() => { busy = false; });
}

function say(text) {
  el("place-note").textContent = text;
  el("place-note").hidden = !text;
  for (const id of ["stage", "place-tools", "place-legend"]) el(id).hidden = Boolean(text);
}

// One request after the other, and not more often than the limits above.
async function follow() {
  busy = true;
  await prepare();
  while (!el("place").hidden && !document.hidden) {
    const { map, cloud } = newest;
    if (cloud !== shown.cloud && performance.now() - shown.cloudAt >= CLOUD_MS) {
      shown.cloudAt = performance.now();
      await points();
      shown.cloud = cloud;
    }
    if (map !== shown.map) {
      await moving();
      shown.map = map;
    }
    if (newest.map === shown.map && newest.cloud === shown.cloud) return;
    await wait(PLACE_MS);
  }
}

async function prepare() {
  if (viewer !== null) return;
  library ??= { ...await import("/viewer/viewer.js"), ...await import("/viewer/data.js") };
  if (!library.hasWebGL()) throw new Error("this browser has no WebGL. The map under Now shows the place from above.");
  say("");
  viewer = new library.Viewer(el("stage"), "the place in three dimensions: drag or use the arrow keys to turn it");
  wire();
}

async function points() {
  const reply = await fetch("/live/cloud");
  if (!reply.ok) throw new Error((await reply.json()).error);
  const { head, arrays } = await library.unpack(await reply.arrayBuffer());
  if (!head.points) { say("The reconstruction is empty until the camera has seen surfaces."); return; }
  say("");
  viewer.cloud(library.metres(arrays.positions, head.grid), arrays.colours, POINT_M);
  const slider = el("place-tools").elements.cut, high = head.grid.low[2] + 65535 * head.grid.step[2], first = top === null;
  const whole = !first && Number(slider.value) > top - .06;
  slider.min = head.grid.low[2];
  slider.max = top = high;
  if (first || whole) slider.value = high;
  if (first) viewer.look(head.eye, head.target, head.fov, head.aspect);
  else viewer.first = { eye: head.eye, target: head.target, fov: head.fov, aspect: head.aspect };
  if (first) shown.map = -1;
  cut();
}

async function moving() {
  const place = await ask("/live/place");
  viewer.path(Float32Array.from(place.path));
  if (place.robot) viewer.robot(place.robot[0], place.robot[1], place.floor, place.robot[2]);
  viewer.objects(place.boxes);
  viewer.show("objects", el("place-tools").elements.objects.checked);
  el("place-privileged").hidden = !place.boxes.some(box => box.privileged);
  const slider = el("place-tools").elements.cut;
  if (slider.dataset.chosen || top === null) return;
  slider.value = Math.min(place.floor + ABOVE_M, top);
  cut();
}

function cut() {
  const slider = el("place-tools").elements.cut, height = Number(slider.value), all = height > top - .06;
  el("place-tools").querySelector("output").value = all ? "all" : `${height.toFixed(1)} m`;
  viewer.cut(all ? 1e6 : height);
}

function wire() {
  const { cut: slider, path, objects, home, nearer, farther } = el("place-tools").elements;
  slider.addEventListener("input", () => { slider.dataset.chosen = "yes"; cut(); });
  path.addEventListener("change", () => viewer.show("path", path.checked));
  objects.addEventListener("change", () => viewer.show("objects", objects.checked));
  home.addEventListener("click", () => viewer.home());
  nearer.addEventListener("click", () => viewer.zoom(.8));
  farther.addEventListener("click", () => viewer.zoom(1.25));
}
