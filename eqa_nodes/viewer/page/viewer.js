// Draws a place in three dimensions, with three.js: surfaces, path, views, objects, robot. Metres, map frame, z up.
import * as THREE from "./three.module.min.js";
import { OrbitControls } from "./OrbitControls.js";
import { css, ofObject, onRamp, PATH } from "./colours.js";

const PROOF = 0xd97706, VIEW = 0x475569, LIFT = .06, WIDE = .035, ROD = .013, NAMES = 24, NAME_PX = 150;
THREE.ColorManagement.enabled = false; // colours go to the screen as the camera gave them

export const hasWebGL = () => {
  try { return Boolean(document.createElement("canvas").getContext("webgl2")); } catch { return false; }
};

export class Viewer {
  #asked = false;

  // stage: an element with a size, which gets the canvas and the names of objects.
  constructor(stage, label) {
    this.stage = stage;
    this.renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
    this.renderer.outputColorSpace = THREE.LinearSRGBColorSpace;
    this.renderer.localClippingEnabled = true;
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(40, 1, .1, 500);
    this.camera.up.set(0, 0, 1);
    this.canvas = this.renderer.domElement;
    this.names = Object.assign(document.createElement("div"), { className: "scan-names" });
    stage.append(this.canvas, this.names);
    this.cutAt = new THREE.Plane(new THREE.Vector3(0, 0, -1), 1e6);
    this.layers = {};
    this.#steer(label);
    new ResizeObserver(() => this.#resized()).observe(stage);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.#resized();
  }

  // A page is scrolled by a finger that goes up or down, and by a wheel until the picture was clicked.
  #steer(label) {
    const { canvas } = this, controls = this.controls = new OrbitControls(this.camera, canvas);
    Object.assign(controls, { enableZoom: false, zoomSpeed: 1.4, maxPolarAngle: Math.PI * .495, minDistance: .3 });
    canvas.style.touchAction = "pan-y";
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
    controls.addEventListener("change", () => this.draw());
    canvas.addEventListener("pointerdown", () => { controls.enableZoom = true; });
    canvas.addEventListener("pointerleave", event => { if (event.pointerType === "mouse") controls.enableZoom = false; });
    canvas.addEventListener("keydown", event => {
      const turn = { ArrowLeft: [-.12, 0], ArrowRight: [.12, 0], ArrowUp: [0, -.08], ArrowDown: [0, .08] }[event.key];
      const zoom = { "+": .85, "=": .85, "-": 1 / .85 }[event.key];
      if (turn) this.turn(...turn); else if (zoom) this.zoom(zoom); else return;
      event.preventDefault();
    });
  }

  // Radians round the target: to the side, and down.
  turn(side, down) {
    const at = this.camera.position.clone().sub(this.controls.target), round = new THREE.Spherical();
    round.setFromCartesianCoords(at.x, at.z, -at.y);
    round.theta += side;
    round.phi = Math.min(Math.max(round.phi + down, .02), Math.PI * .49);
    const { x, y, z } = new THREE.Vector3().setFromSpherical(round);
    this.camera.position.set(x, -z, y).add(this.controls.target);
    this.controls.update();
    this.draw();
  }

  zoom(factor) {
    this.camera.position.sub(this.controls.target).multiplyScalar(factor).add(this.controls.target);
    this.controls.update();
    this.draw();
  }

  // aspect: the shape of picture that eye and target were chosen for; a narrower one steps back.
  look(eye, target, fov, aspect) {
    this.first = { eye, target, fov, aspect };
    this.camera.fov = fov;
    this.controls.target.set(...target);
    this.camera.position.set(...eye);
    if (this.camera.aspect < aspect) this.zoom(aspect / this.camera.aspect);
    this.camera.updateProjectionMatrix();
    this.controls.update();
    this.draw();
  }

  home() { const { eye, target, fov, aspect } = this.first; this.look(eye, target, fov, aspect); }

  // What is above is not drawn, in metres.
  cut(height) { this.cutAt.constant = height; this.draw(); }

  show(layer, on) {
    if (this.layers[layer]) this.layers[layer].visible = on;
    this.draw();
  }

  // Surfaces as triangles: the backs are not drawn, so that ceilings and near walls hide nothing.
  mesh(points, indices, colours) {
    const geometry = this.#geometry(points, colours);
    geometry.setIndex(new THREE.BufferAttribute(indices, 1));
    this.#replace("surface", new THREE.Mesh(geometry, new THREE.MeshBasicMaterial(
      { vertexColors: true, side: THREE.FrontSide, clippingPlanes: [this.cutAt] })));
  }

  // Surfaces as points; size in metres.
  cloud(points, colours, size) {
    const seen = size / Math.tan(THREE.MathUtils.degToRad(this.camera.fov / 2)); // three.js leaves out the field of view
    this.#replace("surface", new THREE.Points(this.#geometry(points, colours), new THREE.PointsMaterial(
      { vertexColors: true, size: seen, clippingPlanes: [this.cutAt] })));
  }

  recolour(colours) {
    const attribute = this.layers.surface.geometry.getAttribute("color");
    attribute.array.set(colours);
    attribute.needsUpdate = true;
    this.draw();
  }

  // points: x, y, z one after the other, on the floor; drawn as a ribbon, because lines are one pixel wide.
  path(points) {
    const n = points.length / 3, at = [], colours = [], indices = [];
    for (let k = 0; k < n; k++) {
      const [a, b] = [Math.max(k - 1, 0), Math.min(k + 1, n - 1)];
      const dx = points[3 * b] - points[3 * a], dy = points[3 * b + 1] - points[3 * a + 1], d = Math.hypot(dx, dy) || 1;
      const colour = onRamp(PATH, k / Math.max(n - 1, 1));
      for (const side of [-WIDE, WIDE]) {
        at.push(points[3 * k] - dy / d * side, points[3 * k + 1] + dx / d * side, points[3 * k + 2] + LIFT);
        colours.push(...colour);
      }
      if (k) indices.push(2 * k - 2, 2 * k - 1, 2 * k, 2 * k, 2 * k - 1, 2 * k + 1);
    }
    const geometry = this.#geometry(new Float32Array(at), new Uint8Array(colours));
    geometry.setIndex(indices);
    this.#replace("path", new THREE.Mesh(geometry, new THREE.MeshBasicMaterial({ vertexColors: true, side: THREE.DoubleSide })));
  }

  // Where the robot is: an arrow on the floor.
  robot(x, y, z, yaw) {
    const shape = new THREE.BufferGeometry();
    shape.setAttribute("position", new THREE.BufferAttribute(new Float32Array([.34, 0, 0, -.22, .22, 0, -.1, 0, .3, -.22, -.22, 0]), 3));
    shape.setIndex([0, 1, 2, 0, 2, 3, 1, 3, 2, 0, 3, 1]);
    const made = new THREE.Group();
    made.add(new THREE.Mesh(shape, new THREE.MeshBasicMaterial({ color: 0x3730a3, side: THREE.DoubleSide })),
      new THREE.LineSegments(new THREE.EdgesGeometry(shape), new THREE.LineBasicMaterial({ color: 0xffffff })));
    made.position.set(x, y, z + LIFT);
    made.rotation.z = yaw;
    this.#replace("robot", made);
  }

  // frustums: eye, corners, picture (an ImageBitmap or none). Layers: "proofs", "views".
  views(layer, frustums) {
    const made = new THREE.Group();
    for (const { eye, corners, picture } of frustums) {
      const edges = corners.flatMap((corner, k) => [[eye, corner], [corners[(k + 3) % 4], corner]]);
      if (layer === "proofs") made.add(...edges.map(([a, b]) => this.#rod(a, b)));
      else made.add(new THREE.LineSegments(this.#geometry(new Float32Array(edges.flat(2))), new THREE.LineBasicMaterial({ color: VIEW })));
      if (picture) made.add(this.#screen(corners, picture));
    }
    this.#replace(layer, made);
  }

  #rod(from, to) {
    const a = new THREE.Vector3(...from), b = new THREE.Vector3(...to), along = b.clone().sub(a);
    const made = new THREE.Mesh(new THREE.CylinderGeometry(ROD, ROD, along.length(), 6), new THREE.MeshBasicMaterial({ color: PROOF }));
    made.position.copy(a).add(b).multiplyScalar(.5);
    made.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), along.normalize());
    return made;
  }

  #screen(corners, picture) {
    const geometry = this.#geometry(new Float32Array(corners.flat())), texture = new THREE.Texture(picture);
    geometry.setAttribute("uv", new THREE.BufferAttribute(new Float32Array([0, 0, 1, 0, 1, 1, 0, 1]), 2));
    geometry.setIndex([0, 2, 1, 0, 3, 2]);
    texture.flipY = false;
    texture.needsUpdate = true;
    return new THREE.Mesh(geometry, new THREE.MeshBasicMaterial({ map: texture, side: THREE.DoubleSide, transparent: true, opacity: .92 }));
  }

  // boxes: name, low and high corners in metres, and privileged.
  objects(boxes) {
    const made = new THREE.Group();
    boxes.forEach(({ low, high }, k) => {
      const size = high.map((value, c) => Math.max(value - low[c], .01));
      const edges = new THREE.LineSegments(new THREE.EdgesGeometry(new THREE.BoxGeometry(...size)),
        new THREE.LineBasicMaterial({ color: new THREE.Color(css(ofObject(k))) }));
      edges.position.set(...low.map((value, c) => value + size[c] / 2));
      made.add(edges);
    });
    this.#replace("objects", made);
    this.names.replaceChildren();
    this.labels = boxes.map(({ name, low, high, privileged }, k) => {
      const text = Object.assign(document.createElement("span"), { textContent: name, title: privileged ? name + " (privileged)" : name });
      text.style.borderColor = css(ofObject(k));
      this.names.append(text);
      return { text, at: new THREE.Vector3((low[0] + high[0]) / 2, (low[1] + high[1]) / 2, high[2]) };
    });
    this.draw();
  }

  draw() {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => {
      this.#asked = false;
      this.renderer.setClearColor(matchMedia("(prefers-color-scheme: dark)").matches ? 0x10161d : 0xeceff3);
      this.renderer.render(this.scene, this.camera);
      this.#placeNames();
    });
  }

  dispose() {
    for (const name of Object.keys(this.layers)) this.#replace(name, null);
    this.controls.dispose();
    this.renderer.dispose();
  }

  // Names of the nearest objects; one that would lie over another is left out.
  #placeNames() {
    const { clientWidth: wide, clientHeight: high } = this.stage, taken = [], labels = this.labels ?? [];
    const shown = this.layers.objects?.visible ?? false;
    const near = labels.map(label => ({ ...label, p: label.at.clone().project(this.camera) })).sort((a, b) => a.p.z - b.p.z);
    for (const { text, at, p } of near) {
      const x = (p.x + 1) / 2 * wide, y = (1 - p.y) / 2 * high, w = Math.min(7 * text.textContent.length + 14, NAME_PX);
      const free = shown && p.z < 1 && at.z <= this.cutAt.constant + .01 && x > 0 && y > 0 && x < wide && y < high && taken.length < NAMES
        && !taken.some(t => Math.abs(t.x - x) < (t.w + w) / 2 && Math.abs(t.y - y) < 20);
      text.hidden = !free;
      if (!free) continue;
      taken.push({ x, y, w });
      text.style.transform = `translate(${x}px, ${y}px) translate(-50%, -100%)`;
    }
  }

  #geometry(points, colours) {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(points, 3));
    if (colours) geometry.setAttribute("color", new THREE.BufferAttribute(colours.slice(), 3, true));
    return geometry;
  }

  #replace(name, made) {
    const old = this.layers[name];
    if (made && old) made.visible = old.visible;
    if (old) {
      this.scene.remove(old);
      old.traverse(part => { part.geometry?.dispose(); part.material?.map?.dispose(); part.material?.dispose(); });
    }
    this.layers[name] = made;
    if (made) this.scene.add(made);
    this.draw();
  }

  #resized() {
    const { clientWidth: wide, clientHeight: high } = this.stage;
    if (!wide || !high) return;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(wide, high);
    const before = this.camera.aspect;
    this.camera.aspect = wide / high;
    this.camera.updateProjectionMatrix();
    if (this.first && Math.abs(before - this.camera.aspect) > .01) this.home(); else this.draw();
  }
}
