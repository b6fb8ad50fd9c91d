// Lets the pictures of scans on a report turn. Where that cannot be, the picture stays.
import { coloured, css, ofObject, ramp, PATH, timeRamp } from "./colours.js";
import { corners, fromBase64, metres, unpack } from "./data.js";
import { hasWebGL, Viewer } from "./viewer.js";

const make = (tag, attributes, ...children) => {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children);
  return made;
};
const LEGENDS = {
  camera: () => [],
  first: head => [timeLegend(head, "first seen")],
  last: head => [timeLegend(head, "last seen")],
  object: head => head.boxes.map((box, k) => swatch(css(ofObject(k)), box.name)),
};

function swatch(background, text) {
  const sign = make("i", { className: "scan-swatch" });
  sign.style.background = background;
  return make("span", {}, sign, text);
}

function timeLegend(head, text) {
  const sign = make("i", { className: "scan-ramp" });
  sign.style.background = timeRamp();
  return make("span", {}, `${text}: 0 s`, sign, `${head.seconds.toFixed(0)} s`);
}

async function pictures(head, arrays) {
  return Promise.all(head.frustums.map(async f => {
    if (!f.jpeg) return f;
    return { ...f, picture: await createImageBitmap(new Blob([arrays[f.jpeg]], { type: "image/jpeg" })) };
  }));
}

async function begin(section) {
  const { head, arrays } = await unpack(fromBase64(section.querySelector(".scan-data").textContent));
  const stage = section.querySelector(".scan-stage"), tools = section.querySelector(".scan-tools");
  const viewer = new Viewer(stage, "the place in three dimensions: drag or use the arrow keys to turn it");
  const points = metres(arrays.positions, head.grid);
  viewer.mesh(points, corners(arrays.triangles), arrays.colours);
  viewer.path(arrays.path);
  viewer.objects(head.boxes);
  const frustums = await pictures(head, arrays);
  viewer.views("proofs", frustums.filter(f => f.proves));
  viewer.views("views", frustums.filter(f => !f.proves));
  viewer.look(head.eye, head.target, head.fov, head.aspect);
  wire(section, tools, viewer, head, arrays);
  stage.classList.add("turns");
  tools.hidden = false;
}

function wire(section, tools, viewer, head, arrays) {
  const legend = section.querySelector(".scan-colours"), { low, step } = head.grid;
  const slider = tools.querySelector("[name=cut]"), top = low[2] + 65535 * step[2];
  Object.assign(slider, { min: low[2].toFixed(2), max: top.toFixed(2), step: .05, value: top.toFixed(2) });
  const cut = () => {
    const height = Number(slider.value);
    tools.querySelector("output").value = height > top - .06 ? "all" : `${height.toFixed(1)} m`;
    viewer.cut(height > top - .06 ? 1e6 : height);
  };
  slider.addEventListener("input", cut);
  cut();
  const colour = tools.querySelector("[name=colour]");
  const recolour = () => {
    viewer.recolour(coloured(arrays, colour.value));
    legend.replaceChildren(...LEGENDS[colour.value](head));
  };
  colour.addEventListener("change", recolour);
  for (const box of tools.querySelectorAll("[type=checkbox]")) {
    box.addEventListener("change", () => viewer.show(box.name, box.checked));
    viewer.show(box.name, box.checked);
  }
  tools.querySelector("[name=home]").addEventListener("click", () => viewer.home());
  tools.querySelector("[name=nearer]").addEventListener("click", () => viewer.zoom(.8));
  tools.querySelector("[name=farther]").addEventListener("click", () => viewer.zoom(1.25));
  recolour();
}

function failed(section, error) {
  section.querySelector(".scan-why").textContent = `It does not turn here: ${error.message}.`;
}

// A scan is unpacked when it is first looked at.
function start() {
  const sections = document.querySelectorAll(".scan");
  for (const sign of document.querySelectorAll(".scan .scan-path")) sign.style.background = ramp(PATH);
  if (!hasWebGL()) {
    sections.forEach(section => failed(section, new Error("this browser has no WebGL")));
    return;
  }
  const seen = new IntersectionObserver(entries => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      begin(target).catch(error => failed(target, error));
    }
  }, { rootMargin: "300px" });
  sections.forEach(section => { if (section.querySelector(".scan-data")) seen.observe(section); });
}

start();
